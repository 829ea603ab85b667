"""Kernels: small concurrent programs, each right and broken, that the testbed is measured by."""
