"""How rounds are set up: by the seed alone, of all kinds, and within whatever memory there is."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omni_ipc.stress.plans import Room, draw, least_bytes, room
from omni_ipc.stress.settings import LARGEST_BYTES, SoakConfig

GIB = 1 << 30
CONFIG = SoakConfig(seconds=60.0, workers=2, seed=5, memory_bytes=2 * GIB)


def test_a_round_is_set_up_by_seed_and_number_alone() -> None:
    """The same again by another process, which goes on after a death; another number, or seed, gives another."""
    there = room(CONFIG)
    plans = [draw(CONFIG, number, there) for number in range(1, 30)]
    assert plans == [draw(CONFIG, number, there) for number in range(1, 30)]
    others = msgspec.structs.replace(CONFIG, seed=6)
    assert plans != [draw(others, number, there) for number in range(1, 30)]
    assert len({(plan.clients, plan.seconds) for plan in plans}) > 20


def test_there_are_rounds_of_every_kind() -> None:
    """In any minute or two: recorded, step by step, with giants, dozes, abrupt ends, few slots, short timeouts."""
    plans = [draw(CONFIG, number, room(CONFIG)) for number in range(1, 21)]
    for of in ("recorded", "giant", "abrupt", "dozes"):
        assert {getattr(plan, of) for plan in plans} == {True, False}, of
    assert {plan.engine.max_batch for plan in plans} == {1, 4, 32}
    assert len({plan.engine.output_timeout_s for plan in plans}) == 2
    assert min(len(plan.engine.output_slots) for plan in plans) == 2
    stepwise = [plan for plan in plans if plan.engine.step_execution]
    assert [plan.number for plan in stepwise] == [2, 7, 12]
    assert [plan.giant for plan in stepwise] == [False, False, True]


def test_what_is_recorded_is_short_and_serves_whole_requests() -> None:
    """Recordings are held against specs of outputs that come by themselves: step by step, none does."""
    plans = [draw(CONFIG, number, room(CONFIG)) for number in range(1, 100)]
    recorded = [plan for plan in plans if plan.recorded]
    assert [plan.number for plan in recorded] == [*range(1, 100, 4)]
    assert max(plan.seconds for plan in recorded) <= 1.5
    assert max(plan.clients for plan in recorded) <= 6
    assert not [plan for plan in recorded if plan.engine.step_execution or plan.giant]


@pytest.mark.parametrize(("changes", "recorded"), [({"record": False}, 0), ({"defect": "late_split_map"}, 40)])
def test_how_much_is_recorded_can_be_chosen(changes: dict[str, object], recorded: int) -> None:
    """Nothing; or, where a defect is to be found, everything."""
    config = msgspec.structs.replace(CONFIG, **changes)
    assert sum(draw(config, number, room(config)).recorded for number in range(40)) == recorded


def test_behind_a_round_in_which_something_was_found_all_are_recorded() -> None:
    """Twenty of them: what shows itself once may show itself again; none of these goes step by step."""
    plans = [draw(CONFIG, number, room(CONFIG), suspicious=30) for number in range(31, 60)]
    recorded = {plan.number for plan in plans if plan.recorded}
    assert recorded == {*range(31, 51), 53, 57}
    assert not [plan for plan in plans if plan.recorded and plan.engine.step_execution]


@settings(max_examples=60)
@given(st.integers(1, 16), st.integers(0, 512 * GIB), st.integers(1, 200), st.integers(1, 50))
def test_whatever_memory_there_is_a_round_fits_into_it(workers: int, more: int, clients: int, number: int) -> None:
    """Slots of rising sizes, one of which the largest output fits into; and what is open beside them."""
    memory_bytes = least_bytes(workers) + more
    config = SoakConfig(seconds=1.0, workers=workers, memory_bytes=memory_bytes, clients=clients)
    there = room(config)
    assert 0 < there.largest_bytes <= LARGEST_BYTES
    assert 0 < there.open_bytes < memory_bytes // 6
    plan = draw(config, number, there)
    assert 1 <= plan.clients <= clients
    *_, (largest, count) = plan.engine.output_slots
    if len(plan.engine.output_slots) > 2:
        assert there.largest_bytes <= largest < 2 * there.largest_bytes
        assert count == 1
        assert sum(size * of for size, of in plan.engine.output_slots) <= memory_bytes
    assert plan.late_s < plan.engine.drain_timeout_s or plan.late_s > plan.engine.output_timeout_s


def test_a_plan_says_what_its_round_is_like() -> None:
    """In the words that a finding of it begins with."""
    config = msgspec.structs.replace(CONFIG, memory_bytes=least_bytes(2))
    told = [str(draw(config, number, Room(1 << 20, 1 << 20, 1 << 18))) for number in range(1, 13)]
    assert told[1].startswith("round 2: batches of up to ")
    assert [number for number, of in enumerate(told, 1) if "step by step" in of] == [2, 7, 12]
    assert [number for number, of in enumerate(told, 1) if "a giant" in of] == [3, 6, 12]
    assert all(of.endswith("sizes of slots") for of in told)
