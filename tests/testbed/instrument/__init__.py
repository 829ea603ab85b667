"""Tests of instrumentation."""
