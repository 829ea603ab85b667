"""What a task did that has ended races with what others do later, unless they have waited for its end."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from omni_ipc.records import Verdict
from omni_ipc.testbed import explore


class Post:
    """Letters that come before anybody asks are to be kept; this one looks for them under the lock only."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.asked = False
        self.kept: list[str] = []

    def bring(self) -> None:
        with self.lock:
            asked = self.asked
        if not asked:
            self.kept.append("a letter")

    def bring_under_lock(self) -> None:
        with self.lock:
            if not self.asked:
                self.kept.append("a letter")

    def ask(self) -> int:
        with self.lock:
            self.asked = True
            return len(self.kept)


def looked(bring: Callable[[Post], None]) -> tuple[int, int]:
    """Count what is seen by who asks, and what lies there in the end."""
    post = Post()
    postman = threading.Thread(target=bring, args=(post,))
    postman.start()
    seen = post.ask()
    postman.join()
    return seen, len(post.kept)


@pytest.mark.parametrize("strategy", ["dpor", "brute-force", "portfolio"])
def test_what_an_ended_task_did_is_turned_round(strategy: str) -> None:
    """The postman has left in each order that was run at first: that he could have been late is seen all the same."""
    report = explore(lambda: looked(Post.bring), strategy=strategy)
    assert report.verdict is Verdict.HOLDS
    assert set(report.outcomes) == {"(0, 0)", "(0, 1)", "(1, 1)"}


def test_what_is_ordered_by_a_lock_or_by_a_join_is_no_point() -> None:
    """Under the lock two orders are left, and the look after the join makes no more of them, and no step."""
    report = explore(lambda: looked(Post.bring_under_lock), strategy="dpor")
    assert set(report.outcomes) == {"(0, 0)", "(1, 1)"}
    assert (report.traces, report.begun_anew) == (2, 0)


def read_behind_one_of_two_joins() -> int:
    """Look into a letter whose writer was waited for, while somebody else is still at work."""
    post, other = Post(), Post()
    writer = threading.Thread(target=post.bring)
    clerk = threading.Thread(target=other.bring_under_lock)
    writer.start()
    clerk.start()
    writer.join()
    seen = len(post.kept)
    clerk.join()
    return seen


def test_who_joined_one_thread_of_several_is_ordered_behind_all_that_it_did() -> None:
    """The letter is no point, though another thread lives: there is one order, and nothing to begin anew for."""
    report = explore(read_behind_one_of_two_joins, strategy="dpor")
    assert report.outcomes == ("1",)
    assert (report.verdict, report.traces, report.begun_anew) == (Verdict.HOLDS, 1, 0)
