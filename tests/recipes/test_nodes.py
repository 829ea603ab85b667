"""What runs on GPU nodes: the script, and how Slurm and Kubernetes start it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from tests.support.accounts import account
from tests.support.documents import ROOT, programs
from tests.support.waiting import until

STRESS = ROOT / "stress"
Process = subprocess.Popen[str]
SETUP = """
mkdir -p "$2/bin"
ln -s "$(command -v python)" "$2/bin/python"
if [ -n "$STUB" ]; then printf '#!/bin/sh\\necho "$@"\\n' >"$2/bin/omni-ipc" && chmod +x "$2/bin/omni-ipc"
else ln -s "$(command -v omni-ipc)" "$2/bin/omni-ipc"; fi
"""
"""With programs as they are; or, where it is not them that matter, with one that only says what it was asked for."""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The scripts, with a set-up that takes this Python as it is, and a check of the GPU that is told how to end."""
    folder = tmp_path / "checkout" / "stress"
    folder.mkdir(parents=True)
    for name in ("gpu_node.sh", "lib.sh", "slurm.sbatch"):
        shutil.copy(STRESS / name, folder)
    (folder / "setup.sh").write_text(SETUP)
    (folder / "gpu_check.sh").write_text(
        'echo "$@"\ntouch "$4.begun"\n[ "$CHECK" != wait ] || exec sleep 60\nexit $CHECK\n'
    )
    return folder.parent


def started(checkout: Path, *words: str, check: str = "0", before: Path | None = None, **env: str) -> Process:
    """Start a script of the checkout on a node without a GPU; programs are looked for in ``before`` first."""
    known = programs(checkout.parent / "bin")
    known["PATH"] = f"{before}:{known['PATH']}" if before else known["PATH"]
    ours = {name: value for name, value in os.environ.items() if name not in ("PYTHON", "MINUTES", "OUT")}
    return subprocess.Popen(
        words,
        cwd=checkout.parent,
        env={**ours, **known, "TMPDIR": str(checkout.parent), "CHECK": check, "STUB": "", **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def node(checkout: Path, *words: str, minutes: str = "0", check: str = "0", stub: str = "1") -> Process:
    options = ("--device", "cpu", "--minutes", minutes, "--out", "out", *words)
    return started(checkout, "sh", str(checkout / "stress" / "gpu_node.sh"), *options, check=check, STUB=stub)


def ended(process: Process, timeout_s: float = 60.0) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=timeout_s)
    return process.returncode, out, err


def rows(lines: Sequence[str]) -> list[list[str]]:
    """Give step and code of each row of the table."""
    return [line.split()[:2] for line in lines if not line.startswith(" ")]


@pytest.mark.parametrize(("check", "code"), [("0", 0), ("1", 1), ("137", 3)])
def test_a_node_ends_as_its_worst_step(checkout: Path, check: str, code: int) -> None:
    """The table names each step, its code and its log; nothing else of it is left but the results."""
    ended_with, out, err = ended(node(checkout, check=check, stub="" if code == 0 else "1"))
    assert ended_with == code
    assert [line.split()[1] for line in err.splitlines()] == ["setup,", "doctor,", "check,"]
    assert rows(out.splitlines()[1:]) == [["setup", "0"], ["doctor", "0"], ["check", str(code)]]
    assert "--device cpu --out" in (checkout.parent / "out" / "check.log").read_text()
    assert not list(checkout.parent.glob("omni-ipc-node.*"))


def test_what_a_step_lacks_and_why_it_failed_is_told_below_its_row(checkout: Path) -> None:
    """In 80 columns; also that there is no page, and what the doctor misses, though it is not for it to fail."""
    reason = "? " + "a worker did not answer, and nobody knows why, " * 4
    (checkout / "stress" / "gpu_check.sh").write_text(f"echo '{reason}'\nexit 3\n")
    (checkout / "stress" / "setup.sh").write_text(
        'mkdir -p "$2/bin"\nln -s "$(command -v python)" "$2/bin/python"\n'
        'printf \'echo "CUDA       missing   no GPU"; echo "a library  missing   no"\' >"$2/bin/omni-ipc"\n'
        'chmod +x "$2/bin/omni-ipc"\n'
    )
    code, out, _ = ended(node(checkout, minutes="0.01"))
    doctor, lacking, check, *why, soak, page = out.splitlines()[2:]
    assert (code, lacking) == (3, "         missing: CUDA, a library")
    assert " ".join("".join(why).split()) == reason.strip()
    assert max(map(len, why)) <= 80
    assert " ".join(page.split()) == "page - - not made: the soak left no account"
    assert rows([doctor, check, soak]) == [["doctor", "0"], ["check", "3"], ["soak", "0"]]


def test_help_is_no_error(checkout: Path) -> None:
    """It says how the script is called, and nothing is set up."""
    code, out, err = ended(node(checkout, "--help"))
    assert (code, err) == (0, "")
    assert out.startswith("sh stress/gpu_node.sh [--python python3]")


def test_a_node_that_is_stopped_tells_how_far_it_came(checkout: Path) -> None:
    """As a scheduler stops it that needs the node: the step at hand is asked to end, and no other begins."""
    process = node(checkout, check="wait", minutes="1")
    until((checkout.parent / "out" / "check.begun").exists)
    process.send_signal(signal.SIGTERM)
    code, out, _ = ended(process)
    assert code == 3
    assert rows(out.splitlines()[1:]) == [["setup", "0"], ["doctor", "0"], ["check", "3"]]
    assert not list(checkout.parent.glob("omni-ipc-node.*"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--gpu"], "sh stress/gpu_node.sh [--python python3]"),
        (["--out"], "omni_ipc: --out needs a value."),
        (["--minutes", "30m"], "'30m' is no number of minutes."),
        (["results"], "sh stress/gpu_node.sh [--python python3]"),
        (["--out", "/proc/results"], "'/proc/results' is no folder that can be written to."),
    ],
)
def test_a_call_that_is_wrong_is_refused(checkout: Path, words: Sequence[str], said: str) -> None:
    """With what it takes, before anything is set up."""
    code, _, err = ended(node(checkout, *words))
    assert code == 2
    assert said in err
    assert not list(checkout.parent.glob("omni-ipc-node.*"))


def test_what_stands_behind_the_options_goes_to_the_check(checkout: Path) -> None:
    """As it is: a check of its own measure."""
    ended(node(checkout, "--", "--soak-minutes", "0.1"))
    assert "--device cpu --out" in (said := (checkout.parent / "out" / "check.log").read_text())
    assert said.endswith("/check -- --soak-minutes 0.1\n")


def test_a_check_that_is_interrupted_in_the_set_up_says_so(checkout: Path) -> None:
    """At once, with 130: nothing was checked, and nothing of the set-up is left."""
    (checkout / "stress" / "setup.sh").write_text('touch "$2/begun"\nsleep 60\n')
    shutil.copy(STRESS / "gpu_check.sh", checkout / "stress")
    (checkout.parent / "bare").write_text("#!/bin/sh\nexit 1\n")
    (checkout.parent / "bare").chmod(0o755)
    script = str(checkout / "stress" / "gpu_check.sh")
    process = started(checkout, "sh", script, "--python", str(checkout.parent / "bare"))
    until(lambda: bool(list(checkout.parent.glob("omni-ipc-check.*/begun"))))
    os.killpg(process.pid, signal.SIGINT)
    code, _, err = ended(process)
    assert code == 130
    assert "interrupted in the set-up: nothing was checked." in err
    assert not list(checkout.parent.glob("omni-ipc-check.*"))


LACKING = """#!{python}
import sys
if sys.argv[1] == "-c":
    sys.exit("{lacks}" in sys.argv[2].replace(",", " ").split())
print(*sys.argv[1:])
"""
"""A Python that lacks a module, and says what else it is asked for."""


@pytest.mark.parametrize("lacks", ["omni_ipc.cli.app", "pytest", "hypothesis", "pytest_timeout", ""])
def test_a_python_that_lacks_something_of_the_check_is_set_up(checkout: Path, lacks: str) -> None:
    """Without the time limit of tests, too, which our configuration of pytest names; one with all of it is taken."""
    shutil.copy(STRESS / "gpu_check.sh", checkout / "stress")
    (checkout / "stress" / "setup.sh").write_text("echo set up\nexit 2\n")
    python = checkout.parent / "python"
    python.write_text(LACKING.format(python=sys.executable, lacks=lacks))
    python.chmod(0o755)
    script = str(checkout / "stress" / "gpu_check.sh")
    _, out, _ = ended(started(checkout, "sh", script, "--python", str(python)))
    assert out.startswith("set up" if lacks else "-m omni_ipc stress check")


def test_wheels_of_another_checkout_are_refused(tmp_path: Path) -> None:
    """What lies here is to be checked: not one that differs in a module, or lacks one, or is no wheel."""
    for path in ("checkout/omni_ipc", "wheels"):
        (tmp_path / path).mkdir(parents=True)
    module, wheel = tmp_path / "checkout" / "omni_ipc" / "a.py", tmp_path / "wheels" / "omni_ipc-1-py3-none-any.whl"

    def said() -> tuple[int, str]:
        command = [sys.executable, str(STRESS / "same_wheel.py"), "wheels", "checkout"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
        return done.returncode, done.stderr

    assert "there are 0 wheels of omni-ipc in 'wheels'" in said()[1]
    wheel.write_bytes(b"PK")
    assert "cannot be read: File is not a zip file. Make it again" in said()[1]
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("omni_ipc/a.py", "one = 1\n")
        archive.writestr("omni_ipc-1.dist-info/RECORD", "")
    module.write_text("one = 1\n")
    assert said() == (0, "")
    module.write_text("one = 2\n")
    code, sentence = said()
    assert (code, "is not of this checkout: omni_ipc/a.py differs." in sentence) == (1, True)
    module.with_name("b.py").touch()
    module.write_text("one = 1\n")
    assert "omni_ipc/b.py differs" in said()[1]


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="apt-get install shellcheck")
def test_scripts_are_what_shellcheck_would_have_them() -> None:
    """All of this folder, and those that set up and test."""
    scripts = sorted([*STRESS.glob("*.sh"), *STRESS.glob("*.sbatch"), *(ROOT / "scripts").glob("*.sh")])
    done = subprocess.run(
        ["shellcheck", "-x", *map(str, scripts)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def srun(checkout: Path, script: str) -> Path:
    """Make a folder with a srun in it, in whose script "$@" is what it was asked to start."""
    folder = checkout.parent / "srun"
    folder.mkdir()
    (folder / "srun").write_text(f"#!/bin/sh\nshift\n{script}")
    (folder / "srun").chmod(0o755)
    return folder


def test_slurm_starts_a_node_each_and_makes_one_page(checkout: Path) -> None:
    """Each with a seed and a folder of its own; it ends as the worst of them, where srun ends as the highest."""
    folder = srun(checkout, 'for SLURM_PROCID in 0 1; do export SLURM_PROCID; "$@"; done\nexit 3\n')
    (checkout / "account.json").write_bytes(msgspec.json.encode(account()))
    (checkout / "stress" / "gpu_node.sh").write_text(
        'echo "$@"\nmkdir -p "$8/soak"\ncp account.json "$8/soak/account.json"\ncode=$((3 - 2 * SLURM_PROCID))\n'
        'echo $code >"$8/code"\nexit $code\n'
    )
    script = checkout / "stress" / "slurm.sbatch"
    hours, minutes, seconds = map(int, script.read_text().partition("--time=")[2].split()[0].split(":"))
    end = int(time.time()) + hours * 3600 + minutes * 60 + seconds - 60  # the script begins a minute late
    known = {"SLURM_SUBMIT_DIR": str(checkout), "SLURM_JOB_ID": "7", "SLURM_JOB_END_TIME": str(end)}
    code, out, err = ended(started(checkout, "bash", str(script), before=folder, **known))
    assert (code, err) == (1, "")
    results = checkout / "results-7"
    for number in (0, 1):
        assert f"--python python3 --seed {number} --minutes 90 --out {results}/node-{number}\n" in out
    assert "<html" in (results / "soak.html").read_text()


@pytest.mark.parametrize("code", ["1", "137"])
def test_a_node_that_slurm_loses_has_shown_nothing(checkout: Path, code: str) -> None:
    """Neither an error of srun's own, which is 1, nor what a node told before the job was begun again is a verdict."""
    folder = srun(checkout, f"exit {code}\n")
    (lost := checkout / "results-7" / "node-0").mkdir(parents=True)
    (lost / "code").write_text("1\n")
    known = {"SLURM_SUBMIT_DIR": str(checkout), "SLURM_JOB_ID": "7", "STUB": "1"}
    process = started(checkout, "bash", str(checkout / "stress" / "slurm.sbatch"), before=folder, **known)
    assert ended(process)[0] == 3


def test_a_node_that_slurm_stops_tells_how_far_it_came(checkout: Path) -> None:
    """Though a signal of Slurm reaches only what srun itself has started: `proctrack/cgroup`."""
    folder = srun(
        checkout,
        'export SLURM_PROCID=0\n"$@" &\nuntil [ -e "$OUT/node-0/check.begun" ]; do sleep 0.05; done\n'
        "kill -TERM $!\nwait $!\n",
    )
    script = str(checkout / "stress" / "slurm.sbatch")
    known = {"SLURM_SUBMIT_DIR": str(checkout), "SLURM_JOB_ID": "7", "STUB": "1"}
    code, out, _ = ended(started(checkout, "bash", script, check="wait", before=folder, **known))
    assert (code, (checkout / "results-7" / "node-0" / "code").read_text()) == (3, "3\n")
    assert rows(out.splitlines()[1:4]) == [["setup", "0"], ["doctor", "0"], ["check", "3"]]
    assert not list(checkout.parent.glob("omni-ipc-node.*"))


def test_slurm_gets_no_more_to_soak_than_there_is_time_for(checkout: Path) -> None:
    """It is refused before any node has begun."""
    end = {"SLURM_JOB_END_TIME": str(int(time.time()) + 99)}
    process = started(
        checkout,
        "bash",
        str(checkout / "stress" / "slurm.sbatch"),
        SLURM_SUBMIT_DIR=str(checkout),
        SLURM_JOB_ID="7",
        **end,
    )
    said = "90 minutes of soaking, and half an hour around them, do not fit into --time. Give more, or MINUTES=30."
    assert ended(process) == (2, "", f"omni_ipc: {said}\n")
    assert not (checkout / "results-7").exists()


def test_kubernetes_starts_the_same_script() -> None:
    """With options that it knows, and results where they are kept; what is violated is not tried again."""
    claim, job = yaml.safe_load_all((STRESS / "kubernetes.yaml").read_text())
    spec: dict[str, Any] = job["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    (script,) = container["args"]
    words = script.split()
    assert words[:3] == ["exec", "sh", "stress/gpu_node.sh"]
    source = (STRESS / "gpu_node.sh").read_text()
    assert all(f" {word} " in source for word in words if word.startswith("--"))
    (mount,) = container["volumeMounts"]
    (volume,) = spec["template"]["spec"]["volumes"]
    assert mount["mountPath"] in script
    assert volume["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    _, failing = spec["podFailurePolicy"]["rules"]
    assert (failing["action"], failing["onExitCodes"]["values"]) == ("FailIndex", [1, 2])
    (spread,) = spec["template"]["spec"]["topologySpreadConstraints"]
    assert spread["labelSelector"]["matchLabels"]["job-name"] == job["metadata"]["name"]


@pytest.mark.soak
@pytest.mark.torch
def test_a_node_is_set_up_from_wheels_over_its_own_torch(tmp_path: Path) -> None:
    """No index is asked; what the node has stays as it is, and what is set up is what the wheel holds."""
    wheels = tmp_path / "wheels"
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", str(wheels), str(ROOT)], check=True, timeout=100)
    venv = tmp_path / "venv"
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:1/", "PIP_NO_INDEX": "1"}
    subprocess.run(
        ["sh", str(STRESS / "setup.sh"), sys.executable, str(venv), str(wheels)],
        env={**os.environ, **nowhere},
        check=True,
        timeout=100,
    )
    say = "import omni_ipc, torch; print(omni_ipc.__file__); print(torch.__file__)"
    told = subprocess.run(
        [str(venv / "bin" / "python"), "-c", say], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )
    ours, torch = told.stdout.splitlines()
    assert Path(ours).is_relative_to(venv)
    assert not Path(torch).is_relative_to(venv)
    version = subprocess.run([str(venv / "bin" / "omni-ipc"), "--version"], capture_output=True, check=True, timeout=60)
    assert version.stdout.startswith(b"omni-ipc ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["/nonexistent"], "there is no '/nonexistent'."),
        ([sys.executable, "venv", "nowhere"], "there is no folder 'nowhere'."),
    ],
)
@pytest.mark.torch
def test_a_node_that_cannot_be_set_up_is_told_why(tmp_path: Path, words: Sequence[str], said: str) -> None:
    """In a sentence with what to do, and exit code 2; nothing is made."""
    done = subprocess.run(
        ["sh", str(STRESS / "setup.sh"), *words], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, said in done.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []
