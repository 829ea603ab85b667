"""What people copy onto other machines: it runs, and it is what the pages say."""
