"""Watched objects: no use of shared state goes unseen."""

from __future__ import annotations

import pytest

from omni_ipc.errors import UsageError
from omni_ipc.records import FailureKind
from omni_ipc.seam.api import Lock
from omni_ipc.testbed import ControlledRuntime, Stepper, explore
from tests.testbed.kernels import and_join, found


class Table:
    """State that a lock guards."""

    def __init__(self, rt: ControlledRuntime) -> None:
        self._rt = rt
        self.lock = rt.lock()
        self.items: dict[str, int] = {}
        self.closed = False

    def put(self, key: str) -> None:
        """Keep the rule."""
        with self._rt.region("Put", self.lock):
            self.items[key] = 1

    def put_outside(self, key: str) -> None:
        """Break the rule."""
        self.items[key] = 1

    def close_outside(self) -> None:
        """Break the rule."""
        self.closed = True

    def is_closed(self) -> bool:
        """Read a plain value."""
        return self.closed


class SlottedTable(Table):
    """A subclass with slots of its own."""

    __slots__ = ("extra",)

    def __init__(self, rt: ControlledRuntime) -> None:
        super().__init__(rt)
        self.extra: list[int] = []


def using(method: str, kind: type[Table] = Table) -> object:
    """Make a scenario in which a task named pump calls a method of a watched table."""

    def scenario(rt: ControlledRuntime) -> None:
        table = kind(rt)
        rt.watch(table, guard=table.lock, name="OutputTable")
        call = getattr(table, method)
        rt.spawn(lambda: call("key") if method.startswith("put") else call(), name="pump").join()

    return scenario


@pytest.mark.parametrize(("method", "field"), [("put_outside", "items"), ("close_outside", "closed")])
@pytest.mark.parametrize("kind", [Table, SlottedTable])
def test_a_use_without_the_lock_is_named(method: str, field: str, kind: type[Table]) -> None:
    """The message tells field, task and line, and what to do."""
    failure = found(using(method, kind)).failure  # type: ignore[arg-type]
    assert failure is not None
    assert (failure.kind, failure.task) == (FailureKind.UNGUARDED, "pump")
    assert failure.where is not None
    place, _, function = failure.where.partition(" in ")
    assert function == method
    assert failure.message == (
        f"OutputTable.{field} was used without its lock by task 'pump' at {place}; "
        "move the line into the region that holds the lock"
    )


@pytest.mark.parametrize("method", ["put", "is_closed"])
def test_a_use_with_the_lock_and_a_look_at_a_plain_value_are_fine(method: str) -> None:
    """No false alarm."""
    assert explore(using(method)).verdict == "holds"  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["rlock", "condition"])
def test_any_kind_of_lock_may_be_the_guard(kind: str) -> None:
    """A use inside is allowed, one outside is found."""

    def scenario(rt: ControlledRuntime, inside: bool) -> None:
        guard: Lock = getattr(rt, kind)()
        table = Table(rt)
        rt.watch(table, guard, "Table")
        with guard:
            if inside:
                table.items.clear()
        if not inside:
            table.items.clear()

    assert explore(lambda rt: and_join(rt, lambda: scenario(rt, True))).verdict == "holds"
    failure = explore(lambda rt: scenario(rt, False)).failure
    assert failure is not None
    assert failure.kind is FailureKind.UNGUARDED


def test_without_a_guard_each_use_is_a_step() -> None:
    """A check of a container and its change have room for another task between them."""

    def scenario(rt: ControlledRuntime) -> int:
        table = Table(rt)
        rt.watch(table, None, "Table")
        calls: list[int] = []

        def once() -> None:
            if "key" not in table.items:
                table.items["key"] = 1
                calls.append(1)

        and_join(rt, once, once)
        return len(calls)

    assert explore(scenario).outcomes == ("1", "2")


def test_without_a_guard_a_use_in_a_region_is_part_of_it() -> None:
    """The fixed twin: check and change in one region."""

    def scenario(rt: ControlledRuntime) -> int:
        table = Table(rt)
        rt.watch(table, None, "Table")
        calls: list[int] = []

        def once() -> None:
            with rt.region("Once"):
                if "key" not in table.items:
                    table.items["key"] = 1
                    calls.append(1)

        and_join(rt, once, once)
        return len(calls)

    assert explore(scenario).outcomes == ("1",)


def test_a_watched_object_stays_what_it_is() -> None:
    """Methods, `super()`, isinstance and the name of the class work as before; after the run the class is back."""
    tables: list[Table] = []

    def scenario(rt: ControlledRuntime) -> tuple[bool, str]:
        table = SlottedTable(rt)
        tables.append(table)
        rt.watch(table, table.lock, "Table")
        return isinstance(table, SlottedTable), type(table).__name__

    assert explore(scenario).outcomes == ("(True, 'SlottedTable')",)
    assert all(type(table) is SlottedTable for table in tables)
    assert tables[0].items == {}


def test_the_driver_of_a_run_may_look_at_everything() -> None:
    """A projection reads guarded state between steps, and is no task."""

    def scenario(rt: ControlledRuntime) -> None:
        table = Table(rt)
        tables.append(table)
        rt.watch(table, table.lock, "Table")
        table.put("key")

    tables: list[Table] = []
    with Stepper(scenario) as stepper:
        assert tables[0].items == {}
        stepper.take("main")
        assert tables[0].items == {"key": 1}


def test_what_cannot_be_watched_is_refused() -> None:
    """A plain list has no attributes to look at."""

    def scenario(rt: ControlledRuntime) -> str:
        with pytest.raises(UsageError, match="has it as a field"):
            rt.watch([], None, "List")
        return "refused"

    assert explore(scenario).outcomes == ("'refused'",)


class Defaulted:
    """State that lies in the class until it is first written."""

    count = 0


@pytest.mark.parametrize("strategy", ["depth-first", "brute-force"])
def test_a_default_in_the_class_is_state_like_any_other(strategy: str) -> None:
    """A lost update starts from the class's value: the first read is a step, too, and both outcomes are seen."""

    def scenario(rt: ControlledRuntime) -> int:
        counter = Defaulted()
        rt.watch(counter, None, "counter")

        def increment() -> None:
            counter.count = counter.count + 1

        for task in [rt.spawn(increment, name=name) for name in ("one", "two")]:
            task.join()
        return counter.count

    report = explore(scenario, strategy=strategy)
    assert report.outcomes == ("1", "2")
    assert report.traces == 4  # of two reads and two writes, each task's in order: those in which a write takes part


@pytest.mark.parametrize("strategy", ["depth-first", "brute-force"])
def test_a_look_for_what_is_not_there_yet_is_a_read(strategy: str) -> None:
    """`getattr` with a default races with whoever sets the attribute first."""

    def scenario(rt: ControlledRuntime) -> str:
        holder = Defaulted()
        rt.watch(holder, None, "holder")
        seen: list[str] = []
        tasks = [
            rt.spawn(lambda: setattr(holder, "late", "set"), name="setter"),
            rt.spawn(lambda: seen.append(getattr(holder, "late", "missing")), name="looker"),
        ]
        for task in tasks:
            task.join()
        return seen[0]

    assert explore(scenario, strategy=strategy).outcomes == ("'missing'", "'set'")


def test_a_bare_read_of_a_flag_that_is_written_under_the_lock_is_told() -> None:
    """Whichever comes first, the read or the write: the line of the read is named."""

    def scenario(rt: ControlledRuntime) -> None:
        flag = Defaulted()
        lock = rt.lock()
        rt.watch(flag, lock, "flag")

        def write() -> None:
            with lock:
                flag.count = 1

        def read() -> None:
            assert flag.count in (0, 1)  # without the lock

        and_join(rt, write, read)

    for strategy in ("depth-first", "brute-force", "random"):
        failure = explore(scenario, strategy=strategy).failure
        assert failure is not None
        assert failure.kind is FailureKind.UNGUARDED
        assert "flag.count was used without its lock" in failure.message
        assert failure.where is not None
        assert failure.where.endswith("in read")


def test_a_bare_read_of_what_never_changes_is_fine() -> None:
    """Settings that were made before the watch began need no lock."""

    def scenario(rt: ControlledRuntime) -> int:
        settings = Defaulted()
        lock = rt.lock()
        rt.watch(settings, lock, "settings")
        seen = rt.queue()
        and_join(rt, lambda: seen.put(settings.count), lambda: seen.put(settings.count))
        return seen.qsize()

    assert explore(scenario).outcomes == ("2",)


def test_an_update_inside_an_object_in_a_watched_field_can_be_lost() -> None:
    """A field that holds a changeable object conflicts with other uses of the field, as a container does."""

    def scenario(rt: ControlledRuntime) -> int:
        holder = Defaulted()
        holder.inner = Defaulted()  # type: ignore[attr-defined]
        rt.watch(holder, None, "holder")

        def increment() -> None:
            holder.inner.count = holder.inner.count + 1  # type: ignore[attr-defined]

        and_join(rt, increment, increment)
        return holder.inner.count  # type: ignore[attr-defined]

    assert explore(scenario).outcomes == ("1", "2")
