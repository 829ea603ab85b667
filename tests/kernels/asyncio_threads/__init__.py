"""An event loop and threads: what is safe on one side of the border is not on the other."""
