"""Tests of the devices."""
