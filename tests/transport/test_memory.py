"""Segments: allocated in full, sealed, shared by descriptor, and gone with their last holder."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from omni_ipc.errors import EnvironmentMissing, FormatError, UsageError
from omni_ipc.transport.memory import Segment


def test_a_segment_is_zero_filled_and_has_its_size_for_good() -> None:
    """Neither side can shrink it under the other, nor make it grow."""
    with Segment.create(10_000, name="sized") as segment:
        assert segment.view.nbytes == 10_000
        assert not any(segment.view)
        for size in (0, 20_000):
            with pytest.raises(PermissionError):
                os.ftruncate(segment.fd, size)


def test_a_segment_never_gets_the_number_of_a_standard_stream() -> None:
    """Whatever prints to a closed one, a library too, would print into the memory."""
    program = (
        "import os\n"
        "from omni_ipc.transport.memory import Segment\n"
        "with Segment.create(64, name='a') as a, Segment.create(64, name='b') as b:\n"
        "    assert min(a.fd, b.fd) > 2, (a.fd, b.fd)\n"
        "    os._exit(7)\n"
    )
    done = subprocess.run(["sh", "-c", '"$0" -c "$1" <&- >&- 2>&-', sys.executable, program], check=False, timeout=60)
    assert done.returncode == 7


def test_an_interrupted_creation_leaves_no_descriptor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C may come while the kernel looks for the memory."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    before = os.listdir("/proc/self/fd")
    monkeypatch.setattr(os, "posix_fallocate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Segment.create(4096, name="interrupted")
    assert os.listdir("/proc/self/fd") == before


def test_another_process_sees_the_same_bytes() -> None:
    """A descriptor passed at the start of a child is all that it needs."""
    code = (
        "import sys; from omni_ipc.transport.memory import Segment\n"
        "with Segment.attach(int(sys.argv[1]), name='shared') as segment:\n"
        "    segment.view[:] = segment.view[::-1].tobytes()"
    )
    with Segment.create(4, name="shared") as segment:
        segment.view[:] = b"abcd"
        subprocess.run([sys.executable, "-c", code, str(segment.fd)], pass_fds=[segment.fd], check=True)
        assert bytes(segment.view) == b"dcba"


def test_a_child_does_not_inherit_what_is_not_passed() -> None:
    """The descriptor is closed on exec, so no unrelated child keeps the memory."""
    with Segment.create(4, name="private") as segment:
        assert not os.get_inheritable(segment.fd)


def test_a_descriptor_that_is_not_open_is_refused() -> None:
    """The sentence says how to pass it."""
    segment = Segment.create(4, name="gone")
    fd = segment.fd
    segment.close()
    with pytest.raises(UsageError, match=rf"Descriptor {fd}, for segment 'gone', is not open here.*pass_fds=\[{fd}\]"):
        Segment.attach(fd, name="gone")


@pytest.fixture(params=["file", "pipe", "unsealed memory", "empty memory"])
def foreign_fd(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[int]:
    """A descriptor of something that is no segment."""
    reader, writer = os.pipe()
    memory = os.memfd_create("foreign", os.MFD_ALLOW_SEALING)
    if request.param == "unsealed memory":
        os.ftruncate(memory, 4096)
    (tmp_path / "file").write_bytes(b"x" * 4096)
    file = os.open(tmp_path / "file", os.O_RDWR)
    yield {"file": file, "pipe": reader}.get(request.param, memory)
    for fd in (reader, writer, memory, file):
        os.close(fd)


def test_a_foreign_descriptor_is_refused_and_stays_open(foreign_fd: int) -> None:
    """What could be cut short under a reader is never mapped."""
    with pytest.raises(FormatError, match=f"Descriptor {foreign_fd}, for segment 'foreign', seals"):
        Segment.attach(foreign_fd, name="foreign")
    os.fstat(foreign_fd)


def test_a_size_below_one_byte_is_refused() -> None:
    """There is no empty segment."""
    with pytest.raises(UsageError, match="cannot have 0 bytes"):
        Segment.create(0, name="empty")


@pytest.fixture
def _little_space() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("_little_space")
def test_a_full_machine_is_an_error_when_the_segment_is_made() -> None:
    """Not a SIGBUS when it is first written; and the half-made segment leaves nothing."""
    with pytest.raises(EnvironmentMissing, match=r"Segment 'big' of 1,048,576 bytes cannot be had: File too large"):
        Segment.create(1 << 20, name="big")


def test_memory_that_cannot_be_allocated_in_full_is_no_segment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A size alone is not enough: every page is there before the segment is used."""

    def no_space(fd: int, offset: int, nbytes: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", no_space)
    with pytest.raises(EnvironmentMissing, match=r"cannot be had: No space left on device.*free -m"):
        Segment.create(4096, name="big")


def test_a_view_outlives_its_segment() -> None:
    """Closing never pulls memory from under somebody who still looks at it."""
    segment = Segment.create(4096, name="kept")
    segment.view[:4] = b"kept"
    view = segment.view[:4]
    segment.close()
    segment.close()
    assert bytes(view) == b"kept"
