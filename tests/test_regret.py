"""docs/regret.md is what its text and the recorded figures say; every beginning of the sample is balanced."""

from __future__ import annotations

from collections import Counter
from math import inf

from benchmarks.against_records import ratios, text_of
from benchmarks.regret import page
from benchmarks.regret.sample import COUNT, HALVES, read
from mtpp_dsl.sweeps.library.collection import find_library
from mtpp_dsl.sweeps.library.record import BestKnown
from mtpp_dsl.sweeps.library.store import Records


def test_the_page_is_what_its_figures_say() -> None:
    assert page.OUTPUT.read_text(encoding="utf-8") == page.text(), "write it anew: python -m benchmarks.regret page"


def test_the_sample_is_of_mtpplib_and_balanced() -> None:
    sample, records = read(), Records(find_library("mtpplib")).read()
    assert len({drawn.name for drawn in sample}) == COUNT
    assert {drawn.name: drawn.group for drawn in sample} == {drawn.name: records[drawn.name].group for drawn in sample}
    for count in (30, 60, COUNT):
        half = Counter(drawn.half for drawn in sample[:count])
        assert abs(half[HALVES[0]] - half[HALVES[1]]) <= count // 8
        assert len({drawn.group for drawn in sample[:count]}) == len({drawn.group for drawn in sample})


def test_answers_are_held_against_records_by_costs_and_bounds() -> None:
    """Less is better for a makespan, more for a throughput; what an answer lacks is infinitely behind."""
    known = {
        "makespan": BestKnown("makespan", value=10.0, bound=8.0, sense="minimize"),
        "throughput": BestKnown("throughput", value=10.0, bound=12.0, sense="maximize"),
        "planless": BestKnown("planless", bound=3.0, sense="minimize"),
    }
    found = ratios({"makespan": (12.0, 4.0), "throughput": (5.0, 15.0), "planless": (None, None)}, known)
    assert [(one.name, one.plan, one.bound) for one in found] == [
        ("planless", None, inf),
        ("makespan", 1.2, 2.0),
        ("throughput", 2.0, 1.25),
    ]
    assert "bound: 3 of 3" in text_of(found, 1.01)
