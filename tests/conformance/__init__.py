"""Tests of the conformance room."""
