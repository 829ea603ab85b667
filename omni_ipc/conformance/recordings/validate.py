"""Recordings against a model: TLC searches for an order of their steps that the model allows.

A recording is accepted only if TLC says so in so many words, having taken every step; it is rejected if TLC has tried
every order and said nothing of the kind. Everything else is inconclusive.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import msgspec

from omni_ipc.conformance.models.manifest import Manifest, Spec
from omni_ipc.conformance.models.values import parse_printed
from omni_ipc.conformance.processes.children import Children, Ended
from omni_ipc.conformance.recordings.cases import Case, Pool, make_cases
from omni_ipc.conformance.recordings.lens import Lens, lenses_file, trace_library
from omni_ipc.conformance.recordings.looking import View
from omni_ipc.conformance.recordings.trace_module import MODULE, module_files, probes_of
from omni_ipc.conformance.tlc.java import run_java
from omni_ipc.conformance.tlc.output import parse_output
from omni_ipc.conformance.tlc.result import Kind
from omni_ipc.conformance.tlc.running import located
from omni_ipc.conformance.tlc.toolchain import Toolchain
from omni_ipc.errors import UsageError
from omni_ipc.values import Value

TOGETHER = 1_000
"""Cases in one search: a search of its own costs a second to begin."""

_TLC = ("-metadir", "states", "-fp", "0", "-seed", "1", "-workers", "1", "-deadlock", "-tool")


class Answer(enum.StrEnum):
    """What a validation may say."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    INCONCLUSIVE = "inconclusive"


class Found(msgspec.Struct, frozen=True):
    """What the search found for one case.

    Args:
        probes: the interesting states that it came through, by the invariants that deny them.
        at: how many steps of each chain were taken where most were.
        reason: why it is inconclusive.
    """

    case: Case
    answer: Answer
    probes: frozenset[str] = frozenset()
    at: tuple[int, ...] = ()
    reason: str = ""


class Bench(msgspec.Struct, frozen=True):
    """What a search needs.

    Args:
        name: of the spec.
        budget_s: how long one search may take.
    """

    name: str
    spec: Spec
    lens: Lens
    manifest: Manifest
    toolchain: Toolchain
    children: Children
    budget_s: float = 120.0

    @property
    def probes(self) -> tuple[str, ...]:
        """The invariants whose violation is an interesting state."""
        return probes_of(self.name, self.manifest)


def validate(views: Sequence[View], bench: Bench) -> list[Found]:
    """Look for an order of the steps of each; what is found of a view are its cases, one after another.

    Raises:
        UsageError: a module is broken.
        EnvironmentMissing: Java cannot be started.
    """
    if bench.lens.families or bench.lens.together:
        pool = Pool()
        cases = [case for view in views for case in make_cases(view, bench.lens, pool)]
        return [found for some in _batched(cases) for found in search(some, pool, bench)]
    return [found for view in views for found in search(make_cases(view, bench.lens, Pool()), Pool(), bench)]


def search(cases: Sequence[Case], pool: Pool, bench: Bench) -> list[Found]:
    """Look for an order of each case in one run of TLC."""
    ended = run_tlc(MODULE, module_files(bench.spec, bench.lens, bench.probes, cases, pool), bench)
    accepted = {number: probes for _, number, probes in parse_printed(ended.output, "accepted")}
    reached = {number: cast("tuple[int, ...]", at) for _, number, at in parse_printed(ended.output, "reached")}
    result = parse_output(ended.output)
    over = result.kind is Kind.SUCCESS
    reason = "" if over else _why(result.message, ended.timed_out, bench)
    return [
        Found(
            case=case,
            answer=_answer(number in accepted, over),
            probes=frozenset(map(str, cast("frozenset[Value]", accepted.get(number, frozenset())))),
            at=reached.get(number, (0,) * len(case.chains)),
            reason="" if number in accepted else reason,
        )
        for number, case in enumerate(cases, start=1)
    ]


def run_tlc(module: str, files: Mapping[str, str], bench: Bench) -> Ended:
    """Search a module that stands in ``files``.

    Raises:
        UsageError: a module is broken.
        EnvironmentMissing: Java cannot be started.
    """
    library = (*bench.manifest.library(), *trace_library(bench.manifest))
    run = run_java(
        "tlc2.TLC",
        (*_TLC, "-config", "Model.cfg", module),
        files,
        library=library,
        toolchain=bench.toolchain,
        children=bench.children,
        budget_s=bench.budget_s,
    )
    result = parse_output(run.ended.output)
    if result.kind in (Kind.SYNTAX, Kind.CONFIGURATION, Kind.ASSUMPTION):
        is_made = result.place is None or f"{result.place.module}.tla" in files  # here, and is nobody's to correct
        message = result.message.rstrip(".")
        if is_made:
            raise UsageError(
                f"{lenses_file(bench.manifest)}: {bench.name}: {message}. Correct the lens, or give "
                f"{bench.lens.module} what it names."
            )
        raise UsageError(f"{located(result.place, library)}{message}. Correct the module.")
    return run.ended


def _answer(accepted: bool, over: bool) -> Answer:
    if accepted:
        return Answer.ACCEPTED
    return Answer.REJECTED if over else Answer.INCONCLUSIVE


def _why(message: str, timed_out: bool, bench: Bench) -> str:
    if timed_out:
        return f"TLC was stopped after {bench.budget_s:g} s. Record a shorter run, or give it more time."
    return f"TLC could not evaluate the model on it: {message}"


def _batched(cases: Sequence[Case]) -> Iterator[Sequence[Case]]:
    return (cases[begin : begin + TOGETHER] for begin in range(0, len(cases), TOGETHER))
