"""A failure that TLC found, in a programmer's words.

what it violates    the sentence above the property, the part of it that is false, and of what
how                 each step with its parameters, each state
where it goes off   a bug model: the first step that the design refuses, by which guard, or that leads elsewhere there
                    a stuck state: what each action waits for
                    else: the guards that let the last step pass, with their values
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from omni_ipc.conformance.claims.vacuity import sentence_of
from omni_ipc.conformance.counterexamples.counterexample import find_counterexample
from omni_ipc.conformance.counterexamples.itf import state_to_itf
from omni_ipc.conformance.counterexamples.probing import Answer, Question, probe
from omni_ipc.conformance.models.configuration import Configuration
from omni_ipc.conformance.models.manifest import Manifest, Model, Role
from omni_ipc.conformance.processes.children import Children
from omni_ipc.conformance.tlc import labels
from omni_ipc.conformance.tlc.result import Kind, Place, Result, State
from omni_ipc.conformance.tlc.running import Reaches, module_text
from omni_ipc.conformance.tlc.syntax import Conjunct, Definition, read_definitions
from omni_ipc.conformance.tlc.toolchain import Toolchain
from omni_ipc.errors import Inconclusive
from omni_ipc.values import show
from omni_ipc.violations import Claim, Departure, Guard, Taken, Violation


class Explainer:
    """Tells the counterexamples of a manifest's models."""

    def __init__(self, manifest: Manifest, toolchain: Toolchain, children: Children) -> None:
        self._manifest = manifest
        self._toolchain = toolchain
        self._children = children
        self._read: dict[str, Mapping[str, Definition]] = {}

    def explain(self, model: Model, reaches: Reaches | None = None, found: Result | None = None) -> Violation:
        """Find the counterexample of a model again, with the parameters of its steps, and tell what is behind it.

        Args:
            found: the counterexample as it was found; told where the actions of the manifest do not lead there.

        Raises:
            Inconclusive: TLC did not come to its end.
            UsageError: the model holds, or is broken.
        """
        result = find_counterexample(
            model,
            self._manifest,
            toolchain=self._toolchain,
            children=self._children,
            reaches=reaches,
            otherwise=found,
        )
        return _Counterexample(result, model, self).violation()

    def definitions(self, model: Model) -> Mapping[str, Definition]:
        """What can be named in the model's module; each is read once."""
        if model.module not in self._read:
            self._read[model.module] = read_definitions(
                model.module,
                module_text(model, self._manifest),
                self._manifest,
                toolchain=self._toolchain,
                children=self._children,
            )
        return self._read[model.module]

    def sentence(self, claim: str, model: Model) -> str:
        return sentence_of(claim, model.module, self._manifest)

    def configuration(self, model: Model) -> Configuration:
        return Configuration.load(self._manifest.folder / model.cfg)

    def actions(self, model: Model) -> list[State]:
        """Every instance of every action, and the self-step of a finished system, as steps to nowhere."""
        spec = self._manifest.specs[model.spec]
        known = labels.instances(model, spec, self.configuration(model))
        finished = [State(spec.termination, {})] if spec.termination else []
        return [*(State(instance.action, {}, instance.params) for instance in known), *finished]

    def probe(self, questions: list[Question], model: Model, *, as_designed: bool) -> list[Answer | None]:
        return probe(
            questions,
            model,
            self._manifest,
            as_designed=as_designed,
            toolchain=self._toolchain,
            children=self._children,
        )


class _Counterexample:
    """One counterexample, and whom to ask about it."""

    def __init__(self, result: Result, model: Model, explainer: Explainer) -> None:
        self._result = result
        self._model = model
        self._explainer = explainer
        self._configuration = explainer.configuration(model)
        self._definitions: Mapping[str, Definition] = {}
        self._steps = [*result.trace[1:], *([result.closing] if result.closing else [])]

    def violation(self) -> Violation:
        told = Violation(
            claim=self._claim(None),
            initial=state_to_itf(self._result.trace[0].variables),
            steps=tuple(Taken(str(state), state_to_itf(state.variables)) for state in self._steps),
            loop=self._result.loop,
        )
        try:
            self._definitions = self._explainer.definitions(self._model)
            told = msgspec.structs.replace(told, claim=self._claim(self._ask_claim()))
            if self._configuration.twins:
                told = msgspec.structs.replace(told, departure=self._departure())
            if self._is_stuck or (told.departure is None and self._model.role is not Role.REACH):
                guards = self._what_is_missing() if self._is_stuck else self._passed()
                told = msgspec.structs.replace(told, guards=guards)
        except Inconclusive as error:
            told = msgspec.structs.replace(told, note=str(error))
        return told

    @property
    def _is_stuck(self) -> bool:
        """Nothing more happens: a deadlock, or a behaviour that stutters for ever."""
        stutters = self._result.loop is not None and self._result.closing is None
        return self._result.kind is Kind.DEADLOCK or stutters

    def _claim(self, answer: Answer | None) -> Claim | None:
        name = self._result.name
        if name is None:
            return None
        definition = self._definitions.get(name)
        if definition is None:
            return Claim(name, "", "")
        part = None if answer is None or answer.first_false is None else definition.conjuncts[answer.first_false]
        names = part.universal.names if part and part.universal else ()
        return Claim(
            name=name,
            sentence=self._explainer.sentence(name, self._model) or definition.sentence,
            where=_where(definition.place),
            part=_in_words(part) if part and len(definition.conjuncts) > 1 else None,
            exceptions=tuple(
                ", ".join(f"{name} = {show(value)}" for name, value in zip(names, values, strict=True))
                for values in (answer.exceptions if answer else ())
            ),
        )

    def _ask_claim(self) -> Answer | None:
        """Of an invariant, which part is false in the last state."""
        definition = self._definitions.get(self._result.name or "")
        if self._result.kind is not Kind.INVARIANT or definition is None:
            return None
        question = Question(definition, (), self._result.trace[-1].variables)
        return self._probe([question], as_designed=False)[0]

    def _departure(self) -> Departure | None:
        """The first step that the design does not take."""
        befores = self._result.trace  # one more than steps, or as many: a lasso closes
        questions = [
            Question(self._definition(step), tuple(step.params.values()), before.variables, to=step.variables)
            for before, step in zip(befores, self._steps, strict=False)
        ]
        answers = self._probe(questions, as_designed=True)
        for number, (step, question, answer) in enumerate(zip(self._steps, questions, answers, strict=True), start=1):
            if answer is None:
                raise Inconclusive(f"Step {number}, {step}, cannot be compared with the design: TLC fails there.")
            if answer.first_false is None and answer.leads_there:
                continue
            return Departure(
                step=number,
                action=str(step),
                where=_where(question.definition.place),
                refused_by=self._guard(str(step), question, answer.first_false, holds=False),
                instead=state_to_itf(answer.successor) if answer.successor else None,
            )
        return None

    def _passed(self) -> tuple[Guard, ...]:
        """The guards of the last step: they were all true."""
        if not self._steps:
            return ()
        last = self._steps[-1]
        before = self._result.trace[len(self._steps) - 1].variables
        question = Question(self._definition(last, twin=True), tuple(last.params.values()), before)
        guards = (
            self._guard(str(last), question, index, holds=True)
            for index, conjunct in enumerate(question.definition.conjuncts)
            if conjunct.is_guard
        )
        return tuple(guard for guard in guards if guard is not None)

    def _what_is_missing(self) -> tuple[Guard, ...]:
        """In the last state, the first false conjunct of each action that cannot be taken."""
        state = self._result.trace[-1].variables
        actions = self._explainer.actions(self._model)
        questions = [
            Question(self._definition(action, twin=True), tuple(action.params.values()), state) for action in actions
        ]
        answers = self._probe(questions, as_designed=False)
        guards = (
            self._guard(str(action), question, answer.first_false if answer else None, holds=False)
            for action, question, answer in zip(actions, questions, answers, strict=True)
        )
        return tuple(guard for guard in guards if guard is not None)

    def _guard(self, action: str, question: Question, index: int | None, *, holds: bool) -> Guard | None:
        if index is None:
            return None
        conjunct = question.definition.conjuncts[index]
        values = {name: show(question.state[name]) for name in conjunct.variables}
        return Guard(action, conjunct.text, _where(conjunct.place), values, holds)

    def _definition(self, step: State, *, twin: bool = False) -> Definition:
        """The design's definition of an action, or that which the cfg swaps in."""
        name = step.action or ""
        if twin:
            name = self._configuration.overrides.get(name, name)
        if name not in self._definitions:
            raise Inconclusive(f"The action {name} has no definition that could be taken apart.")
        return self._definitions[name]

    def _probe(self, questions: list[Question], *, as_designed: bool) -> list[Answer | None]:
        return self._explainer.probe(questions, self._model, as_designed=as_designed)


def _where(place: Place) -> str:
    return f"{place.module}.tla:{place.line}"


def _in_words(conjunct: Conjunct) -> str:
    return f"{conjunct.text} ({conjunct.comment})" if conjunct.comment else conjunct.text
