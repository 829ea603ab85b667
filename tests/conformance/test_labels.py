"""Instances of actions: TLC's labels with parameters."""

from __future__ import annotations

import msgspec
import pytest

from omni_ipc.conformance.models.configuration import Configuration
from omni_ipc.conformance.models.manifest import Manifest
from omni_ipc.conformance.tlc.labels import instances, labelled_configuration, labelled_module, restore
from omni_ipc.conformance.tlc.result import Coverage, Kind, Result, State
from omni_ipc.errors import UsageError


def test_each_combination_of_parameters_is_an_instance(manifest: Manifest) -> None:
    """In the bounds of the cfg, in a fixed order; the self-step of a finished system stays as it is."""
    [model] = manifest.select(["SplitMap/bug/late_split_map/live"])
    spec = manifest.specs["SplitMap"]
    configuration = Configuration.load(manifest.folder / model.cfg)
    known = instances(model, spec, configuration)
    module = labelled_module("Labelled", model, spec, configuration, known)
    assert module.splitlines()[2:8] == [
        'WorkerAnnounce__1 == /\\ WorkerAnnounce("1")',
        'PumpUnpack__1 == /\\ PumpUnpack("1")',
        'PumpTakeSplit__1 == /\\ PumpTakeSplit("1")',
        'DispatcherExpect__1 == /\\ DispatcherExpect("1")',
        'ConsumerWait__1 == /\\ ConsumerWait("1/1")',
        'ConsumerWait__2 == /\\ ConsumerWait("1/2")',
    ]
    assert module.startswith("---- MODULE Labelled ----\nEXTENDS MCSplitMap\n")
    assert module.endswith("    \\/ ConsumerWait__2\n    \\/ Terminating\n====\n")
    assert labelled_configuration(configuration) == f"{configuration.text}\nCONSTANT Next <- Next__labelled\n"


def test_model_values_are_no_strings(doors: Manifest) -> None:
    """The labelled module declares those that it speaks of."""
    [model] = doors.select(["Door/shut"])
    spec = doors.specs["Door"]
    configuration = Configuration.load(doors.folder / model.cfg)
    module = labelled_module("Labelled", model, spec, configuration, instances(model, spec, configuration))
    assert module.splitlines()[2:5] == ["CONSTANT ann", "CONSTANT bob", "PersonTake__1 == /\\ PersonTake(ann)"]
    assert labelled_configuration(configuration).endswith("CONSTANT ann = ann\nCONSTANT bob = bob\n")


def test_several_parameters_are_multiplied(manifest: Manifest) -> None:
    """Every value of the one with every value of the other."""
    [model] = manifest.select(["SplitMap/design"])
    spec = msgspec.structs.replace(
        manifest.specs["SplitMap"], actions={"PumpMix": {"batch": "Batches", "to": "Outputs"}}
    )
    known = instances(model, spec, Configuration.load(manifest.folder / model.cfg))
    assert [tuple(instance.params.values()) for instance in known] == [
        (batch, output) for batch in ("1", "2") for output in ("1/1", "1/2", "2/1")
    ]


def test_a_parameter_without_a_domain_is_told(manifest: Manifest) -> None:
    """A constant that the cfg defines by a substitution cannot be enumerated."""
    [model] = manifest.select(["SplitMap/design"])
    spec = msgspec.structs.replace(manifest.specs["SplitMap"], actions={"PumpUnpack": {"output": "Parts"}})
    with pytest.raises(UsageError, match=r"ranges over 'Parts', to which 'mc/MCSplitMap\.cfg' assigns no set"):
        instances(model, spec, Configuration.load(manifest.folder / model.cfg))


def test_labels_are_turned_back_into_actions_with_parameters(manifest: Manifest) -> None:
    """In the trace, in the step that closes a lasso, and summed in the coverage."""
    [model] = manifest.select(["SplitMap/live"])
    known = instances(model, manifest.specs["SplitMap"], Configuration.load(manifest.folder / model.cfg))
    raw = Result(
        Kind.TEMPORAL,
        "",
        actions={"ConsumerWait__1": Coverage(1, 2), "ConsumerWait__3": Coverage(0, 4), "Terminating": Coverage(0, 1)},
        trace=(State(None, {}), State("ConsumerWait__3", {}), State("Terminating", {})),
        closing=State("PumpUnpack__2", {}),
    )
    result = restore(raw, known)
    assert result.actions == {"ConsumerWait": Coverage(1, 6), "Terminating": Coverage(0, 1)}
    assert [str(state) for state in result.trace] == ["initial state", 'ConsumerWait(output="2/1")', "Terminating()"]
    assert str(result.closing) == 'PumpUnpack(output="2")'
