"""Ordinary programs; instrumented or not, each function of no argument in here must return the same."""
