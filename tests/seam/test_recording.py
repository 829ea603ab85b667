"""The recording runtime: every region of a process, in a file of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest

from omni_ipc.errors import UsageError
from omni_ipc.recordings import Begun, Closed, Ended, Line, Memory, Process, Watched
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.seam.recording import RecordingRuntime, recorded
from omni_ipc.transport.memory import Segment


def read(folder: Path) -> list[list[Line]]:
    """The lines of each file."""
    decode = msgspec.json.Decoder(Line).decode
    return [[*map(decode, path.read_bytes().splitlines())] for path in sorted(folder.iterdir())]


class Table:
    """Something shared, with a lock."""

    def __init__(self, rt: RecordingRuntime) -> None:
        self.lock = rt.lock()
        self.entries: dict[str, object] = {}
        self.closed: object = None
        rt.watch(self, self.lock, name="Table")


def test_each_region_is_two_lines_inside_its_lock(tmp_path: Path) -> None:
    """Task, thread, action and fields as the code says them; the steps under one lock do not overlap in time."""
    with RecordingRuntime(tmp_path) as rt:
        lock = rt.lock()

        def body() -> None:
            for _ in range(20):
                with rt.region("Pump.Deliver", lock, output="a", holding=True):
                    assert lock.locked()  # type: ignore[attr-defined]

        tasks = [rt.spawn(body, name=name) for name in ("one", "two")]
        for task in tasks:
            task.join()
    (lines,) = read(tmp_path)
    for thread in {line.thread for line in lines}:
        numbers = [line.number for line in lines if line.thread == thread]
        assert numbers == list(range(len(numbers)))
    assert isinstance(lines[0], Process)
    assert (lines[0].pid, lines[0].parent) == (os.getpid(), os.getppid())
    assert isinstance(lines[-1], Closed)
    begun = [line for line in lines if isinstance(line, Begun)]
    times = [line.time_ns for line in lines if isinstance(line, Begun | Ended)]
    assert [(line.action, line.fields) for line in begun] == [("Pump.Deliver", {"output": "a", "holding": True})] * 40
    assert {line.task for line in begun} == {"one", "two"}
    assert len({line.thread for line in begun}) == 2
    assert times == sorted(times)
    assert [type(line) for line in lines[1:-1]] == [Begun, Ended] * 40
    assert lines[-1].lines == len(lines) - 1


def test_strings_that_are_no_text_are_written_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arguments, names of tasks, fields and keys may hold any bytes of a file's name."""
    name = os.fsdecode(b"caf\xe9")
    monkeypatch.setattr(sys, "orig_argv", ["python", name])
    with RecordingRuntime(tmp_path) as rt:
        table = Table(rt)

        def body() -> None:
            with rt.region("Table.Put", table.lock, name=name):
                table.entries[name] = 1

        rt.spawn(body, name=name).join()
    (lines,) = read(tmp_path)
    process, _, begun, ended, closed = lines
    assert isinstance(process, Process)
    assert isinstance(begun, Begun)
    assert isinstance(ended, Ended)
    assert (process.command, begun.task, begun.fields) == (r"python caf\udce9", r"caf\udce9", {"name": r"caf\udce9"})
    assert ended.changes[0].came == (r"caf\udce9",)
    assert isinstance(closed, Closed)


def test_a_region_that_fails_is_recorded_with_its_error_and_raises(tmp_path: Path) -> None:
    """The error passes through, the lock is given back, and the line names the error."""
    with RecordingRuntime(tmp_path) as rt:
        lock = rt.lock()
        with pytest.raises(KeyError), rt.region("Pump.Deliver", lock):
            raise KeyError("b")
        assert lock.acquire(blocking=False)
    (lines,) = read(tmp_path)
    assert [line.error for line in lines if isinstance(line, Ended)] == ["KeyError"]


def test_the_end_of_a_region_tells_how_what_its_lock_guards_has_changed(tmp_path: Path) -> None:
    """Keys that came and went, and plain values; nothing where nothing changed, or under another lock."""
    with RecordingRuntime(tmp_path) as rt:
        table = Table(rt)
        with rt.region("Table.Put", table.lock):
            table.entries["a"] = object()
        with rt.region("Table.Swap", table.lock):
            table.entries = {"b": object()}
            table.closed = KeyError()
        with rt.region("Table.Look", table.lock):
            pass
        with rt.region("Other.Step", rt.lock()):
            pass
    (lines,) = read(tmp_path)
    put, swap, look, other = (line for line in lines if isinstance(line, Ended))
    assert [(c.field, c.came, c.gone, c.value) for c in put.changes] == [("entries", ("a",), (), None)]
    assert {c.field: (c.came, c.gone, c.value) for c in swap.changes} == {
        "entries": (("b",), ("a",), None),
        "closed": ((), (), True),
    }
    assert (look.looked, look.changes) == ((1,), ())
    assert (other.looked, other.changes) == ((), ())
    (watched,) = (line for line in lines if isinstance(line, Watched))
    assert watched.name == "Table"
    assert {c.field: (c.came, c.value) for c in watched.changes}["entries"] == ((), None), (
        "a field that is empty is one"
    )


def test_memory_that_others_may_have_mapped_is_told_by_its_inode(tmp_path: Path) -> None:
    """Once a segment and runtime; plain memory of the process is not told."""
    with RecordingRuntime(tmp_path) as rt, Segment.create(4096, name="test") as segment:
        rt.words(segment.view[:64])
        rt.words(segment.view[64:])
        rt.words(memoryview(bytearray(64)))
        inode = os.fstat(segment.fd).st_ino
    (lines,) = read(tmp_path)
    assert [line.inode for line in lines if isinstance(line, Memory)] == [inode]


def test_a_process_that_is_forked_off_writes_a_file_of_its_own(tmp_path: Path) -> None:
    """It knows what was declared before, and what was begun before ends in no file."""
    with RecordingRuntime(tmp_path) as rt:
        table = Table(rt)
        with rt.region("Parent.Fork"):
            child = os.fork()
        if child == 0:
            with rt.region("Child.Put", table.lock):
                table.entries["a"] = 1
            rt.close()
            os._exit(0)
        os.waitpid(child, 0)
    first, second = sorted(read(tmp_path), key=lambda lines: getattr(lines[0], "pid", 0) == child)
    assert [line.action for line in first if isinstance(line, Begun)] == ["Parent.Fork"]
    assert [type(line) for line in second] == [Process, Watched, Begun, Ended, Closed]
    assert [(line.thread, line.number) for line in second[:2]] == [(0, 0), (second[1].thread, 0)]


def test_a_killed_process_leaves_all_it_had_begun_and_no_last_line(tmp_path: Path) -> None:
    """What stands in the file was written whole, up to the region in which it was killed."""
    program = (
        "import os, sys; from pathlib import Path; from omni_ipc.seam.recording import RecordingRuntime\n"
        "rt = RecordingRuntime(sys.argv[1])\n"
        "with rt.region('Worker.Announce'): pass\n"
        "with rt.region('Worker.Die'): os.kill(os.getpid(), 9)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    (lines,) = read(tmp_path)
    assert [type(line) for line in lines] == [Process, Begun, Ended, Begun]


def test_a_program_without_standard_output_does_not_print_into_its_recording(tmp_path: Path) -> None:
    """Its descriptors may be closed; whatever is written to them goes elsewhere."""
    program = (
        "import os, sys; from omni_ipc.seam.recording import RecordingRuntime\n"
        "with RecordingRuntime(sys.argv[1]): os.open(os.devnull, os.O_WRONLY); os.write(1, b'printed')\n"
    )
    subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-c", program, str(tmp_path)], check=True)
    (lines,) = read(tmp_path)
    assert [type(line) for line in lines] == [Process, Closed]


def test_a_program_that_closes_all_descriptors_ends_as_it_would_unrecorded(tmp_path: Path) -> None:
    """So does what it forks off; and nothing is missing in their recordings."""
    program = (
        "import os, sys; from omni_ipc.seam.recording import RecordingRuntime\n"
        "rt = RecordingRuntime(os.path.relpath(sys.argv[1]))\n"
        "os.chdir('/')\n"
        "with rt.region('Worker.Announce'): pass\n"
        "os.closerange(3, 1000)\n"
        "with rt.region('Worker.Reply'): pass\n"
        "os.closerange(3, 1000)\n"
        "os.fork() and os.wait()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], check=False, capture_output=True, text=True, timeout=100
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    parents, childs = sorted(read(tmp_path), key=len, reverse=True)
    assert [type(line) for line in parents] == [Process, Begun, Ended, Begun, Ended, Closed]
    assert [type(line) for line in childs] == [Process, Closed]


def test_all_native_runtimes_of_a_process_are_recorded_and_then_no_longer(tmp_path: Path) -> None:
    """Each has a number of its own; afterwards regions are the locks themselves again."""
    one, other = NativeRuntime(), NativeRuntime()
    lock = one.lock()
    with recorded(tmp_path):
        with one.region("One.Step", lock), other.region("Other.Step"):
            pass
        with one.region("One.Again"):
            pass
    assert one.region("One.Step", lock) is lock
    (lines,) = read(tmp_path)
    assert [line.runtime for line in lines if isinstance(line, Begun)] == [1, 2, 1]


def test_what_cannot_be_written_is_no_recording(tmp_path: Path) -> None:
    """A folder that cannot be made is told; a full disk leaves an empty file and a program that goes on."""
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="Choose another folder"):
        RecordingRuntime(tmp_path / "file")
    with RecordingRuntime(tmp_path / "log") as rt:
        (path,) = (tmp_path / "log").iterdir()
        full = os.open("/dev/full", os.O_WRONLY)
        os.dup2(full, rt._log._fd)
        os.close(full)
        with rt.region("Pump.Deliver"):
            assert threading.current_thread()
    assert path.exists()
