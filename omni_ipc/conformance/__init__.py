"""Conformance: models, their checker, its counterexamples, and driving code along them.

    spec/ ── manifest ──► tlc ──► output ──► counterexample ──► trace ──► replay ◄── a workflow's driven code
                (what)   (run)   (parse)    (parameters, ITF)            (follow)

    models/ ── what is claimed    processes/ ── those of a check, and its folders
       └───────────┬──────────────────┘
                 tlc/ ──► claims/ ──► counterexamples/ ──► graphs/ ──┬──► walks/        spec to code
                                                                     └──► recordings/   code to spec

It knows models and records, and neither the product nor the testbed. Its rooms know those to their left only.
"""
