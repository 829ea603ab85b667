"""The asynchronous output path of an inference engine, its models, and the testbed that ties them together."""

__version__ = "0.1.0"
