"""Messages that name the remedy: words near to those of the language, strings without quotation marks, units."""

from __future__ import annotations

from pathlib import Path

import pytest

import mtpp_dsl
from mtpp_dsl.cli.run import run
from mtpp_dsl.core.errors import SpecError

SPEC = """
graph {{ node a (work = 2 ms, kind = {kind}) node b (work = 1 ms) edge a -> b }}
device d[2] (price = 3 USD/h)
interconnect shared (bandwidth = {rate})
{rest}
"""


def spec(kind: str = '"relu"', rate: str = "1 GiB/s", rest: str = "minimize bottleneck") -> str:
    """Return a small spec with these parts."""
    return SPEC.format(kind=kind, rate=rate, rest=rest)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (spec(rest="minimize botleneck"), "did you mean 'bottleneck'?"),
        (spec(rest="minimize bottleneck constraint c: botleneck <= 3 ms"), "did you mean 'bottleneck'?"),
        (spec(kind="relu"), 'kind is a string, in quotation marks: kind = "relu"'),
        (spec(rate="8 GiB"), "this is a size: write 8 GiB/s"),
    ],
)
def test_messages_name_the_remedy(text: str, message: str) -> None:
    """What is nearly right is said as it should be."""
    with pytest.raises(SpecError) as caught:
        mtpp_dsl.load(text)
    assert message in str(caught.value)


def test_unused_block_is_warned_of() -> None:
    """A block that no ``use`` makes instances of has no effect."""
    problem = mtpp_dsl.load("block idle() { node q (work = 1 ms) }" + spec())
    assert any("block 'idle' is never used" in said for said in problem.warnings)


def test_check_lists_scenarios(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``mtpp check`` names the scenarios that --scenario may choose."""
    file = tmp_path / "a.mtpp"
    file.write_text(spec() + "scenario fast { minimize bottleneck }\nscenario wide { minimize bottleneck }\n")
    assert run(["check", str(file)]) == 0
    assert "fast, wide" in capsys.readouterr().out


def test_optimal_answers_are_said_to_be_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two objectives that are optimal did not just end within a gap."""
    file = tmp_path / "a.mtpp"
    file.write_text(spec(rest="minimize cost: sum(price(x) * used(x) for x in d)\nminimize bottleneck"))
    assert run(["solve", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "within the gap" not in shown
    assert "optimal" in shown


def test_front_with_a_makespan_on_a_channel_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The refusal says what is wrong with the pair, not what some method minimises."""
    file = tmp_path / "a.mtpp"
    file.write_text(spec(rest="minimize cost: sum(price(x) * used(x) for x in d)\nminimize bottleneck"))
    assert run(["solve", str(file), "--pareto", "cost,makespan"]) == 2
    assert "a front with makespan needs plans with a schedule" in " ".join(capsys.readouterr().err.split())
