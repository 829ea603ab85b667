"""A checkout with two mutants, and attacks by hand: expressions that see the product's only object."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from omni_ipc.workflows.mutants.attacks import Attack, Kind
from omni_ipc.workflows.mutants.campaign import Campaign, Progress
from omni_ipc.workflows.mutants.catalogue import catalogue
from omni_ipc.workflows.mutants.notes import Fate, Notes
from omni_ipc.workflows.mutants.tree import digest

SENT, LOST = "serving/thing.py:Thing.send:update-dropped", "serving/thing.py:Thing.lose:update-dropped"

_FILES = {
    "omni_ipc/__init__.py": "",
    "omni_ipc/serving/__init__.py": "",
    "omni_ipc/serving/thing.py": """# from omni_ipc.seam.api import Runtime
class Thing:
    sent = lost = 0

    def send(self):
        self.sent += 1

    def lose(self):
        self.lost += 1
""",
    "tests/__init__.py": "",
    "tests/attack.py": """import sys
from pathlib import Path
from threading import Event
from omni_ipc.serving.thing import Thing

thing = Thing()
thing.send()
thing.lose()
exec(sys.argv[1])
""",
    "spec/README.md": "",
    "docs/README.md": "",
    "scripts/setup.sh": "",
    "pyproject.toml": "",
    "README.md": "",
}


class Small:
    """The checkout, and a campaign in it that may be run again.

    Args:
        folder: for all of it.
        attack_s: generous where nothing hangs.
    """

    def __init__(self, folder: Path, *, attack_s: float = 60.0) -> None:
        self.root = folder / "checkout"
        self.state = folder / "state"
        self._attack_s = attack_s
        for name, text in _FILES.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    @property
    def notes(self) -> Notes:
        """What the folder holds now."""
        return Notes(self.state, digest(self.root))

    def run(
        self, *attacks: Attack, jobs: int = 1, progress: Progress = lambda *_: None, only: str | None = None
    ) -> dict[str, Fate]:
        """Run a campaign, or go on with it."""
        campaign = Campaign(self.notes, self.root, jobs=jobs, attack_s=self._attack_s)
        return {fate.mutant: fate for fate in campaign.run(catalogue(self.root, only), attacks, progress)}


def attack(name: str, what: str, kind: Kind = Kind.CONFORM) -> Attack:
    """An attack that is an expression, or several statements."""
    return Attack(name, kind, ("tests.attack", what))


def ends(fate: Fate) -> Sequence[tuple[str, str]]:
    """What was tried, and how it ended."""
    return [(each.attack, each.how.value) for each in fate.tried]
