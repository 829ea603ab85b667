"""The seam: what concurrent code asks of the world, and the worlds that answer."""
