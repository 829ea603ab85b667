"""The ways from a worker's forward to its consumer that are compared, one file each."""
