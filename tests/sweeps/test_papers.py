"""The papers' tables: printed numbers that must agree with each other, and sweeps that can be read at every size."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from statistics import fmean

import pytest

from mtpp_dsl.sweeps.file.expansion import expand
from mtpp_dsl.sweeps.file.file import read_sweep

PAPERS = Path(__file__).parents[2] / "benchmarks" / "papers"
SWEEPS = sorted(
    path
    for path in PAPERS.glob("*/*.toml")
    if path.stem not in ("published", "page") and path.read_text(encoding="utf-8").count("mtpp-sweep = 1")
)


@cache
def rows(paper: str, name: str) -> dict[str, dict[str, float]]:
    """Return the rows of a printed table, each by its columns."""
    data = tomllib.loads((PAPERS / paper / "published.toml").read_text(encoding="utf-8"))
    table = next(table for table in data["tables"] if table["name"] == name)
    return {label: dict(zip(table["columns"], row, strict=True)) for label, row in table["rows"].items()}


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_sweeps_of_papers(path: Path) -> None:
    """Every sweep can be read as it stands and at its sizes, which have runs, each once."""
    whole = read_sweep(path)
    assert {"ten-minutes", "quick"} <= set(whole.sizes)
    for size in ("ten-minutes", "quick"):
        runs = expand(read_sweep(path, size))
        if not runs and any(entry.missing == "skip" for entry in whole.problems):
            pytest.skip("the workloads are not at hand")
        assert runs
        assert len({run.key for run in runs}) == len(runs)


def test_operators_of_zhang2023_follow_from_layers_and_heads() -> None:
    """All numbers of operators are layers * (11 + 12 heads), but for the layers printed of GPT-3 1.3B."""
    table = rows("zhang2023", "table4")
    odd = [name for name, row in table.items() if row["operators"] != row["layers"] * (11 + 12 * row["heads"])]
    assert odd == ["GPT-3 1.3B"]
    assert table["GPT-3 1.3B"]["operators"] == 24 * (11 + 12 * 32)
    assert all(0.69 < row["operators, coarsened"] / row["operators"] < 0.82 for row in table.values())


def test_coarsening_of_zhang2023_saves_what_its_text_says() -> None:
    """The mean of Moirai's ratios is the 71.87 % of section IV-C."""
    table = rows("zhang2023", "table5")
    assert fmean(row["Moirai, coarsened"] / row["Moirai, original"] for row in table.values()) == pytest.approx(
        0.7187, abs=5e-5
    )
    assert set(table) == set(rows("zhang2023", "table4"))


def test_tables_of_ghannane2023_agree() -> None:
    """Factors are ratios of times; throughputs 128 by latencies; ratios to SPLIT those of the tables."""
    for row in rows("ghannane2023", "table4.3").values():
        for kind in ("sd", "wd"):
            assert row[f"{kind} MILP"] / row[f"{kind} SPLIT"] == pytest.approx(row[f"{kind} factor"], abs=0.5)
    for row in rows("ghannane2023", "table5.1").values():
        assert 128e3 / row["latency"] == pytest.approx(row["throughput"], abs=1.0)
    baselines = ("MET", "Greedy", "HEFT", "EA", "SA")
    for table, ratios, sign in (("table4.1", "latency-ratios", 1), ("table4.4", "throughput-ratios", -1)):
        for name, row in rows("ghannane2023", table).items():
            best = (min if sign > 0 else max)(row[each] for each in baselines)
            wanted = [
                *((value / row["SPLIT"]) ** sign for value in (row["BD"], best, row["MILP"])),
                (row["Bound"] / row["SPLIT"]) ** sign,
            ]
            assert list(rows("ghannane2023", ratios)[name].values()) == pytest.approx(wanted, abs=5e-4)
