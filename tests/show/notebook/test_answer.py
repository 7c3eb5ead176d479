"""What results show in a notebook: HTML that a strict parser takes, in which no name is markup."""

from __future__ import annotations

import re

import html5lib
import pytest

import mtpp_dsl
from mtpp_dsl.core.plans.front import Front
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.show.notebook.answer import chart
from mtpp_dsl.show.page.layout.stages import stage_numbers
from mtpp_dsl.show.report.palette import BESIDE, stage_tint
from tests.hostile_names import hostile_problem
from tests.makespans import makespan_problem
from tests.show.pictures.answers import NAMES, answer


def parsed(text: str) -> str:
    """Return the text of a fragment that a strict parser takes."""
    tree = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parseFragment(text)
    return " ".join("".join(tree.itertext()).split())


@pytest.mark.parametrize("name", NAMES)
def test_every_answer_shows_itself(name: str) -> None:
    """Verdict, picture and nodes; of an infeasible problem the reason."""
    result = answer(name)
    shown = result._repr_html_()
    assert shown is not None
    said = parsed(shown)
    if result.plan is None:
        assert "No plan keeps all constraints" in said
        assert "<svg" not in shown
        return
    assert ("optimal" in said) == (result.status == "optimal")
    assert shown.count("<svg") == 1
    assert "v[0]" in said or "v[0.." in said
    assert "<script" not in shown


def test_bars_are_as_long_as_loads() -> None:
    """The longest bar ends at the bottleneck, and the load of each device stands beside it."""
    result = answer("two")
    shown = result._repr_html_()
    assert shown is not None
    assert result.evaluation is not None
    for load in result.evaluation.load:
        assert f"{1e3 * load:.5g} ms" in parsed(shown)


def test_hostile_names() -> None:
    """Markup, control characters and marks that turn text are shown, not obeyed; long names are shortened."""
    result = mtpp_dsl.solve(hostile_problem(), "ideals", time_limit=2)
    shown = result._repr_html_()
    assert shown is not None
    assert "<script" not in shown
    assert "<img" not in shown
    assert not {"\u202e", "\x1b", "\u2028", "\x00"} & set(shown)
    assert "&lt;script&gt;" in shown
    assert "x" * 1000 not in shown
    parsed(shown)


def test_answers_without_a_plan() -> None:
    """A bound alone is told, and a result that knows no problem shows nothing of its own."""
    problem = answer("two").problem
    assert problem is not None
    bound = mtpp_dsl.Bound(0.001, "simple", "checked", "mtpp")
    shown = Result("complete", bound=bound, method="simple").of(problem)._repr_html_()
    assert shown is not None
    assert "no plan is below 1 ms" in parsed(shown)
    assert Result("complete")._repr_html_() is None


def test_fronts_show_themselves() -> None:
    """A front is a table of its points; one without points says so."""
    problem = mtpp_dsl.load(
        "graph from generator chain (nodes = 4)\ndevice d[2] (price = 2 USD/h)\n"
        "interconnect shared (bandwidth = 1)\nminimize bottleneck\nconstraint acyclic\n"
        "minimize cost: sum(price(d) * used(d) for d in devices)\n"
    )
    assert "0 points" in parsed(Front(problem)._repr_html_())


def test_devices_have_the_colours_of_their_stages() -> None:
    """A chart of time gives each device the colour that it has on the page, and transfers a grey."""
    problem = makespan_problem(7)
    result = mtpp_dsl.solve(problem, "heft")
    assert result.plan is not None
    shown = str(chart(problem, result.plan))
    stages = stage_numbers(problem, result.plan)
    assert len(stages) > 1
    drawn = set(re.findall(r'fill="(#\w+)"', shown))
    assert drawn == {stage_tint(i).light for i in stages.values()} | {BESIDE["read"].light}
