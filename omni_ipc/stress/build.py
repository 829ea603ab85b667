"""Which omni_ipc runs: its version, and the commit that it is of, or what its files come to."""

from __future__ import annotations

import hashlib
import importlib.metadata
import subprocess
from pathlib import Path

import msgspec

import omni_ipc

_LONGEST_S = 10.0
_DIGITS = 12


def version(package: Path = Path(omni_ipc.__file__).parent) -> str:
    """Tell it: "0.1.0, commit 1f0c…", with "and changes" of a checkout that has some; "0.1.0, files 9a3b…" without git.

    Args:
        package: the folder of the package.
    """
    commit = _checked_out(package) or _installed()
    return f"{omni_ipc.__version__}, {f'commit {commit}' if commit else f'files {_digest(package)}'}"


def _checked_out(package: Path) -> str:
    """Give the commit of the checkout that the package lies in; nothing if git does not know the package."""
    if not _git(package, "ls-files", "--", "."):
        return ""
    commit = _git(package, "rev-parse", f"--short={_DIGITS}", "HEAD")
    return f"{commit} and changes" if commit and _git(package, "status", "--porcelain", "--", ".") else commit


def _git(folder: Path, *words: str) -> str:
    try:
        return subprocess.run(
            ["git", "-C", folder, *words], capture_output=True, text=True, check=True, timeout=_LONGEST_S
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def _installed() -> str:
    """Give the commit that pip installed from, if that was a repository."""
    try:
        told = importlib.metadata.distribution("omni_ipc").read_text("direct_url.json")
    except importlib.metadata.PackageNotFoundError:
        return ""
    commit: str = msgspec.json.decode(told or "{}").get("vcs_info", {}).get("commit_id", "")
    return commit[:_DIGITS]


def _digest(package: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:_DIGITS]
