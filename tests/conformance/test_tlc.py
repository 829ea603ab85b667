"""Running TLC: the real one where it matters, a script in its place where it must misbehave."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from omni_ipc.conformance.models.manifest import Manifest, Model, Role
from omni_ipc.conformance.processes.children import Children
from omni_ipc.conformance.tlc.progress import Reached
from omni_ipc.conformance.tlc.result import Kind
from omni_ipc.conformance.tlc.running import run_labelled, run_model
from omni_ipc.conformance.tlc.toolchain import Toolchain
from omni_ipc.errors import EnvironmentMissing, UsageError
from tests.conformance.conftest import RECORDED
from tests.conformance.test_children import GENEROUS_S, wait_for, wait_until_gone

Sample = Callable[..., tuple[Model, Manifest]]
FakeJava = Callable[[str], Toolchain]


def test_two_runs_at_once_do_not_meet_and_leave_nothing(
    sample: Sample, toolchain: Toolchain, children: Children, private_temp: Path
) -> None:
    """Each has its own directory, which goes with it; beside the specs nothing appears."""
    model, manifest = sample(cfg="safety.cfg")
    before = sorted(manifest.folder.rglob("*"))
    with ThreadPoolExecutor(2) as pool:
        runs = [
            pool.submit(run, model, manifest, toolchain=toolchain, children=children)
            for run in (run_model, run_labelled)
        ]
        plain, labelled = (run.result() for run in runs)
    assert (plain.kind, plain.name, plain.depth) == (Kind.INVARIANT, "SmallInv", 3)
    assert labelled.trace == plain.trace
    assert labelled.actions.keys() == plain.actions.keys()
    assert sorted(manifest.folder.rglob("*")) == before
    assert list(private_temp.iterdir()) == []


def test_the_one_property_that_a_cfg_claims_is_named(sample: Sample, fake_java: FakeJava, children: Children) -> None:
    """TLC does not say which temporal property is violated."""
    model, manifest = sample(cfg="lasso.cfg")
    result = run_model(model, manifest, toolchain=fake_java(f"cat {RECORDED}/lasso.out"), children=children)
    assert (result.kind, result.name) == (Kind.TEMPORAL, "SettlesProp")


@pytest.mark.parametrize(("role", "counted"), [(Role.DESIGN, True), (Role.LIVE, False), (Role.BUG, False)])
def test_steps_are_counted_by_action_of_design_models_alone(
    sample: Sample, fake_java: FakeJava, children: Children, tmp_path: Path, role: Role, counted: bool
) -> None:
    """Of no other must each action be taken, and to count costs a fifth of a run."""
    model, manifest = sample(cfg="safety.cfg")
    java = fake_java(f'echo "$@" > {tmp_path}/arguments; cat {RECORDED}/safety.out')
    run_model(msgspec.structs.replace(model, role=role), manifest, toolchain=java, children=children)
    assert ("-coverage 1" in (tmp_path / "arguments").read_text()) is counted


def test_a_model_for_the_night_has_all_cores_and_half_of_the_memory(
    sample: Sample, fake_java: FakeJava, toolchain: Toolchain, children: Children, tmp_path: Path
) -> None:
    """And the better compiler, and nothing that costs: its actions are not counted, and there are no checkpoints."""
    model, manifest = sample(cfg="success.cfg", nightly=True)
    script = f'echo "$@" > {tmp_path}/arguments; {toolchain.java} "$@" | tee {tmp_path}/output'
    java = msgspec.structs.replace(fake_java(script), jar=toolchain.jar)
    result = run_model(model, manifest, toolchain=java, children=children)
    assert (result.kind, result.distinct, result.actions) == (Kind.SUCCESS, 5, {})
    options, _, flags = (tmp_path / "arguments").read_text().partition("tlc2.TLC")
    assert ("MaxRAMPercentage=50" in options, "Xmx" in options, "TieredStop" in options) == (True, False, False)
    assert ("-fpmem 0.5" in flags, "-checkpoint 0" in flags, "-coverage" in flags) == (True, True, False)
    cores = len(os.sched_getaffinity(0))
    assert f" with {cores} worker{'s' * (cores > 1)} on " in (tmp_path / "output").read_text()


def test_any_other_model_has_one_worker_and_little_memory(
    sample: Sample, fake_java: FakeJava, children: Children, tmp_path: Path
) -> None:
    """Several are checked at a time, and most of a run is its beginning."""
    model, manifest = sample(cfg="success.cfg")
    java = fake_java(f'echo "$@" > {tmp_path}/arguments; cat {RECORDED}/success.out')
    run_model(model, manifest, toolchain=java, children=children)
    options, _, flags = (tmp_path / "arguments").read_text().partition("tlc2.TLC")
    assert ("-Xmx1g -XX:TieredStopAtLevel=1" in options, "MaxRAM" in options) == (True, False)
    assert (flags.count("-workers"), "-workers 1 " in flags, "-fpmem" in flags) == (1, True, False)


def test_how_far_a_run_has_come_is_told_while_it_goes_on(
    sample: Sample, fake_java: FakeJava, children: Children, tmp_path: Path
) -> None:
    """TLC waits here for what it said to be heard; and that is what remains of a run that does not come to its end."""
    os.mkfifo(tmp_path / "heard")
    heard: list[Reached] = []

    def reaches(reached: Reached) -> None:
        heard.append(reached)
        if len(heard) == 2:
            (tmp_path / "heard").write_text("\n")

    model, manifest = sample(nightly=True)
    java = fake_java(f"cat {RECORDED}/night.out; read line < {tmp_path}/heard; exit 1")
    result = run_model(model, manifest, toolchain=java, children=children, reaches=reaches)
    assert [reached.distinct for reached in heard] == [612_081, 1_294_052]
    assert (result.kind, result.distinct, result.queue) == (Kind.TRUNCATED, 1_294_052, 327_747)
    assert result.message == (
        "TLC ended before it had finished, at 1,294,052 distinct states, 327,747 on the queue, "
        "by exit code 1: nothing on its error output"
    )


@pytest.mark.parametrize(
    ("module", "cfg", "said", "complaint"),
    [
        ("Broken", "plain.cfg", "Broken", r"spec/Broken\.tla:5: Unknown operator: `undefined'\. Correct the module"),
        ("Garbled", "plain.cfg", "Garbled", r"spec/Garbled\.tla:3: Was expecting \"==== .*Correct the module"),
        ("Sample", "config.cfg", "config", r"spec/config\.cfg: The name Missing .* Correct the configuration"),
        ("Sample", "unassigned.cfg", "unassigned", r"unassigned\.cfg: The constant parameter Limit is not assigned"),
    ],
)
def test_a_broken_file_is_told_with_its_line(
    sample: Sample, fake_java: FakeJava, children: Children, module: str, cfg: str, said: str, complaint: str
) -> None:
    """TLC's own first complaint, and where the file lies that it is about: not in the private directory."""
    model, manifest = sample(module, cfg)
    with pytest.raises(UsageError, match=complaint):
        run_model(model, manifest, toolchain=fake_java(f"cat {RECORDED}/{said}.out"), children=children)


def test_an_unknown_action_in_the_manifest_is_told(sample: Sample, toolchain: Toolchain, children: Children) -> None:
    """The generated module does not parse; the manifest is to blame, and is named."""
    model, manifest = sample()
    manifest.specs["Sample"].actions["Sideways"] = {}
    with pytest.raises(UsageError, match=r"manifest.json: the actions of Sample .*`Sideways'\. Correct the manifest"):
        run_labelled(model, manifest, toolchain=toolchain, children=children)


def test_an_evaluation_error_names_file_and_line(sample: Sample, fake_java: FakeJava, children: Children) -> None:
    """The innermost expression that TLC was evaluating."""
    model, manifest = sample(cfg="evaluation.cfg")
    result = run_model(model, manifest, toolchain=fake_java(f"cat {RECORDED}/evaluation.out"), children=children)
    assert result.kind is Kind.EVALUATION
    assert result.message == f"{manifest.folder}/Sample.tla:19: Attempted to apply Head to the empty sequence."


def test_a_module_or_cfg_that_is_not_there_is_told(sample: Sample, fake_java: FakeJava, children: Children) -> None:
    """Before TLC is started."""
    model, manifest = sample(module="Sample", cfg="safety.cfg")
    (manifest.folder / "Sample.tla").unlink()
    with pytest.raises(UsageError, match=r"there is no module 'Sample\.tla'"):
        run_model(model, manifest, toolchain=fake_java("exit 9"), children=children)
    (manifest.folder / "safety.cfg").unlink()
    with pytest.raises(UsageError, match=r"Cannot read '.*safety\.cfg'"):
        run_model(model, manifest, toolchain=fake_java("exit 9"), children=children)


def test_a_run_over_its_budget_is_killed_and_says_so(
    sample: Sample, fake_java: FakeJava, children: Children, private_temp: Path, tmp_path: Path
) -> None:
    """Its process group is gone, its directory too, and the answer is neither yes nor no, whatever it had printed."""
    script = f"sed '/ENDMSG 2199/q' {RECORDED}/success.out; sleep 60 & echo $$ $! > {tmp_path}/pids; wait"
    model, manifest = sample(budget_s=0.5)
    result = run_model(model, manifest, toolchain=fake_java(script), children=children)
    assert result.kind is Kind.TRUNCATED
    said = "TLC was stopped after its budget of 0.5 s, at 5 distinct states, 0 on the queue. Raise budgetS"
    assert result.message.startswith(said)
    wait_until_gone(*map(int, wait_for(tmp_path / "pids").split()))
    assert list(private_temp.iterdir()) == []


@pytest.mark.parametrize(
    ("script", "how"),
    [
        ("echo 'Error: no memory' >&2; exit 1", ", by exit code 1: Error: no memory"),
        ("kill -KILL $$", ", by signal 9: nothing on its error output"),
        (
            f"cat {RECORDED}/success.out; exit 2",
            ", at 5 distinct states, 0 on the queue, by exit code 2: nothing on its error output",
        ),
        (f"head -c 1000 {RECORDED}/success.out; exit 0", ", by exit code 0: nothing on its error output"),
    ],
)
def test_a_run_that_dies_is_truncated(
    sample: Sample, fake_java: FakeJava, children: Children, script: str, how: str
) -> None:
    """It says how it died, and what it said last; neither an exit code of 0 nor the word alone is success."""
    model, manifest = sample()
    result = run_model(model, manifest, toolchain=fake_java(script), children=children)
    assert (result.kind, result.message) == (Kind.TRUNCATED, f"TLC ended before it had finished{how}")


@pytest.mark.parametrize("data", [b"", b"no jar", b"PK\x05\x06" + bytes(18)])
def test_a_jar_that_holds_no_tlc_is_told(
    sample: Sample, toolchain: Toolchain, children: Children, tmp_path: Path, data: bytes
) -> None:
    """Empty, no archive, an archive of nothing: the machine is to be mended, and the model is not in doubt."""
    model, manifest = sample()
    (jar := tmp_path / "other.jar").write_bytes(data)
    with pytest.raises(EnvironmentMissing, match=r"other\.jar' is no TLC: it has no tlc2\.TLC\. Correct OMNI_IPC_TLA"):
        run_model(model, manifest, toolchain=Toolchain(toolchain.java, jar), children=children)


def test_a_java_that_cannot_be_started_is_told(sample: Sample, children: Children, tmp_path: Path) -> None:
    """With its path."""
    model, manifest = sample()
    with pytest.raises(EnvironmentMissing, match=r"Java at '.*/none' cannot be started: No such file"):
        run_model(model, manifest, toolchain=Toolchain(tmp_path / "none", tmp_path / "jar"), children=children)


INTERRUPTED = """
import sys, tempfile
from pathlib import Path
from omni_ipc.conformance.models import manifest as manifests
from omni_ipc.conformance.claims.check import check
from omni_ipc.conformance.tlc.toolchain import Toolchain
tempfile.tempdir = sys.argv[2]
manifest = manifests.load()
try:
    check(manifest.models, manifest, toolchain=Toolchain(Path(sys.argv[1]), Path("jar")), jobs=2)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_leaves_no_process_and_no_directory(fake_java: FakeJava, private_temp: Path, tmp_path: Path) -> None:
    """Two runs under way and more to come: one interrupt ends all."""
    java = fake_java(f"echo $$ > {tmp_path}/$$.pid; exec sleep 60").java
    command = [sys.executable, "-c", INTERRUPTED, str(java), str(private_temp)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as checking:
        pids = [int(wait_for(path)) for path in _two_of(tmp_path, "*.pid")]
        os.kill(checking.pid, signal.SIGINT)
        output, errors = checking.communicate(timeout=GENEROUS_S)
    assert (output, errors) == ("interrupted\n", "")
    wait_until_gone(*pids)
    assert len(list(tmp_path.glob("*.pid"))) == 2, "a further run began after the interrupt"
    assert list(private_temp.iterdir()) == []


def _two_of(folder: Path, pattern: str) -> Sequence[Path]:
    end = time.monotonic() + GENEROUS_S
    while len(found := sorted(folder.glob(pattern))) < 2:
        assert time.monotonic() < end, "the runs never began"
        time.sleep(0.005)
    return found
