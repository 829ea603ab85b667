"""Whether each claim holds, and whether it could fail.

check.py    all models, each against what the manifest claims of it
vacuity.py  where each claim is shown to fail
sweep.py    mutants of the specs, and the claims that notice them
"""
