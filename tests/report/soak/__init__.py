"""What is told of a soak."""
