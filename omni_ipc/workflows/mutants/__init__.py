"""Concurrency faults put into the product on purpose, and who notices them.

A mutant is the product with one edit, such as a lock that is no longer taken. What checks the product, conformance with
the models, exploration, tests, is run on each: whatever notices none of the faults of a kind is blind for that kind.
"""
