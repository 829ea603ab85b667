"""The output timeout: one answer for every path, read at each wait; what is of no use is passed over, and told once."""

from __future__ import annotations

import logging

import pytest

from omni_ipc.serving.config import LONGEST_S
from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.serving.timeouts import VARIABLE, Limit, OutputTimeout

CONFIG = EngineConfig(output_timeout_s=300.0, drain_timeout_s=10.0)


@pytest.fixture
def timeout() -> OutputTimeout:
    return OutputTimeout(CONFIG)


def test_the_default_is_ten_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A render at 48 s a step is not cut off at its last one."""
    monkeypatch.delenv(VARIABLE, raising=False)
    assert OutputTimeout(EngineConfig()).resolve() == Limit(600.0, "output_timeout_s", "600")


def test_the_environment_goes_before_the_configuration_at_each_wait(
    timeout: OutputTimeout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read whenever somebody waits: no import, and no earlier wait, freezes it. Fractions are fine."""
    monkeypatch.delenv(VARIABLE, raising=False)
    assert timeout.resolve().seconds == 300.0
    monkeypatch.setenv(VARIABLE, "10.5")
    assert timeout.resolve() == Limit(10.5, VARIABLE, "10.5")
    monkeypatch.setenv(VARIABLE, " 1e3 ")
    assert timeout.resolve() == Limit(1000.0, VARIABLE, " 1e3 ")
    monkeypatch.setenv(VARIABLE, "1e300")  # for ever, as it were; the system's waits would overflow
    assert timeout.resolve() == Limit(LONGEST_S, VARIABLE, "1e300")
    monkeypatch.delenv(VARIABLE)
    assert timeout.resolve() == Limit(300.0, "output_timeout_s", "300")


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("10 minutes", "no number"),
        ("inf", "not finite"),
        ("nan", "not finite"),
        ("0", "not positive"),
        ("-5", "not positive"),
        ("10", "not above the drain timeout, drain_timeout_s=10"),
        ("9.5", "not above the drain timeout, drain_timeout_s=10"),
    ],
)
def test_a_useless_value_is_ignored_with_one_warning(
    given: str, fault: str, timeout: OutputTimeout, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The warning says what is wrong with it, what holds instead, and what to give; it does not come twice."""
    monkeypatch.setenv(VARIABLE, given)
    with caplog.at_level(logging.WARNING):
        assert timeout.resolve() == timeout.resolve() == Limit(300.0, "output_timeout_s", "300")
    (warning,) = caplog.messages
    assert f"{VARIABLE}={given!r} is ignored: it is {fault}. " in warning
    assert "output_timeout_s=300 s" in warning
    assert "Give a number of seconds above the drain timeout" in warning


def test_each_engine_warns_for_itself(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """So that tests pass in any order, and no engine is silent because another one spoke."""
    monkeypatch.setenv(VARIABLE, "soon")
    for _ in range(2):
        OutputTimeout(CONFIG).resolve()
    assert len(caplog.messages) == 2


def test_a_limit_tells_which_setting_to_set_with_the_value_as_given() -> None:
    """Literally, so that it can be searched for."""
    assert Limit(10.5, VARIABLE, "10.50").remedy == (
        "If the work is merely slow, set OMNI_IPC_OUTPUT_TIMEOUT=10.50 to a larger value."
    )


def test_the_variable_is_looked_up_elsewhere_where_that_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mapping in place of the process's environment, read at each wait as that is."""
    monkeypatch.setenv(VARIABLE, "700")
    environ: dict[str, str] = {}
    timeout = OutputTimeout(CONFIG, environ)
    assert timeout.resolve().setting == "output_timeout_s"
    environ[VARIABLE] = "800"
    assert timeout.resolve() == Limit(800.0, VARIABLE, "800")
