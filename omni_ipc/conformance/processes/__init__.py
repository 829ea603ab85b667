"""Processes and folders of a check, which end with their owner, however that ends.

children.py  programs that are started, waited for, and killed with all that they started
leash.py     starts a program that ends with its owner, killed or not
listener.py  what a program says, taken in while it runs
scratch.py   private folders, also those whose owner was killed
"""
