"""Real processes under load: what is asked of them, what is done to them, and the account of it."""
