"""Real processes under load."""
