"""The asynchronous output path: worker, executor, result pump and the table of outputs between them."""
