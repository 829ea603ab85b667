"""Runs a scenario, once for each schedule that it is asked for."""

from __future__ import annotations

import contextlib
import functools
import inspect
from asyncio import events
from collections.abc import Callable, Collection, Iterable, Sequence
from types import TracebackType

from omni_ipc.errors import UsageError
from omni_ipc.records import MemoryOrder
from omni_ipc.testbed.buffering import BufferingKernel
from omni_ipc.testbed.faults.kernel import Fault, FaultingKernel
from omni_ipc.testbed.faults.vain import says_what_it_strikes
from omni_ipc.testbed.identity import DISTINCTIONS, Identities
from omni_ipc.testbed.instrument.session import Instrumentation
from omni_ipc.testbed.kernel import Chooser, Kernel
from omni_ipc.testbed.orders import schedule_number
from omni_ipc.testbed.recorder import Recorder
from omni_ipc.testbed.runtime import ControlledRuntime
from omni_ipc.testbed.sharing import Sharing
from omni_ipc.testbed.standard.announcing import keep_names
from omni_ipc.testbed.strategies.base import Run
from omni_ipc.testbed.strategies.default import DefaultOrder
from omni_ipc.testbed.tasks import Pool
from omni_ipc.testbed.uncontrolled import Guard

Scenario = Callable[[ControlledRuntime], object] | Callable[[], object]
"""Takes the runtime, or nothing: then it uses threads, queues, futures and the clock as anybody would."""


class Runner:
    """Keeps what outlives a run: carriers, identities, and the guard against what is not under control.

    Use it as a context manager; outside of it, nothing of the process is changed.

    Args:
        declared: the scenario declares all that its tasks share, so that it need not be looked for.
        faults: what may go wrong in a run, by choice of the strategy.
        instrument: modules whose shared state has points; a scenario that takes no runtime is instrumented, too.
        points: accesses that are points from the beginning, as `points()` names them.

    Attributes:
        identities: bits of what runs have met.
        sharing: what was found so far.
        instrumentation: of modules whose shared state has points.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        transparent: Collection[str] = (),
        max_steps: int = 10_000,
        memory: MemoryOrder = MemoryOrder.SC,
        declared: bool = False,
        faults: Sequence[Fault] = (),
        instrument: Collection[str] = (),
        points: Collection[str] = (),
    ) -> None:
        self._scenario: Callable[..., object] = scenario
        self._takes_runtime = takes_runtime(scenario)
        self._transparent = transparent
        self._max_steps = max_steps
        self._faults = tuple(faults)
        self._make = _cheapest(memory, self._faults)
        self._met: set[str] = set()
        self._pool = Pool()
        self.identities = Identities()
        self.identities.tell_apart(DISTINCTIONS.intersection(points))
        self._guard = Guard(scenario, instrument)
        self._last: Kernel | None = None
        self._declared = declared
        self.sharing = Sharing(scenario, self._sees)
        self.instrumentation: Instrumentation | None = None
        if instrument or not self._takes_runtime:
            home = None if self._takes_runtime else scenario
            self.instrumentation = Instrumentation(home, instrument, self.identities, points)

    def __enter__(self) -> Runner:
        self._guard.__enter__()
        if self.instrumentation is not None:
            try:
                self.instrumentation.__enter__()
            except BaseException:
                self._guard.__exit__(None, None, None)
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self.instrumentation is not None:
                self.instrumentation.__exit__(kind, error, trace)
        finally:
            self._guard.__exit__(kind, error, trace)
            self._pool.close()

    def begin(
        self, chooser: Chooser, prefix: Sequence[int] = (), memory: MemoryOrder | None = None
    ) -> tuple[Kernel, ControlledRuntime]:
        """Make the world of a run, without starting it.

        Args:
            memory: the order of this run, if it is not that of all.

        Raises:
            KeyboardInterrupt: the user has had enough.
        """
        self._guard.raise_if_interrupted()
        make = self._make if memory is None else _cheapest(memory, self._faults)
        kernel = make(chooser, pool=self._pool, identities=self.identities, limit=self._max_steps, prefix=prefix)
        keep_names(kernel)
        sharing = self.sharing if self._takes_runtime and not self._declared else None  # or instrumentation sees it
        return kernel, ControlledRuntime(kernel, self._transparent, sharing)

    def start(self, kernel: Kernel, rt: ControlledRuntime) -> None:
        """Run the scenario as the task "main" until the run is over, or is suspended by its chooser."""
        if self.instrumentation is not None:
            self.instrumentation.begin(kernel)
        if self._last is not None:
            self._last.retire(self._guard.runs)
        self._last = self._guard.kernel = kernel
        kernel.launch("main", self._scenario, (rt,) if self._takes_runtime else ())

    def finish(self, kernel: Kernel, rt: ControlledRuntime, recorder: Recorder | None = None) -> Run:
        """End what still lives of a run, and return what came of it.

        Raises:
            Inconclusive: something was not under control.
            KeyboardInterrupt: the user has had enough.
        """
        if recorder is not None:
            recorder.settle()
        waiting = kernel.waiting()
        kernel.close()
        rt.close()
        self._guard.kernel = None
        if isinstance(kernel, FaultingKernel):
            self._met |= kernel.met
        order, schedule = kernel.order[: kernel.depth], None
        if self.instrumentation is not None:
            schedule = schedule_number(order, kernel.read_log, kernel.write_log)
            self.instrumentation.end(kernel, schedule)
        if kernel.escape is not None:
            raise kernel.escape
        return Run(
            order=order,
            keys=[task.key for task in kernel.tasks],
            reads=kernel.read_log,
            writes=kernel.write_log,
            value=kernel.tasks[0].value,
            failure=kernel.failure,
            pruned=kernel.pruned,
            schedule=schedule,
            quiet_since=kernel.clock.quiet_since if kernel.clock.is_quiet else kernel.depth,
            curtailed=frozenset(kernel.curtailed),
            births=kernel.births,
            beside=kernel.beside,
            jumps=kernel.jumps,
            waiting=waiting,
            steps=recorder.steps(order) if recorder is not None else (),
            pending=recorder.pending(order) if recorder is not None else (),
        )

    def run(self, chooser: Chooser, prefix: Sequence[int] = (), *, record: bool = False) -> Run:
        """Run one schedule: its first steps by the tasks of ``prefix``, the others by choice."""
        kernel, rt = self.begin(chooser, prefix)
        recorder = Recorder(kernel) if record else None
        explorers = events._get_running_loop()
        try:
            events._set_running_loop(None)  # tasks run in none before they have one
            try:
                self.start(kernel, rt)
            except BaseException:
                with contextlib.suppress(Exception):  # what went wrong first is what is told
                    self.finish(kernel, rt, recorder)
                raise
            return self.finish(kernel, rt, recorder)
        finally:
            events._set_running_loop(explorers)

    def points(self) -> tuple[str, ...]:
        """Name the accesses of instrumented code that are points, and what else is told apart by steps of its own."""
        distinctions = tuple(sorted(self.identities.distinctions))
        return distinctions if self.instrumentation is None else (*distinctions, *self.instrumentation.points())

    @property
    def instrument(self) -> tuple[str, ...]:
        """Name the modules that are instrumented, but for the scenario's own."""
        return () if self.instrumentation is None else self.instrumentation.modules

    def sources(self) -> dict[str, str]:
        """Return the text that was instrumented of each file."""
        return {} if self.instrumentation is None else self.instrumentation.sources()

    def _sees(self, kind: type) -> bool:
        """Tell whether a class is instrumented, so that each use of its objects is seen."""
        return self.instrumentation is not None and self.instrumentation.world.knows(kind)

    def left_out(self) -> tuple[str, ...]:
        """Name modules of packages that are not instrumented, and why, a sentence each."""
        found = {} if self.instrumentation is None else self.instrumentation.left_out
        return tuple(f"'{name}' is not instrumented: {why}" for name, why in found.items())

    def unmet(self) -> tuple[str, ...]:
        """Name the faults that had nothing to strike in any run, as far as they say what they strike."""
        return tuple(name for name in map(str, self._faults) if name not in self._met and says_what_it_strikes(name))

    def unseen(self) -> tuple[str, ...]:
        """Say what tasks did that could not be seen, each with what to do."""
        return () if self.instrumentation is None else tuple(self.instrumentation.unseen)

    def recall(self, unseen: Iterable[str]) -> None:
        """Take note of what an earlier process could not see."""
        if self.instrumentation is not None:
            self.instrumentation.unseen |= dict.fromkeys(unseen)

    def refine(self) -> bool:
        """Make steps of what the last run has shown to matter, and tell whether there is anything new.

        The runs before did not have them: a search that is to leave nothing out begins anew.
        """
        is_finer = self.identities.refine()
        return (self.instrumentation is not None and self.instrumentation.refine()) or is_finer

    def record(self, prefix: Sequence[int]) -> Run:
        """Run one schedule again, in the default order after ``prefix``, and put its steps into words."""
        return self.run(DefaultOrder(), prefix, record=True)


def _cheapest(memory: MemoryOrder, faults: Sequence[Fault]) -> Callable[..., Kernel]:
    """Return what makes the cheapest kernel that can do what is asked for."""
    if memory is not MemoryOrder.SC:
        return functools.partial(BufferingKernel, order=memory, faults=faults)
    return functools.partial(FaultingKernel, faults=faults) if faults else Kernel


def takes_runtime(scenario: object) -> bool:
    """Tell whether a scenario takes the runtime; one that can be called with nothing takes nothing, unless by name.

    Raises:
        UsageError: it can be called in neither way.
    """
    if not callable(scenario):
        raise UsageError(
            f"A scenario is a function of no argument, or of one argument, the runtime; this is {scenario!r}."
        )
    _refuse_unrun(scenario)
    try:
        signature = inspect.signature(scenario)
    except ValueError:  # as of some builtins: the call itself will tell
        return True
    if _binds(signature) and "rt" not in signature.parameters:
        return False
    name = str(getattr(scenario, "__name__", None) or scenario)
    if name.startswith("test_") and (fixtures := [key for key in signature.parameters if key != "rt"]):
        raise UsageError(
            f"'{name}' is a test that takes {', '.join(fixtures)}, which all its runs would share. Make it inside of "
            "the test; or, if it is the runtime, call it rt."
        )
    try:
        signature.bind(None)
    except TypeError as error:
        raise UsageError(
            f"A scenario is called with no argument, or with one argument, the runtime, and '{name}' cannot be: "
            f"{error}. Give it no parameter, or one, rt; bind others with functools.partial."
        ) from None
    return True


def _refuse_unrun(scenario: object) -> None:
    """Refuse a function whose call does not run its body."""
    function = scenario
    while isinstance(function, functools.partial):
        function = function.func
    for is_one, kind, remedy in (
        (inspect.iscoroutinefunction, "asynchronous", "run it in a plain one: asyncio.run({name}())"),
        (inspect.isgeneratorfunction, "a generator", "go through it in a plain one: list({name}())"),
        (inspect.isasyncgenfunction, "an asynchronous generator", "go through it in one, by asyncio.run()"),
    ):
        if is_one(function):
            name = str(getattr(function, "__name__", function))
            raise UsageError(
                f"'{name}' is {kind}: calling it does not run its body. Give a plain function, or "
                f"{remedy.format(name=name)}."
            )


def _binds(signature: inspect.Signature) -> bool:
    try:
        signature.bind()
    except TypeError:
        return False
    return True
