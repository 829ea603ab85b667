"""Oracles: what is wrong with a run beyond what its tasks raise, found without being asked."""
