"""Records of a library: what they say, and the table that they are kept in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.sweeps.library.record import BestKnown, read_records, records_text

LEAST = BestKnown("b", nodes=3, unit="s", value=0.1 + 0.2, bound=0.25, found_by="a, b", found_seed=0, proof="checked")
MOST = BestKnown("a", sense="maximize", unit="1/s", value=4.0, bound=5.0, later="1.0;2.5", proof="certificate")


def test_a_table_gives_back_every_figure_exactly(tmp_path: Path) -> None:
    path = tmp_path / "best.csv"
    path.write_text(records_text([LEAST, MOST]))
    assert read_records(path) == {"a": MOST, "b": LEAST}
    assert read_records(tmp_path / "none.csv") == {}
    assert path.read_text().splitlines()[1].startswith("a,")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (",0.25,", ",x,", "bound is 'x'"),
        (",0.25,", ",nan,", "bound is 'nan'"),
        (",0.25,", ",0.1,", "status"),
        (",1.0;2.5,", ",1.0;x,", "later is '1.0;x'"),
        (",1.0;2.5,", ",1.0;inf,", "later is '1.0;inf'"),
        (",minimize,", ",minimise,", "sense is"),
        (",checked,", ",sure,", "proof one of"),
        ("\nb,", "\na,", "two rows"),
        ("name,", "names,", "columns must be"),
    ],
)
def test_a_damaged_table_is_refused_with_its_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "best.csv"
    text = records_text([LEAST, MOST])
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(UsageError, match=said):
        read_records(path)


def test_better_is_less_of_what_is_minimised_and_more_of_what_is_maximised() -> None:
    assert LEAST.beats(0.29, LEAST.value)
    assert not LEAST.beats(0.3 * (1 + 1e-12), LEAST.value)
    assert LEAST.raises(0.26, LEAST.bound)
    assert not LEAST.raises(0.24, LEAST.bound)
    assert MOST.beats(4.1, MOST.value)
    assert MOST.raises(4.9, MOST.bound)
    assert not MOST.raises(5.1, MOST.bound)


def test_a_bound_beyond_a_value_is_a_contradiction_beyond_solvers_tolerances() -> None:
    assert LEAST.crossed(0.25, 0.3)
    assert not LEAST.crossed(0.3, 0.25)
    assert not LEAST.crossed(0.3, 0.3 * (1 + 1e-6))
    assert MOST.crossed(5.0, 4.0)
    assert not LEAST.crossed(-1e-7, 1e-7, size=1.0)


def test_status_and_gap_are_those_of_costs() -> None:
    assert LEAST.gap == pytest.approx(1 - 0.25 / 0.3)
    assert MOST.gap == pytest.approx(0.2)
    assert [LEAST.status, replace(LEAST, bound=0.3).status, replace(LEAST, bound=None).status] == [
        "open",
        "optimal",
        "plan",
    ]
