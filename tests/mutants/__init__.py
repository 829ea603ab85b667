"""Faults put into the product on purpose."""
