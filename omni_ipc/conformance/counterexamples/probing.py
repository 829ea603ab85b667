"""Asking TLC about single states: which conjunct of a definition is false in one, and where an action leads from it.

    Probing.tla     EXTENDS the model's module; one initial state for each question, and no step
                    Told: an invariant that prints the answers

A conjunct is asked together with those before it, for it may make sense only where they are true. One that speaks of a
step is asked by ENABLED: whether there is a step of which all of them so far are true.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from omni_ipc.conformance.models.configuration import Configuration
from omni_ipc.conformance.models.manifest import Manifest, Model
from omni_ipc.conformance.models.values import parse_printed
from omni_ipc.conformance.processes.children import Children
from omni_ipc.conformance.tlc.java import run_java
from omni_ipc.conformance.tlc.output import messages, parse_output
from omni_ipc.conformance.tlc.syntax import Conjunct, Definition
from omni_ipc.conformance.tlc.toolchain import Toolchain
from omni_ipc.errors import Inconclusive
from omni_ipc.values import Value, show

_MODULE = "Probing"
_TAG = "probe__"
_LEADS = "leads"
_AND = " /\\ "
_OPTIONS = ("-metadir", "states", "-fp", "0", "-workers", "1", "-deadlock", "-tool")
_BUDGET_S = 60.0


class Question(msgspec.Struct, frozen=True):
    """What is asked of one state."""

    definition: Definition
    arguments: tuple[Value, ...]  # one for each of its parameters
    state: Mapping[str, Value]
    to: Mapping[str, Value] | None = None  # of an action: a state to which it may lead, or may not


class Answer(msgspec.Struct, frozen=True):
    """What TLC says."""

    first_false: int | None  # index of the first conjunct that is false; None: all are true
    exceptions: tuple[tuple[Value, ...], ...] = ()  # of what is said to be so of all of something
    leads_there: bool = True  # to the state that was asked about
    successor: dict[str, Value] | None = None  # the first state that it leads to, if it was asked about one


def probe(
    questions: Sequence[Question],
    model: Model,
    manifest: Manifest,
    *,
    as_designed: bool = False,
    toolchain: Toolchain,
    children: Children,
) -> list[Answer | None]:
    """Answer all questions in one run of TLC; None from the first one on that it cannot evaluate.

    Args:
        as_designed: leave out the historical twins that the cfg swaps in.

    Raises:
        Inconclusive: TLC could not evaluate anything.
        EnvironmentMissing: Java cannot be started, or there is no temporary folder.
    """
    if not questions:
        return []
    configuration = Configuration.load(manifest.folder / model.cfg)
    written = _Writer(questions, model, configuration)
    run = run_java(
        "tlc2.TLC",
        (*_OPTIONS, "-config", f"{_MODULE}.cfg", _MODULE),
        {f"{_MODULE}.tla": written.module(), f"{_MODULE}.cfg": written.configuration(as_designed)},
        library=manifest.library(),
        toolchain=toolchain,
        children=children,
        budget_s=_BUDGET_S,
    )
    answers = _answers(questions, list(parse_printed(messages(run.ended.output)[-1].text, _TAG)))
    if answers[0] is None:
        why = parse_output(run.ended.output).message
        raise Inconclusive(f"{model.name}: TLC could not evaluate its parts one by one: {why}")
    return answers


class _Writer:
    """Writes the module that asks."""

    def __init__(self, questions: Sequence[Question], model: Model, configuration: Configuration) -> None:
        self._questions = questions
        self._model = model
        self._configuration = configuration
        self._variables = sorted(questions[0].state)
        self._names: dict[str, str] = {}  # a definition's name -> the front part of its conjuncts' names
        for question in questions:
            self._names.setdefault(question.definition.name, f"C{len(self._names)}__")

    def module(self) -> str:
        definitions = {question.definition.name: question.definition for question in self._questions}
        return "\n".join(
            [
                f"---- MODULE {_MODULE} ----",
                f"EXTENDS {self._model.module}, TLC",
                *(f"CONSTANT {name}" for name in self._configuration.undeclared),
                f"VARIABLE {_TAG}",
                *(line for definition in definitions.values() for line in self._operators(definition)),
                "Given__ ==",
                *(self._given(number, question.state) for number, question in enumerate(self._questions)),
                f"Still__ == FALSE /\\ {_TAG}' = {_TAG}",
                "Told__ ==",
                *(
                    f"    /\\ {_TAG} = {number} => PrintT({self._answer(number, question)})"
                    for number, question in enumerate(self._questions)
                ),
                "====",
                "",
            ]
        )

    def configuration(self, as_designed: bool) -> str:
        known = self._configuration
        left_out = known.twins if as_designed else frozenset()
        return "\n".join(
            [
                "CONSTANTS",
                *(f"    {name} = {value}" for name, value in known.assigned.items()),
                *(f"    {name} = {name}" for name in known.undeclared),
                *(f"    {name} <- {value}" for name, value in known.overrides.items() if name not in left_out),
                "INIT Given__",
                "NEXT Still__",
                "INVARIANT Told__",
                "",
            ]
        ).replace("CONSTANTS\nINIT", "INIT")

    def _operators(self, definition: Definition) -> Iterator[str]:
        """One operator for each conjunct, and one for the exceptions of a universal one."""
        parameters = f"({', '.join(definition.params)})" if definition.params else ""
        for index, conjunct in enumerate(definition.conjuncts):
            front = self._names[definition.name]
            yield f"{front}{index}{parameters} ==\n{conjunct.code}"
            if conjunct.is_guard and conjunct.universal is not None:
                yield f"{front}{index}x{parameters} ==\n{conjunct.universal.exceptions}"

    def _given(self, number: int, state: Mapping[str, Value]) -> str:
        values = "".join(f" /\\ {name} = {self._configuration.literal(state[name])}" for name in self._variables)
        return f"    \\/ {_TAG} = {number}{values}"

    def _answer(self, number: int, question: Question) -> str:
        """Whether each conjunct is true together with those before it; then exceptions, and where the action leads."""
        conjuncts = question.definition.conjuncts
        front = self._names[question.definition.name]
        arguments = f"({', '.join(map(self._configuration.literal, question.arguments))})" if question.arguments else ""
        calls = [f"{front}{index}{arguments}" for index in range(len(conjuncts))]
        truths = [_together(calls[: count + 1], conjuncts[: count + 1]) for count in range(len(calls))]
        exceptions = [
            f"IF {_AND.join([*calls[:index], f'~{calls[index]}'])} THEN {front}{index}x{arguments} ELSE {{}}"
            for index, conjunct in enumerate(conjuncts)
            if conjunct.universal is not None and all(before.is_guard for before in conjuncts[: index + 1])
        ]
        leads = ["TRUE", "TRUE"] if question.to is None else self._leads(number, question, arguments, question.to)
        told = f"<<{', '.join(truths)}>>, UNION {{{', '.join(f'({one})' for one in exceptions)}}}, {', '.join(leads)}"
        return f'<<"{_TAG}", {number}, {told}>>'

    def _leads(self, number: int, question: Question, arguments: str, to: Mapping[str, Value]) -> list[str]:
        """Whether an action leads to a state; the other one prints the first state that it leads to."""
        action = f"{question.definition.name}{arguments}"
        step = ", ".join(f"{name}'" for name in self._variables)
        there = _AND.join(f"{name}' = {self._configuration.literal(to[name])}" for name in self._variables)
        return [
            f"ENABLED ({action} /\\ {there})",
            f'ENABLED ({action} /\\ PrintT(<<"{_TAG}", {number}, "{_LEADS}", <<{step}>>>>))',
        ]


def _together(calls: Sequence[str], conjuncts: Sequence[Conjunct]) -> str:
    conjunction = f"({_AND.join(calls)})"
    return conjunction if all(conjunct.is_guard for conjunct in conjuncts) else f"ENABLED {conjunction}"


def _answers(questions: Sequence[Question], printed: Sequence[tuple[Value, ...]]) -> list[Answer | None]:
    answers: list[Answer | None] = [None] * len(questions)
    successors: dict[Value, Value] = {}
    for _, number, first, *others in printed:
        if first == _LEADS:
            successors[number] = others[0]
            continue
        exceptions, leads_there, _ = others
        assert isinstance(number, int), "the form in which it was asked for"
        assert isinstance(first, tuple), "the form in which it was asked for"
        assert isinstance(exceptions, frozenset), "the form in which it was asked for"
        successor = successors.get(number)
        answers[number] = Answer(
            first_false=first.index(False) if False in first else None,
            exceptions=tuple(one for one in sorted(exceptions, key=show) if isinstance(one, tuple)),
            leads_there=leads_there is True,
            successor=dict(zip(sorted(questions[number].state), successor, strict=True))
            if isinstance(successor, tuple)
            else None,
        )
    return answers
