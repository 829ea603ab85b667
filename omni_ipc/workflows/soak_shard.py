"""One shard of a soak: ``python -m omni_ipc.workflows.soak_shard``, which `soak_sharding` has run on some machine.

The order comes on standard input; the account so far goes to standard output from time to time, and at the end all of
it; each time with the traces of what was found, as a machine that is lost tells nothing more.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from omni_ipc.accounts import Account, Finding
from omni_ipc.errors import OmniError, UsageError
from omni_ipc.machines.child import Mouth, end_with_starter, read_order, stoppable
from omni_ipc.stress.settings import SoakConfig

_SAY_EVERY_S = 5.0

Soak = Callable[..., Account]


class Order(msgspec.Struct, frozen=True):
    """What a shard is told.

    Args:
        elsewhere: it runs on another machine: what it keeps lies in a temporary folder there.
    """

    config: SoakConfig
    elsewhere: bool


class News(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a shard says.

    Args:
        account: so far.
        is_whole: the shard has ended, and this is all.
        traces: name -> bytes, of the traces that the account's findings name, if they lie on another machine.
        refused: the soak cannot be done as it is asked for: the sentence of a UsageError.
        failed: it has ended in another error.
    """

    account: Account | None = None
    is_whole: bool = False
    traces: dict[str, bytes] = {}
    refused: str = ""
    failed: str = ""


def _load() -> Soak:
    """Import what soaks, which takes a while: whoever starts it may end meanwhile, or ask it to end."""
    from omni_ipc.workflows.soaking import soak

    return soak


def main(load: Callable[[], Soak] = _load) -> None:
    """Soak, and tell what came of it; end quietly when whoever started it, by SIGTERM, asks for that once more.

    Args:
        load: gives what soaks.
    """
    end_with_starter()
    with stoppable():
        _soak(load(), Mouth())


def _soak(soak: Soak, mouth: Mouth) -> None:
    order = msgspec.json.decode(read_order(), type=Order)
    try:
        mouth.say(_work(order, soak, mouth))
    except UsageError as error:
        mouth.say(News(refused=str(error)))
    except OmniError as error:
        mouth.say(News(failed=str(error)))


def _work(order: Order, soak: Soak, mouth: Mouth) -> News:
    """Soak; elsewhere in a folder of its own, which stays only if something was found, however the soak ends."""
    folder = tempfile.mkdtemp(prefix="omni-ipc-soak.") if order.elsewhere else order.config.folder
    config = msgspec.structs.replace(order.config, folder=folder)
    teller = _Teller(mouth, elsewhere=order.elsewhere)
    try:
        account = soak(config, on_sample=teller, claim=False)
        return _news(account, elsewhere=order.elsewhere, is_whole=True)
    finally:
        if order.elsewhere and not teller.has_found:
            shutil.rmtree(folder, ignore_errors=True)


class _Teller:
    """Tells the account so far, but not each time that it is given one.

    Attributes:
        has_found: whether the last one had findings.
    """

    def __init__(self, mouth: Mouth, *, elsewhere: bool) -> None:
        self.has_found = False
        self._mouth = mouth
        self._elsewhere = elsewhere
        self._told_s = 0.0

    def __call__(self, account: Account) -> None:
        self.has_found = bool(account.findings)
        if time.monotonic() - self._told_s >= _SAY_EVERY_S:
            self._mouth.say(_news(account, elsewhere=self._elsewhere))
            self._told_s = time.monotonic()


def _news(account: Account, *, elsewhere: bool, is_whole: bool = False) -> News:
    """Make news of an account; of one elsewhere, where nobody else finds traces and recordings, for those at home."""
    if not elsewhere:
        return News(account=account, is_whole=is_whole)
    findings = tuple(_at(account.machine.host, finding) for finding in account.findings)
    told = msgspec.structs.replace(account, findings=findings)
    return News(account=told, is_whole=is_whole, traces=_traces(account.findings))


def _traces(findings: tuple[Finding, ...]) -> dict[str, bytes]:
    paths = [Path(finding.trace) for finding in findings if finding.trace is not None]
    return {path.name: path.read_bytes() for path in paths if path.is_file()}


def _at(host: str, finding: Finding) -> Finding:
    """Say on which machine recordings lie: they may be large, and stay there."""
    recordings = finding.recordings and f"{host}:{finding.recordings}"
    return msgspec.structs.replace(finding, recordings=recordings)


if __name__ == "__main__":
    main()
