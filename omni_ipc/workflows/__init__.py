"""Wires the rooms together: the only place that knows product, testbed, scenarios and conformance at once."""
