"""Counterexamples with the parameters of each action.

TLC labels a step with the innermost operator that it went through, without arguments. So each instance of an action
gets an operator of its own, and ``Next`` is replaced by their disjunction: the same steps, with telling names.

    PumpUnpack__2 == /\\ PumpUnpack("b")        (without the leading /\\ TLC would look through to PumpUnpack)
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import msgspec

from omni_ipc.conformance.models.configuration import Configuration
from omni_ipc.conformance.models.manifest import Model, Spec
from omni_ipc.conformance.tlc.result import Coverage, Result, State
from omni_ipc.errors import UsageError
from omni_ipc.values import Value, show

_NEXT = "Next__labelled"


class Instance(msgspec.Struct, frozen=True):
    """One action with values for all its parameters."""

    label: str
    action: str
    params: dict[str, Value]


def instances(model: Model, spec: Spec, configuration: Configuration) -> tuple[Instance, ...]:
    """Every instance of every action of a spec, in the bounds of a cfg.

    Raises:
        UsageError: a parameter ranges over something that the cfg does not assign a set to.
    """
    return tuple(
        Instance(f"{action}__{number}", action, dict(zip(parameters, values, strict=True)))
        for action, parameters in spec.actions.items()
        for number, values in enumerate(
            itertools.product(*(_domain(model, configuration, constant) for constant in parameters.values())), start=1
        )
    )


def labelled_module(
    name: str, model: Model, spec: Spec, configuration: Configuration, known: tuple[Instance, ...]
) -> str:
    """The text of a module that extends the model's and defines its labelled next-state relation."""
    disjuncts = [instance.label for instance in known] + ([spec.termination] if spec.termination else [])
    lines = [
        f"---- MODULE {name} ----",
        f"EXTENDS {model.module}",
        *(f"CONSTANT {name}" for name in configuration.undeclared),
        *(_definition(instance, configuration) for instance in known),
        f"{_NEXT} ==",
        *(f"    \\/ {disjunct}" for disjunct in disjuncts),
        "====",
    ]
    return "\n".join(lines) + "\n"


def labelled_configuration(configuration: Configuration) -> str:
    """The text of the cfg with ``Next`` replaced; everything defined by it, ``Spec`` and fairness, stays."""
    model_values = "".join(f"CONSTANT {name} = {name}\n" for name in configuration.undeclared)
    return f"{configuration.text}\nCONSTANT Next <- {_NEXT}\n{model_values}"


def restore(result: Result, known: tuple[Instance, ...]) -> Result:
    """Put actions and parameters in the place of labels."""
    by_label = {instance.label: instance for instance in known}
    actions: dict[str, Coverage] = {}
    for label, coverage in result.actions.items():
        action = by_label[label].action if label in by_label else label
        actions[action] = actions.get(action, Coverage()) + coverage
    return msgspec.structs.replace(
        result,
        actions=actions,
        trace=tuple(_restored(state, by_label) for state in result.trace),
        closing=_restored(result.closing, by_label) if result.closing else None,
    )


def _definition(instance: Instance, configuration: Configuration) -> str:
    arguments = f"({', '.join(map(configuration.literal, instance.params.values()))})" if instance.params else ""
    return f"{instance.label} == /\\ {instance.action}{arguments}"


def _restored(state: State, by_label: Mapping[str, Instance]) -> State:
    instance = by_label.get(state.action or "")
    return State(instance.action, state.variables, instance.params) if instance else state


def _domain(model: Model, configuration: Configuration, constant: str) -> Iterator[Value]:
    values = configuration.constants.get(constant)
    if not isinstance(values, frozenset):
        raise UsageError(
            f"{model.name}: a parameter ranges over '{constant}', to which '{model.cfg}' assigns no set. "
            "Assign one there, or name another constant in the manifest."
        )
    return iter(sorted(values, key=show))
