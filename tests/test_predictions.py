"""docs/predictions.md is what its text and the recorded figures say; each runtime that is here runs a tiny model."""

from __future__ import annotations

from math import prod
from pathlib import Path

import pytest

from benchmarks.predictions import __main__ as command
from benchmarks.predictions import page, profiled
from benchmarks.predictions.figures import Absent, RuntimeComparison, SplitFigures, read, write
from mtpp_dsl.runtimes.profiling.measuring import MeasuringEffort

TINY = f"{profiled.MODELS}:tiny"
of_torch = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure operators for a moment only."""
    monkeypatch.setattr(profiled, "EFFORT", MeasuringEffort(seconds=0.0, samples=3))


def test_the_page_is_what_its_figures_say() -> None:
    assert page.OUTPUT.read_text(encoding="utf-8") == page.text(), (
        "write it anew: python -m benchmarks.predictions --page"
    )
    for one in read():
        assert one.skipped or len(one.splits) >= 2


def test_a_runtime_that_is_absent_is_skipped_on_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> RuntimeComparison:
        raise Absent("torch is not installed: pip install torch")

    monkeypatch.setattr(command, "write", lambda found: write(found, tmp_path))
    found = command.run("torch-stages", absent)
    assert read(tmp_path) == [found]
    text = page.text(tmp_path)
    assert "| torch-stages | skipped: torch is not installed: pip install torch |" in text
    assert "\nSkipped: torch is not installed: pip install torch.\n" in text


def test_figures_come_back_from_their_file(tmp_path: Path) -> None:
    split = SplitFigures("mtpp", "all of it", 1.0, (2.0, 4.0, 3.0), {"a": 3.0}, {"stage 0": (1.0, 2.0)})
    found = RuntimeComparison("accelerate", "a pass", {"machine": "none"}, (split, split))
    write(found, tmp_path)
    assert read(tmp_path) == [found]
    assert (split.median, split.ratio) == (3.0, 3.0)
    assert "| mtpp | all of it | 1000 ms | 3000 ms | 2500 ms to 3500 ms | 3 | 3.00 |" in page.text(tmp_path)


def explained(found: RuntimeComparison) -> None:
    """Hold the causes of a ratio against the ratio, and plans against each other."""
    ours, other = found.splits[:2]
    for split in found.splits:
        assert prod(split.factors.values()) == pytest.approx(split.ratio)
        assert min(split.measured) > 0
    assert ours.predicted <= other.predicted * (1 + 1e-9)


@of_torch
@pytest.mark.long
@pytest.mark.needs("torch")
@pytest.mark.usefixtures("little")
def test_stages_of_torch() -> None:
    from benchmarks.predictions.torch_stages import compared

    explained(compared(TINY, seq=8, rounds=1))


@of_torch
@pytest.mark.long
@pytest.mark.needs("torch", "accelerate")
@pytest.mark.usefixtures("little")
def test_device_maps_of_accelerate() -> None:
    """Both maps compute what the whole model does."""
    from benchmarks.predictions.accelerate_map import compared

    found = compared(TINY, seq=8, rounds=2)
    explained(found)
    assert all("MB away: " in split.places for split in found.splits)


@pytest.mark.long
def test_experts_in_llama_cpp() -> None:
    from benchmarks.predictions import llama_experts

    try:
        found = llama_experts.compared(llama_experts.EMPTY, rounds=1)
    except Absent as reason:
        pytest.skip(str(reason))
    explained(found)
