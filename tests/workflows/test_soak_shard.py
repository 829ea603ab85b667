"""What a shard says from elsewhere: all that those at home need, as early as may be, and nothing it leaves there."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import cast

import msgspec
import pytest

from omni_ipc.accounts import Account, Finding
from omni_ipc.errors import EnvironmentMissing
from omni_ipc.machines.child import Mouth
from omni_ipc.stress.settings import SoakConfig
from omni_ipc.workflows import soak_shard
from omni_ipc.workflows.soak_shard import News, Order, Soak
from tests.support.accounts import PLAIN, account


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary folder of another machine, whose shards say all that they have."""
    order = Order(SoakConfig(seconds=60, folder="soak"), elsewhere=True)
    monkeypatch.setattr(soak_shard, "read_order", lambda: msgspec.json.encode(order))
    monkeypatch.setattr(soak_shard, "_SAY_EVERY_S", 0.0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def said(soak: Soak) -> list[News]:
    """Run a shard, and give what it says; the last of it is what it comes to."""
    heard: list[News] = []

    class Ear:
        say = staticmethod(heard.append)

    soak_shard._soak(soak, cast("Mouth", Ear()))
    return heard


def finding(folder: str) -> Account:
    """Find something, and cut it down."""
    trace = Path(folder) / "findings" / "lost.trace.json"
    trace.parent.mkdir()
    trace.write_text("a trace")
    recordings = str(trace.with_name("round-3"))
    return account(findings=(Finding(at_s=1.0, kind="bytes", message="Odd.", trace=str(trace), recordings=recordings),))


def test_what_is_found_elsewhere_is_told_at_once_with_its_trace(there: Path) -> None:
    """And with the machine that its recordings lie on: whoever is lost a moment later tells nothing more."""

    def soak(config: SoakConfig, *, on_sample: Callable[[Account], object], claim: bool) -> Account:
        on_sample(found := finding(config.folder))
        return found

    early, whole = said(soak)
    assert early.account == whole.account is not None
    assert early.traces == whole.traces == {"lost.trace.json": b"a trace"}
    (folder,) = there.iterdir()
    assert whole.account is not None
    assert whole.account.findings[0].recordings == f"alpha:{folder}/findings/round-3"


@pytest.mark.parametrize("is_refused", [False, True])
@pytest.mark.parametrize("has_found", [False, True])
def test_a_folder_elsewhere_stays_only_for_what_was_found(there: Path, is_refused: bool, has_found: bool) -> None:
    """However the soak ends: also one that is refused there has made a folder."""

    def soak(config: SoakConfig, *, on_sample: Callable[[Account], object], claim: bool) -> Account:
        on_sample(told := finding(config.folder) if has_found else PLAIN)
        if is_refused:
            raise EnvironmentMissing("There is no CUDA here.", "Take --device cpu.")
        return told

    assert bool(said(soak)[-1].refused) is is_refused
    assert bool([*there.iterdir()]) is has_found
