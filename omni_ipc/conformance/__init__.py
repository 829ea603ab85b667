"""Conformance: models, their checker, its counterexamples, and driving code along them.

    spec/ ── manifest ──► tlc ──► output ──► counterexample ──► trace ──► replay ◄── a workflow's driven code
                (what)   (run)   (parse)    (parameters, ITF)            (follow)

It knows models and records, and neither the product nor the testbed.
"""
