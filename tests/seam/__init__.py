"""Tests of the seam."""
