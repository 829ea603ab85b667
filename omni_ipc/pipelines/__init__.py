"""Pipelines that come with it: a small one that renders, and one that only has a size and takes its time."""
