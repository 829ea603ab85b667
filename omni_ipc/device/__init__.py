"""Streams, events and copies: what the output path asks of the thing that computes."""
