"""Models written a second time, by hand and in Python: what TLC finds in them is not TLC's word alone."""
