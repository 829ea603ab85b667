"""Recordings of real processes, held against a model."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from omni_ipc.conformance.models.manifest import load as load_manifest
from omni_ipc.conformance.processes.children import Children
from omni_ipc.conformance.recordings.lens import find_lens, load_lenses
from omni_ipc.conformance.recordings.looking import View, look, unlooked, untold, unwatched
from omni_ipc.conformance.recordings.rejection import Explainer, Rejection
from omni_ipc.conformance.recordings.sessions import Session
from omni_ipc.conformance.recordings.sessions import load as load_recordings
from omni_ipc.conformance.recordings.validate import Answer, Bench, Found, validate
from omni_ipc.conformance.tlc.toolchain import Toolchain
from omni_ipc.errors import Inconclusive, UsageError
from omni_ipc.records import Verdict

SECONDS = 120.0

_VERDICTS = {
    Answer.ACCEPTED: Verdict.HOLDS,  # of this recording, and no other
    Answer.REJECTED: Verdict.VIOLATED,
    Answer.INCONCLUSIVE: Verdict.INCONCLUSIVE,
}


class ValidatedSession(msgspec.Struct, frozen=True):
    """One engine with its workers.

    Args:
        killed: the processes that did not come to their end.
        files: what was read.
        steps: that the model speaks of.
        left_out: a region beyond the model -> how many families of ids met it.
        leaving: where ids left what the model speaks of -> how many.
        reason: one sentence.
        untold: what the lens observes, and nothing was told of: no field, or always empty in an old recording.
    """

    session: str
    processes: tuple[int, ...]
    killed: tuple[int, ...]
    files: tuple[str, ...]
    steps: int
    left_out: dict[str, int]
    leaving: dict[str, int]
    answer: Answer
    reason: str
    probes: tuple[str, ...] = ()
    rejection: Rejection | None = None
    untold: tuple[str, ...] = ()


class Coverage(msgspec.Struct, frozen=True):
    """What the accepted recordings together have shown of the model.

    Args:
        actions: how often each was recorded.
        reached: interesting states that they came through, by the probes that deny them.
        missed: those that none of them came through.
    """

    actions: dict[str, int]
    reached: tuple[str, ...]
    missed: tuple[str, ...]

    @property
    def gaps(self) -> tuple[str, ...]:
        """What was never recorded."""
        return (*(action for action, count in self.actions.items() if not count), *self.missed)


class Validated(msgspec.Struct, frozen=True):
    """All sessions of the recordings, against one spec."""

    spec: str
    sessions: tuple[ValidatedSession, ...]
    coverage: Coverage
    covered: bool
    seconds: float

    @property
    def verdict(self) -> Verdict:
        """Of all together: a rejection decides; then it is to be asked whether anything was accepted, and enough."""
        answers = {session.answer for session in self.sessions if session.steps}
        if Answer.REJECTED in answers:
            return Verdict.VIOLATED
        complete = answers == {Answer.ACCEPTED} and self.covered
        return Verdict.HOLDS if complete else Verdict.INCONCLUSIVE


Progress = Callable[[str], object]
"""Called with what is being done."""


def validate_recordings(
    paths: Sequence[Path],
    *,
    spec: str,
    whole: bool = False,
    budget_s: float = SECONDS,
    steps: int | None = None,
    progress: Progress = lambda _: None,
) -> Validated:
    """Hold recordings against a model; see `validate_sessions`.

    Raises:
        UsageError: there is no recording, or a file is none; or there is no time.
        Inconclusive: a recording is empty, damaged, or has a gap.
    """
    if not budget_s > 0:
        raise UsageError(f"seconds must be positive, and is {budget_s:g}. Leave it out for {SECONDS:g} a search.")
    progress("reading recordings")
    sessions = load_recordings(paths)
    return validate_sessions(sessions, spec=spec, whole=whole, budget_s=budget_s, steps=steps, progress=progress)


def validate_sessions(
    recorded: Sequence[Session],
    *,
    spec: str,
    whole: bool = False,
    budget_s: float = SECONDS,
    steps: int | None = None,
    progress: Progress = lambda _: None,
) -> Validated:
    """Hold what was read of recordings against a model.

    Args:
        whole: whether it takes every action and every interesting state of the model to be accepted.
        budget_s: how long one search may take; positive.
        steps: of a session that are looked at, at most, where a model takes the first ones alone.

    Raises:
        UsageError: there is no such spec.
        Inconclusive: they hold not one step that the model speaks of.
        EnvironmentMissing: there is no Java, or no TLC.
    """
    start = time.monotonic()
    manifest = load_manifest()
    of_spec, lens = find_lens(spec, manifest)
    if steps is not None:
        lens = msgspec.structs.replace(lens, longest=min(lens.longest, steps))
    toolchain = Toolchain.find()
    views = [look(session, of_spec, lens) for session in recorded]
    if not any(view.steps for view in views):
        raise Inconclusive(_nothing(spec, views))
    with Children() as children:
        bench = Bench(spec, of_spec, lens, manifest, toolchain, children, budget_s)
        progress("searching")
        found = validate([view for view in views if view.steps and not _confusion(view, bench)], bench)
        explainer = Explainer(bench)
        sessions = tuple(_judge(view, found, bench, explainer, progress) for view in views)
    coverage = _coverage(bench, views, sessions)
    return Validated(spec, sessions, coverage, not (whole and coverage.gaps), time.monotonic() - start)


def fitting_specs(paths: Sequence[Path]) -> tuple[str, ...]:
    """Name the specs that speak of recordings; of what cannot be read, or without a lens, none does."""
    try:
        manifest = load_manifest()
        lenses = load_lenses(manifest)
        sessions = load_recordings(paths)
        speaking = {n for n in lenses for session in sessions if look(session, *find_lens(n, manifest)).steps}
    except (Inconclusive, UsageError):  # validate says what is wrong with it
        return ()
    return tuple(name for name in manifest.specs if name in speaking)


def _judge(
    view: View, found: Sequence[Found], bench: Bench, explainer: Explainer, progress: Progress
) -> ValidatedSession:
    ours = [each for each in found if each.case.view is view]
    rejected = next((each for each in ours if each.answer is Answer.REJECTED), None)
    undecided = next((each for each in ours if each.answer is Answer.INCONCLUSIVE), None)
    answer, reason, rejection = *_acceptance(view, bench), None
    if undecided is not None:
        answer, reason = Answer.INCONCLUSIVE, undecided.reason
    elif not ours:
        answer = Answer.INCONCLUSIVE
        reason = _confusion(view, bench) or "the model speaks of none of its steps."
    if rejected is not None:
        progress("looking for the reason")
        rejection = explainer.explain(rejected)
        answer, reason = Answer.REJECTED, f"step {rejection.index} of it, {rejection.step}, is none of the model's."
        if cut := _incomplete(view.session, rejection):
            answer, reason = Answer.INCONCLUSIVE, f"{cut}, and {reason} {rejection.repair}"
    return ValidatedSession(
        session=str(view.session),
        processes=view.session.processes,
        killed=view.session.killed,
        files=tuple(map(str, view.session.files)),
        steps=len(view.steps),
        left_out=dict(Counter(view.left_out.values())),
        leaving=dict(Counter(view.leaving.values())),
        answer=answer,
        reason=reason,
        probes=tuple(sorted({probe for each in ours for probe in each.probes})),
        rejection=rejection,
        untold=untold(view.session, bench.lens),
    )


def _acceptance(view: View, bench: Bench) -> tuple[Answer, str]:
    """Say what an order of the steps is worth: without the states that the lens observes, it was not asked for much."""
    if silent := unwatched(view.session, bench.lens):
        return Answer.INCONCLUSIVE, (
            f"its steps are a behaviour of the model, but it tells of no object {' or '.join(silent)}, which the lens "
            f'observes: no state was compared. End its constructor with rt.watch(self, lock, name="{silent[0]}"), and '
            "record anew; or correct spec/trace/lenses.json."
        )
    if unseen := " or ".join(unlooked(view.session, bench.lens)):
        return Answer.INCONCLUSIVE, (
            f"its steps are a behaviour of the model, but no region was left under the lock of {unseen}: no state of "
            "it was compared. Watch it with the lock, or condition, that its regions take, and record anew."
        )
    compared = "" if bench.lens.observes else ", by names and parameters alone: the lens observes no state"
    return Answer.ACCEPTED, f"an order of its steps is a behaviour of the model{compared}."


def _confusion(view: View, bench: Bench) -> str:
    """Say why the steps of a session cannot be told apart, if they cannot."""
    doubled = [name for name in view.session.doubles if name in bench.lens.observes]
    if not doubled:
        return ""
    return (
        f"there are several objects {doubled[0]} over one runtime, so it is not known whose a step is. "
        "Give each engine a runtime of its own."
    )


def _incomplete(session: Session, rejection: Rejection) -> str:
    """Say that what would make a session pass may have happened, and not be in the recording, if so."""
    if session.unshared:
        shared = f"memory that process {session.processes[0]} shares"
        return f"no other process tells of {shared} (a file is missing, or that process was not recorded)"
    until = rejection.missing_until_ns
    for process in session.killed if rejection.missing else ():
        if until is None or session.known_until_ns(process) < until:
            return f"the recording of process {process} has no end (it was killed, or the file was cut)"
    return ""


def _coverage(bench: Bench, views: Sequence[View], sessions: Sequence[ValidatedSession]) -> Coverage:
    accepted = [v for v, session in zip(views, sessions, strict=True) if session.answer is Answer.ACCEPTED]
    taken = Counter(seen.action for view in accepted for seen in view.steps)
    reached = {probe for session in sessions if session.answer is Answer.ACCEPTED for probe in session.probes}
    return Coverage(
        actions={a: taken[a] for a in bench.spec.actions if taken[a] or not bench.lens.takes_unseen(a)},
        reached=tuple(probe for probe in bench.probes if probe in reached),
        missed=tuple(probe for probe in bench.probes if probe not in reached),
    )


def _nothing(spec: str, views: Sequence[View]) -> str:
    steps = sum(len(view.session.steps) for view in views)
    if not steps:
        return "Not one step was recorded: each process ended before it took one. Record a longer run."
    met = ", ".join(sorted({why for view in views for why in _whys(view)}))
    why = f" What it might speak of met {met}." if met else ""
    return (
        f"{spec} speaks of none of the {steps} steps that were recorded.{why} "
        "Is it a recording of another program, or another spec that you mean?"
    )


def _whys(view: View) -> Iterator[str]:
    yield from view.left_out.values()
    yield from view.leaving.values()
