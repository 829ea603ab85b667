"""One subject a file; each is imported in a process of its own, with nothing that it does not need."""
