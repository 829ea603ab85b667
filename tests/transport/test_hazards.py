"""The hazards seen in the field: each has its test, here or where its subject is tested."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytest

from omni_ipc.errors import PeerClosed, PeerDied, Timeout
from tests.support.lanes import Inbound, inbound, outbound
from tests.support.roles import NOISE
from tests.support.waiting import within
from tests.support.zygote import Zygote

HAZARDS = {
    "slow joiner": "test_processes.test_what_was_sent_before_the_reader_came_is_not_lost",
    "timeout between slot and payload": "test_hazards.test_a_timeout_amid_a_large_message_delays_no_later_one",
    "sender mutates memory after send": "test_lane.test_what_the_sender_changes_after_the_send_does_not_arrive",
    "second writer": "test_lane.test_a_second_writer_is_refused_when_it_attaches",
    "second writer thread": "test_lane.test_a_second_thread_is_refused_in_the_middle_of_a_send",
    "second reader": "test_lane.test_a_second_reader_is_refused_when_it_attaches",
    "second reader thread": "test_liveness.test_a_second_thread_that_receives_is_refused",
    "reader dead while the writer waits": "test_liveness.test_a_writer_that_waits_is_told_that_the_reader_died",
    "writer killed mid-record": "test_processes.test_a_writer_killed_amid_a_record_has_not_published_it",
    "writer killed amid fragments": "test_hazards.test_a_writer_killed_amid_fragments_has_sent_nothing_of_that_message",
    "lost wake-up of a reader": "test_port.test_a_message_wakes_a_reader_that_sleeps",
    "lost wake-up of an event loop": "test_asyncio.test_no_wake_up_of_a_loop_is_lost",
    "lost wake-up of a writer": "test_lane.test_a_writer_that_waits_for_room_goes_on_when_there_is_some",
    "decode error eats the message": "test_channel.test_one_wrong_message_costs_one_message",
    "attacker's bytes in the ring": "test_hostile_lane.test_mutated_bytes_give_format_errors_or_valid_messages",
    "full memory after creation": "test_memory.test_memory_that_cannot_be_allocated_in_full_is_no_segment",
    "SIGKILL of the whole process tree": "test_kills.test_killed_trees_leave_nothing",
    "fork with inherited descriptors, writer": "test_liveness.test_a_forked_child_does_not_hide_the_death_of_a_writer",
    "fork with inherited descriptors, reader": (
        "test_liveness.test_a_forked_child_does_not_hide_the_death_of_a_reader_nor_its_acknowledgement"
    ),
    "view used after release": "test_lease.test_a_lease_is_released_once_and_cannot_be_viewed_afterwards",
    "view alive at close": "test_lease.test_a_view_outlives_its_lane_its_slab_and_their_segments",
    "huge message while small ones follow": "test_hazards.test_a_huge_message_arrives_whole_before_small_ones",
    "zero-length message": "test_lane.test_messages_arrive_in_order_once_and_unaltered",
    "zero-element tensor": "test_lane.test_tensors_arrive_with_their_message_in_one_take",
    "10,000 messages with a constant descriptor count": "test_lane.test_ten_thousand_messages_need_no_descriptor",
    "reader idle for seconds": "test_asyncio.test_a_reader_idle_for_seconds_uses_less_than_one_percent_of_a_core",
    "start order, client first": "test_rendezvous.test_a_client_that_starts_first_waits_for_its_server",
    "start order, server first": "test_rendezvous.test_a_client_finds_a_server_that_started_first",
    "two processes starting at once": "test_rendezvous.test_of_servers_that_start_at_once_exactly_one_serves",
}
"""Hazard → the test that covers it, in tests/transport."""


@functools.cache
def _tests_of(module: str) -> set[str]:
    tree = ast.parse((Path(__file__).parent / f"{module}.py").read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("hazard", HAZARDS)
def test_every_hazard_has_its_test(hazard: str) -> None:
    """The test of that name is there."""
    module, _, name = HAZARDS[hazard].partition(".")
    assert name in _tests_of(module)


def take_two_fragments(link: Inbound) -> None:
    """Receive in vain until two fragments were taken, and some more."""
    taken = 0
    while taken < 2:
        taken = link.lanes["out"].counts().taken
        with pytest.raises(Timeout):
            link.port.receive(0.05)


def test_a_timeout_amid_a_large_message_delays_no_later_one(children: Zygote) -> None:
    """Its writer stops between two fragments: receives time out, and then both messages arrive, each in its place."""
    with inbound("out") as link:
        with children.fork("write_with_a_stop_amid_fragments", *link.fds["out"]) as child:
            take_two_fragments(link)
            child.go_on()
            assert [bytes(link.port.receive(30)[1].body) for _ in range(2)] == [NOISE, b"small"]
            with pytest.raises(PeerClosed):
                link.port.receive(30)


def test_a_writer_killed_amid_fragments_has_sent_nothing_of_that_message(children: Zygote) -> None:
    """The half that came is dropped; the death is told, with the last record that was published."""
    with inbound("out") as link:
        with children.fork("write_with_a_stop_amid_fragments", *link.fds["out"]) as child:
            take_two_fragments(link)
            child.kill()
            with within(1), pytest.raises(PeerDied) as told:
                link.port.receive(30)
            assert told.value.last_sequence == link.lanes["out"].counts().taken - 1 >= 1


def test_a_huge_message_arrives_whole_before_small_ones(children: Zygote) -> None:
    """Through a ring a hundred times smaller, to a process that compares every byte."""
    with outbound(4096) as link, children.fork("expect_huge_and_small", *link.fds) as child:
        link.writer.send(NOISE * 12, timeout=30)
        for number in range(20):
            link.writer.send(b"%d" % number, timeout=30)
        link.writer.close(30)
        written, taken = link.writer.join(30)
        assert written == taken
        assert child.ended(within_ms=10_000)
