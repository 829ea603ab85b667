"""The controlled objects: one file each, with the signatures and exceptions of the standard library."""
