"""The pytest plugin, in sessions of its own."""
