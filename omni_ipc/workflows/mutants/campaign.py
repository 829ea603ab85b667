"""All attacks on all mutants, a mutant at a time, until one notices it; what is known is kept, and not done again."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from time import monotonic

import msgspec

from omni_ipc.conformance.children import Children
from omni_ipc.errors import UsageError
from omni_ipc.records import write_atomically
from omni_ipc.workflows.mutants.attacks import Attack, How, Kind
from omni_ipc.workflows.mutants.catalogue import Mutant
from omni_ipc.workflows.mutants.reach import Reach, measure
from omni_ipc.workflows.mutants.tree import Tree

ATTACK_S = 20.0  # for one attack on one mutant
_FAST_S = 8.0  # an attack that takes less on the product hangs on a mutant, if it does not end in time there


class Tried(msgspec.Struct, frozen=True):
    """One attack on one mutant."""

    attack: str
    kind: Kind
    how: How
    seconds: float


class Fate(msgspec.Struct, frozen=True):
    """What became of one mutant.

    Args:
        killer: the attack that noticed it; None if it survived.
    """

    mutant: str
    digest: str
    tried: tuple[Tried, ...]
    killer: Tried | None = None


class Kept(msgspec.Struct):
    """The file of a campaign."""

    checkout: str  # digest
    reach: dict[str, Reach] = {}
    fates: dict[str, Fate] = {}


Progress = Callable[[str, int, int], object]
"""Takes what was done last, how much is done, and how much there is."""


class Campaign:
    """A campaign in a folder, which may have begun before.

    Args:
        folder: where what is known is kept.
        checkout: the digest of the checkout that mutants are made of.

    Raises:
        UsageError: the folder holds a campaign against another state of the checkout, or something else.
    """

    def __init__(self, folder: Path, checkout: str) -> None:
        self._path = folder / "mutants.json"
        self._lock = threading.Lock()
        self._kept = _read(self._path) or Kept(checkout)
        if self._kept.checkout != checkout:
            raise UsageError(
                f"'{self._path}' is about another state of the checkout: it was edited since. "
                "Give another folder, or delete this one to begin anew."
            )

    @property
    def reach(self) -> dict[str, Reach]:
        """What each attack did on the product as it is."""
        return self._kept.reach

    def run(
        self,
        mutants: Sequence[Mutant],
        attacks: Sequence[Attack],
        *,
        checkout: Path,
        jobs: int,
        progress: Progress,
    ) -> list[Fate]:
        """Find out what becomes of each mutant.

        Args:
            jobs: how many attacks at a time.

        Raises:
            EnvironmentMissing: coverage is not installed.
        """
        with tempfile.TemporaryDirectory(prefix="omni-ipc-mutants-") as folder:
            trees = _Trees(checkout, Path(folder))
            with ThreadPoolExecutor(jobs, "attack", trees.make) as pool, Children() as children:
                new = [attack for attack in attacks if attack.name not in self.reach]
                looks = [pool.submit(self._look, attack, trees, children) for attack in new]
                _watch(looks, [attack.name for attack in new], progress)
                left = [mutant for mutant in mutants if mutant.name not in self._kept.fates]
                fights = [pool.submit(self._attack, mutant, attacks, trees, children) for mutant in left]
                _watch(fights, [mutant.name for mutant in left], progress)
        return [self._kept.fates[mutant.name] for mutant in mutants]

    def _look(self, attack: Attack, trees: _Trees, children: Children) -> None:
        reach = measure(attack, trees.mine, children, trees.scratch)
        with self._lock:
            self._kept.reach[attack.name] = reach
            self._save()

    def _attack(self, mutant: Mutant, attacks: Sequence[Attack], trees: _Trees, children: Children) -> None:
        tried: list[Tried] = []
        with trees.mine.mutated(mutant):
            for attack in self._likely(mutant, attacks):
                tried.append(self._try(attack, trees.mine, children))
                if _kills(tried[-1].how):
                    break
        killer = next((each for each in tried if _kills(each.how)), None)
        with self._lock:
            self._kept.fates[mutant.name] = Fate(mutant.name, mutant.digest, tuple(tried), killer)
            self._save()

    def _try(self, attack: Attack, tree: Tree, children: Children) -> Tried:
        began = monotonic()
        how = attack.run(tree, children, timeout_s=ATTACK_S)
        if how is How.HANGS and self.reach[attack.name].seconds > _FAST_S:
            how = How.UNDECIDED  # it is slow anyway
        return Tried(attack.name, attack.kind, how, round(monotonic() - began, 1))

    def _likely(self, mutant: Mutant, attacks: Sequence[Attack]) -> Iterator[Attack]:
        """Give the attacks that run the fault's lines, the narrowest and quickest of a kind first."""
        able = [a for a in attacks if self.reach[a.name].how is How.NOTHING and self.reach[a.name].reaches(mutant)]
        rank = {kind: place for place, kind in enumerate(Kind)}
        yield from sorted(able, key=lambda attack: (rank[attack.kind], self.reach[attack.name].seconds))

    def _save(self) -> None:
        write_atomically(self._path, msgspec.json.encode(self._kept))


class _Trees:
    """A tree for each thread."""

    def __init__(self, checkout: Path, folder: Path) -> None:
        self._checkout = checkout
        self._folder = folder
        self._mine = threading.local()

    def make(self) -> None:
        """Give the calling thread a tree and a folder of its own."""
        mine = self._folder / str(threading.get_ident())
        self._mine.scratch = mine / "scratch"
        self._mine.scratch.mkdir(parents=True)
        (mine / "tree").mkdir()
        self._mine.tree = Tree(self._checkout, mine / "tree")

    @property
    def mine(self) -> Tree:
        tree: Tree = self._mine.tree
        return tree

    @property
    def scratch(self) -> Path:
        scratch: Path = self._mine.scratch
        return scratch


def _watch(running: Sequence[Future[None]], names: Sequence[str], progress: Progress) -> None:
    """Wait for all of them; what one of them raises, or Ctrl-C, ends those that have not begun."""
    try:
        for done, (future, name) in enumerate(zip(running, names, strict=True), start=1):
            future.result()
            progress(name, done, len(running))
    finally:
        for future in running:
            future.cancel()


def _kills(how: How) -> bool:
    return how in (How.FAILED, How.HANGS)


def _read(path: Path) -> Kept | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Kept)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"Cannot read '{path}': {error.strerror}. Give another folder.") from None
    except msgspec.DecodeError as error:
        raise UsageError(f"'{path}' is no campaign of this version: {error}. Delete it to begin anew.") from None
