"""What explores the kernels, one process each, one file each; a peer's file runs on the peer's own Python."""
