"""Released packages as they are: known faults of theirs with threads are found, and correct uses hold."""
