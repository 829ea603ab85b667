"""What a device is checked for in a few minutes: its tests, the collection of traces, a short soak; each in a process.

Each step has its share of the time, and what those before it have left; one that fails stops none of the others. What
each says is kept in a file of its own.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from omni_ipc.errors import EnvironmentMissing, UsageError
from omni_ipc.records import Verdict
from omni_ipc.report.quantities import size
from omni_ipc.report.text import counted

_GRACE_S = 15.0  # between the request to end, and the end
_SHARES = {"device": 6, "tests": 12, "replay": 9, "soak": 5}  # of the time, beside the soak itself
_WARNINGS = (  # of a node's own packages, as torch's of an old pynvml, are no errors; pytest's own of our threads are
    *("-W", "default::FutureWarning", "-W", "default::DeprecationWarning", "-W", "default::UserWarning"),
    *("-W", "error::pytest.PytestWarning"),
)
_OUR_CODES = {0: Verdict.ENDED_WELL, 1: Verdict.VIOLATED}


class Checked(msgspec.Struct, frozen=True):
    """One step.

    Args:
        told: what came of it, in a few words.
        log: the file of what it said.
    """

    step: str
    verdict: Verdict
    told: str
    seconds: float
    log: str


class Steps(NamedTuple):
    """What the steps are done with.

    Args:
        out: the folder for what they leave.
        tests: files or folders of tests; None: every folder under ``tests/`` that has some of the device's; of the
            host, to rehearse it all, what needs torch of those that have some of CUDA's.
        traces: folders of them.
        repeat: runs of each trace.
        soak_s: how long to soak.
        limit_s: that they may take together, beside the soak; each step has its share, and what was left before it.
    """

    device: str
    out: Path
    tests: Sequence[Path] | None
    traces: Sequence[Path]
    repeat: int
    soak_s: float
    limit_s: float


def check_device(steps: Steps) -> Iterator[Checked]:
    """Do one step after the other; what was done of an interrupted one is in its file.

    Raises:
        UsageError: there are no tests, or no traces, or no time.
        EnvironmentMissing: this Python lacks what the steps need.
    """
    if not 0 < steps.limit_s < float("inf"):
        raise UsageError(f"The steps cannot be done in {steps.limit_s / 60:g} minutes. Give some, as in: --limit 6")
    for name in ("pytest", "torch"):
        if importlib.util.find_spec(name) is None:
            raise EnvironmentMissing(
                f"This Python has no {name}, which a device is checked with.",
                "Let stress/gpu_check.sh set up what is missing, or install it.",
            )
    kind = steps.device.partition(":")[0]
    marker, folders_of = ("torch", "cuda") if kind == "cpu" else (kind, kind)
    tests = steps.tests if steps.tests is not None else _folders_with(folders_of, Path("tests"))
    if missing := [str(path) for path in (*tests, *steps.traces) if not path.exists()]:
        raise UsageError(f"There is no '{missing[0]}'. Check from the folder of the sources, or name it.")
    device, out = steps.device, steps.out
    report = out / "tests.xml"
    command = (sys.executable, "-m", "omni_ipc", "stress")
    pytest = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *_WARNINGS)
    marked = ("-m", f"{marker} and not soak", f"--junitxml={report}")
    replayed, account = out / "replay.json", out / "soak" / "account.json"
    replay = ("replay", *map(str, steps.traces), "--device", device, "--repeat", str(steps.repeat), "--json")
    soak = ("soak", "--minutes", str(steps.soak_s / 60), "--workers", "1", "--device", device, "--out")
    with tempfile.TemporaryDirectory(prefix="omni-ipc-check.") as scratch:
        do = functools.partial(_do, out, {**os.environ, "TMPDIR": scratch})
        until = _shares(time.monotonic(), steps.limit_s)
        yield do("device", until["device"], (sys.executable, "-m", "omni_ipc.stress.devices", device))
        told = functools.partial(_of_tests, report)
        yield do("tests", until["tests"], (*pytest, *marked, *map(str, tests)), told)
        yield do("replay", until["replay"], (*command, *replay, str(replayed)), functools.partial(_of_replay, replayed))
        soaked = until["soak"] + steps.soak_s
        yield do("soak", soaked, (*command, *soak, str(account.parent)), functools.partial(_of_soak, account))


def _shares(now_s: float, limit_s: float) -> dict[str, float]:
    """Say by when each step has to end, on the monotonic clock: a step that ends early leaves its time to the next."""
    whole = sum(_SHARES.values())
    ends = itertools.accumulate(limit_s * share / whole for share in _SHARES.values())
    return {step: now_s + end for step, end in zip(_SHARES, ends, strict=True)}


def _folders_with(marker: str, tests: Path) -> list[Path]:
    """Find the folders of tests that are marked: others may need packages that a node lacks."""
    found = {path.parent for path in sorted(tests.rglob("*.py")) if f"mark.{marker}" in path.read_text("utf-8")}
    return sorted(found) or [tests]


def _do(
    out: Path,
    env: Mapping[str, str],
    step: str,
    until_s: float,
    command: Sequence[str],
    tell: Callable[[], tuple[int, str]] | None = None,
) -> Checked:
    """Run a command until then, at most; ``tell`` says from what it left how much was tried, and what came of that."""
    log, began = out / f"{step}.log", time.monotonic()
    limit_s = max(0.0, until_s - began)
    code = _run(command, log, limit_s, env)
    tried, told = 1, _last_line(log)
    if tell is not None and code is not None:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, ET.ParseError):  # then the log has to do
            tried, told = tell()
    verdict = _OUR_CODES.get(-1 if code is None else code, Verdict.INCONCLUSIVE)
    if code is None:
        told = f"it did not end within {limit_s:.0f} s, and was ended: see --limit; the last line: {told}"
    elif not tried and verdict is Verdict.ENDED_WELL:
        verdict = Verdict.INCONCLUSIVE  # nothing was shown
    return Checked(step, verdict, told, time.monotonic() - began, str(log))


def _run(command: Sequence[str], log: Path, limit_s: float, env: Mapping[str, str]) -> int | None:
    """Run it in a group of its own, none of which outlives it; None if it took too long."""
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, process_group=0, env=env
        )
    try:
        return process.wait(limit_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _last_line(log: Path) -> str:
    lines = [line.strip() for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


def _of_tests(report: Path) -> tuple[int, str]:
    suite = next(ET.parse(report).getroot().iter("testsuite"))
    tests, failures, errors, skipped = (int(suite.get(name, 0)) for name in ("tests", "failures", "errors", "skipped"))
    ran = tests - skipped
    return ran, f"{ran - failures - errors} passed, {failures + errors} failed, {skipped} skipped"


def _of_replay(replayed: Path) -> tuple[int, str]:
    rows = msgspec.json.decode(replayed.read_bytes())["result"]["rows"]
    good = sum(row["verdict"] == Verdict.ENDED_WELL for row in rows)
    run = sum(row["verdict"] is not None for row in rows)
    return run, f"{good} of {counted(run, 'trace')} did as claimed"


def _of_soak(account: Path) -> tuple[int, str]:
    told = msgspec.json.decode(account.read_bytes())
    counts = f"{counted(told['requests'], 'request')}, {size(told['checked_bytes'])} checked"
    found = counted(len(told["findings"]), "finding")
    return told["requests"], f"{counts}, {counted(len(told['faults']), 'fault')}, {found}"
