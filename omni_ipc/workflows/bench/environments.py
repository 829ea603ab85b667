"""Environments of peers: each has a Python and packages of its own, made once, and kept in the user's cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from omni_ipc.errors import EnvironmentMissing

_PATIENCE_S = 300.0
_REMEDY = "Run it by hand, with a network that reaches a package index."


class Recipe(NamedTuple):
    """What an environment is made of.

    Args:
        name: of its folder.
        python: versions that will do, the best one first: (3, 12).
        packages: with their versions.
    """

    name: str
    python: tuple[tuple[int, int], ...]
    packages: tuple[str, ...]


def prepare(recipe: Recipe) -> Path:
    """Give the folder of an environment's programs; make the environment if it is not there yet.

    Raises:
        EnvironmentMissing: there is no such Python here, or a package cannot be installed.
    """
    version, interpreter = _interpreter(recipe)
    folder = _cache() / f"{recipe.name}-python{version[0]}.{version[1]}"
    ready = folder / "made of"
    made_of = " ".join(recipe.packages)
    if not ready.is_file() or ready.read_text() != made_of:
        shutil.rmtree(folder, ignore_errors=True)
        _run([interpreter, "-m", "venv", str(folder)])
        _run([str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", *recipe.packages])
        ready.write_text(made_of)
    return folder / "bin"


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "omni_ipc" / "peers"


def _interpreter(recipe: Recipe) -> tuple[tuple[int, int], str]:
    for version in recipe.python:
        for candidate in _candidates(version):
            if _version(candidate) == version:
                return version, candidate
    wanted = " or ".join(f"{major}.{minor}" for major, minor in recipe.python)
    raise EnvironmentMissing(
        f"{recipe.name} needs Python {wanted}, and there is none here.", f"Install python{wanted.split()[0]}."
    )


def _candidates(version: tuple[int, int]) -> Iterator[str]:
    name = f"python{version[0]}.{version[1]}"
    yield sys.executable
    for folder in os.get_exec_path():
        if (path := Path(folder, name)).is_file():
            yield str(path)
    kept = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    yield from map(str, sorted(kept.glob(f"{version[0]}.{version[1]}.*/bin/{name}"), reverse=True))


def _version(interpreter: str) -> tuple[int, int] | None:
    """Ask an interpreter for its version; some that are there do not run."""
    code = "import ensurepip, sys; print(*sys.version_info[:2])"
    ended = subprocess.run([interpreter, "-c", code], capture_output=True, text=True, timeout=_PATIENCE_S, check=False)
    numbers = ended.stdout.split()
    return (int(numbers[0]), int(numbers[1])) if ended.returncode == 0 else None


def _run(command: Sequence[str]) -> None:
    try:
        subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_S, check=True)
    except subprocess.CalledProcessError as error:
        said = [line for line in error.stderr.splitlines() if line.strip()] or ["it said nothing"]
        raise EnvironmentMissing(f"'{' '.join(command)}' failed: {said[-1]}.", _REMEDY) from None
    except subprocess.TimeoutExpired:
        raise EnvironmentMissing(f"'{' '.join(command)}' did not end in {_PATIENCE_S:.0f} s.", _REMEDY) from None
