"""Attacks on mutants, a mutant at a time, until one notices it; what is known is kept, and not done again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path
from time import monotonic

from omni_ipc.conformance.processes.children import Children
from omni_ipc.conformance.processes.scratch import scratch_folder
from omni_ipc.errors import Inconclusive, UsageError
from omni_ipc.workflows.mutants.attacks import Attack, How
from omni_ipc.workflows.mutants.catalogue import Mutant
from omni_ipc.workflows.mutants.likely import untried
from omni_ipc.workflows.mutants.notes import Fate, Notes, Tried
from omni_ipc.workflows.mutants.reach import measure
from omni_ipc.workflows.mutants.tree import Tree, digest

ATTACK_S = 20.0  # for one attack on one mutant

Progress = Callable[[str, int, int], object]
"""Takes what was done last and what came of it, or what begins; how much is done, and how much there is."""


class Campaign:
    """Runs attacks on mutants, and notes what comes of it.

    Args:
        checkout: that mutants are made of.
        jobs: how many attacks at a time.
        attack_s: seconds for one attack on one mutant, at most.
    """

    def __init__(self, notes: Notes, checkout: Path, *, jobs: int, attack_s: float = ATTACK_S) -> None:
        self._notes = notes
        self._checkout = checkout
        self._jobs = jobs
        self._attack_s = attack_s
        self._is_over = threading.Event()  # from then on attacks are killed, and how they end says nothing

    def run(self, mutants: Sequence[Mutant], attacks: Sequence[Attack], progress: Progress) -> list[Fate]:
        """Find out what becomes of each mutant. Interrupted, it keeps what it knows.

        Raises:
            EnvironmentMissing: coverage is not installed.
        """
        with scratch_folder() as folder:
            trees = _Trees(self._checkout, self._notes.checkout, folder)
            with ThreadPoolExecutor(self._jobs, "attack", trees.make) as pool, Children() as children:
                try:
                    new = [attack for attack in attacks if attack.name not in self._notes.reach]
                    looks = [pool.submit(self._look, attack, trees, children) for attack in new]
                    _watch(
                        looks, f"what each attack does on the product as it is; then {len(mutants)} mutants", progress
                    )
                    left = [mutant for mutant in mutants if self._next(mutant, attacks)]
                    fights = [pool.submit(self._attack, mutant, attacks, trees, children) for mutant in left]
                    _watch(fights, "attacks on each mutant, until one notices it", progress)
                finally:
                    self._is_over.set()
        return [self._notes.fate(mutant) for mutant in mutants]

    def _look(self, attack: Attack, trees: _Trees, children: Children) -> str:
        reach = measure(attack, trees.mine, children)
        self._require_time()
        self._notes.add_reach(reach)
        return f"{attack.name} on the product as it is: {reach.how}, {reach.seconds:.1f} s"

    def _attack(self, mutant: Mutant, attacks: Sequence[Attack], trees: _Trees, children: Children) -> str:
        while attack := self._next(mutant, attacks):
            tried = self._try(attack, mutant, trees.mine, children)
            self._require_time()
            self._notes.add_tried(mutant, tried)
        return f"{mutant.name}: {self._notes.fate(mutant).in_words}"

    def _next(self, mutant: Mutant, attacks: Sequence[Attack]) -> Attack | None:
        if self._notes.fate(mutant).killer:
            return None
        return next(iter(untried(mutant, attacks, self._notes.reach, self._notes.fates())), None)

    def _try(self, attack: Attack, mutant: Mutant, tree: Tree, children: Children) -> Tried:
        began = monotonic()
        with tree.mutated(mutant):
            how = attack.run(tree, children, timeout_s=self._attack_s)
        seconds = round(monotonic() - began, 1)
        if (how is How.HANGS or (how is How.FAILED and attack.is_of_tests)) and not self._is_over.is_set():
            how = self._confirmed(how, attack, tree, children)
        return Tried(attack.name, attack.kind, how, seconds)

    def _confirmed(self, how: How, attack: Attack, tree: Tree, children: Children) -> How:
        """Believe it only if the product passes now, and, where the mutant hangs, does so in half of its time.

        A busy machine fails tests that know time, and makes slow ones hang.
        """
        limit_s = self._attack_s / 2 if how is How.HANGS else self._attack_s
        passes = attack.run(tree, children, timeout_s=limit_s) is How.NOTHING
        return how if passes else How.UNDECIDED

    def _require_time(self) -> None:
        if self._is_over.is_set():
            raise Inconclusive("The campaign was ended before this attack was. Run it again.")


class _Trees:
    """A tree for each thread.

    Args:
        known: the digest of the checkout that the campaign is about.
    """

    def __init__(self, checkout: Path, known: str, folder: Path) -> None:
        self._checkout = checkout
        self._known = known
        self._folder = folder
        self._lock = threading.Lock()
        self._made = 0  # guarded by _lock
        self._mine = threading.local()

    def make(self) -> None:
        """Give the calling thread a tree of its own."""
        with self._lock:
            self._made += 1
            folder = self._folder / str(self._made)  # short: tests make sockets below it, whose names are limited
        folder.mkdir()
        self._mine.tree = Tree(self._checkout, folder)
        self._mine.digest = digest(self._mine.tree.folder)

    @property
    def mine(self) -> Tree:
        if self._mine.digest != self._known:  # not as it is made: what ends that is not told
            raise UsageError("The checkout was edited while it was copied. Run the command again.")
        tree: Tree = self._mine.tree
        return tree


def _watch(running: Sequence[Future[str]], begins: str, progress: Progress) -> None:
    """Wait for all of them; what one of them raises, or Ctrl-C, ends those that have not begun."""
    try:
        if running:
            progress(begins, 0, len(running))
        for done, future in enumerate(as_completed(running), start=1):
            progress(future.result(), done, len(running))
    finally:
        for future in running:
            future.cancel()
