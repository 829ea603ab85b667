"""Tests of the pipelines that come with it."""
