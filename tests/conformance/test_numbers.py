"""Numbers of the manifest, renewed in its own text."""

from __future__ import annotations

import json

import pytest

from omni_ipc.conformance.models.manifest import Manifest
from omni_ipc.conformance.models.numbers import Numbers, renewed
from omni_ipc.errors import UsageError

TEXT = """{
"models": [
 {"name": "X/design", "cfg": "mc/{X}.cfg",
  "expect": {"depth": 12}, "distinctStates": 480},
 {"name": "X/design/more", "expect": {"name": "Inv", "depth": 3}},
 {"name": "X/graph", "role": "graph"}
]}
"""


def test_numbers_are_put_where_they_stand() -> None:
    """And nothing else of the text changes, braces in strings or not."""
    new = renewed(TEXT, "X/design", Numbers(481, 13))
    assert new == TEXT.replace('"depth": 12', '"depth": 13').replace("480", "481")
    assert renewed(TEXT, "X/design/more", Numbers(None, 4)) == TEXT.replace('"depth": 3', '"depth": 4')


def test_states_are_added_and_depths_are_not() -> None:
    """A depth that nobody wrote down nobody wants."""
    entry = json.loads(renewed(TEXT, "X/graph", Numbers(7, 3)))["models"][2]
    assert entry == {"name": "X/graph", "role": "graph", "distinctStates": 7}


def test_the_manifest_as_it_is_stays_as_it_is(manifest: Manifest) -> None:
    """With its own numbers, each of its models."""
    text = old = (manifest.folder / "manifest.json").read_text()
    for model in manifest.models:
        text = renewed(text, model.name, Numbers(model.distinct_states, model.expect.depth))
    assert text == old


def test_a_model_without_an_entry_is_told() -> None:
    """The name must come first."""
    with pytest.raises(UsageError, match="no entry that begins with the name X/other"):
        renewed(TEXT, "X/other", Numbers(1, 1))
