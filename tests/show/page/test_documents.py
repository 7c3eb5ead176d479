"""Pages of answers of every kind: valid, whole, and of text alone where names are hostile."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import html5lib

import mtpp_dsl
from mtpp_dsl.core.base.units import format_share
from mtpp_dsl.core.plans.result import Bound, LogEntry, Result
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.show.page import what_if
from mtpp_dsl.show.page.answer import verdict
from mtpp_dsl.show.page.front import front_page
from mtpp_dsl.show.page.view import View
from mtpp_dsl.show.report.fronts import front_to_json
from mtpp_dsl.show.report.terminal import summary
from mtpp_dsl.show.reporting import page_of
from tests.amount import stride
from tests.show.page.answers import ANSWERS, EXAMPLES
from tests.show.page.plain import plain

OUTSIDE = re.compile(r"""(?:src|href|action|data|poster)\s*=\s*["'](?!\#)|url\((?!["']?\#)|@import|<link|<base""")
FEW = ("hostile", "infeasible", "bound", "unknown", "target")


class Ids(HTMLParser):
    """All ids and all links within a page, and how its headings go down."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: set[str] = set()
        self.headings: list[int] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("id"):
            self.ids.append(str(given["id"]))
        if tag == "a":
            self.links.add(str(given["href"]))
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))


def check(text: str) -> Ids:
    """Hold what every page keeps: strictly valid, no outside reference, ids once, links that lead somewhere."""
    html5lib.HTMLParser(strict=True).parse(text)
    assert not OUTSIDE.search(re.sub(r"<(script|pre)\b.*?</\1>", "", text, flags=re.DOTALL))
    found = Ids()
    found.feed(text)
    assert len(found.ids) == len(set(found.ids))
    assert {link[1:] for link in found.links} <= set(found.ids)
    assert found.headings[0] == 1
    assert found.headings.count(1) == 1
    assert all(below <= above + 1 for above, below in zip(found.headings, found.headings[1:], strict=False))
    return found


def test_answers_of_every_kind() -> None:
    """The page of every answer is made without an exception, and is valid HTML that refers to nothing outside."""
    chosen = dict.fromkeys([*FEW, *list(ANSWERS)[:: stride(7)]])
    for name in chosen:
        problem, result = ANSWERS[name]()
        text = plain(page_of(problem, result))
        found = check(text)
        assert ("loads" in found.ids) == (result.plan is not None), name
        assert ("clash" in found.ids) == (result.infeasibility is not None), name
        assert ("certificate" in found.ids) == (result.bound is not None), name
        assert {"answer", "nodes", "origin"} <= set(found.ids), name
        assert len(text) < 400_000, name


def test_pages_say_the_status() -> None:
    """The head says in a sentence what is held, of an answer without a plan too."""
    said = {name: page_of(*ANSWERS[name]()) for name in ("infeasible", "bound", "unknown")}
    assert "No plan keeps all constraints" in said["infeasible"]
    assert "No plan was found; no plan is below" in said["bound"]
    assert "Neither a plan nor a bound was found" in said["unknown"]


def test_page_without_a_plan_says_once_what_clashes_and_what_would_help() -> None:
    """With time for it, the page tells the irreducible set in place of the first reason, and whether changes help."""
    problem, result = ANSWERS["infeasible"]()
    found = page_of(problem, result)
    assert "Leave any one of these out" in found or "These cannot all hold" in found
    text = plain(page_of(problem, result, what_if=10))
    assert "It was not tried whether fewer of them clash" not in text
    assert text.count("cannot hold together; dropping") == 1
    assert "Without any one of these there is a plan." in text
    assert "twice the bandwidth</th><td>still no plan" in re.sub("</?bdi[^>]*>", "", text)
    assert re.search("a quarter more memory</th><td>(there is a|still no) plan", re.sub("</?bdi[^>]*>", "", text))
    assert "from the plan of this answer" not in text
    check(text)


def test_notes_show_the_lines_of_the_spec_as_they_are() -> None:
    """The excerpt under a warning keeps its lines."""
    problem = mtpp_dsl.load("""
graph { node a (work = 2 ms, params = 3 GB) }
device gpu[2] (memory = 4 GB)
interconnect shared (bandwidth = 1 GB/s)
minimize bottleneck
""")
    assert "\n" in problem.warnings[0]
    text = plain(page_of(problem, mtpp_dsl.solve(problem, time_limit=2)))
    assert "say &#39;constraint memory&#39;" in text
    assert re.search(r"<pre tabindex=\"0\"><code> *3 \| device gpu\[2\] \(memory = 4 GB\)\n", text)


def test_shards_share_their_rows() -> None:
    """Devices of one stage with the same figures have one row: of loads, memory, the pipeline, and what is sent."""
    text = plain(page_of(*ANSWERS["shards"]()))
    for begin, end in (("loads", "graph"), ("memory", "schedule"), ("schedule", "explained"), ("network", "nodes")):
        part = text.partition(f'<section id="{begin}"')[2].partition(f'<section id="{end}"')[0]
        rows = part.partition("What devices send each other")[0].rpartition("</svg></div>")[2]
        assert "gpu[0..1]</" in (rows if begin == "network" else part), begin
        assert "gpu[1]</" not in (rows if begin == "network" else part), begin


def test_answer_and_result_have_one_page(tmp_path: Path) -> None:
    """A result and its JSON, read again, make the same page."""
    from mtpp_dsl.solving.answers.again import read_answer

    problem = mtpp_dsl.load(EXAMPLES / "quickstart.mtpp")
    result = mtpp_dsl.solve(problem, time_limit=5)
    (tmp_path / "a.json").write_text(result.to_json(), encoding="utf-8")
    again = read_answer(tmp_path / "a.json")
    assert page_of(again.problem, again) == result.to_html()


def test_lines_of_the_spec_have_what_came_of_them() -> None:
    """The statements of the spec stand beside what they cost."""
    _, result = ANSWERS["quickstart"]()
    text = plain(result.to_html())
    assert 'id="line-22"' in text
    assert "14.465 ms in this plan" in text
    assert "the fullest device is at 88 % of its room" in text


def test_the_head_says_what_the_best_may_be() -> None:
    """How much better the best may be is a share of the value, for a throughput as well; the bound stands beside it."""
    problem, result = ANSWERS["quickstart"]()
    answer = {**result.to_dict(), "status": "feasible", "gap": 0.2}
    answer["objective"] = {**answer["objective"], "value": 0.02}
    answer["bound"] = {**answer["bound"], "value": 0.016}
    view = View(problem, result.plan, result.evaluation, answer)
    assert verdict(view).endswith("no plan is below 16 ms, so the best is at most 20 % lower.")
    faster = replace(view, problem=replace(problem, objective=Objective("throughput")))
    faster.answer["objective"]["value"], faster.answer["bound"]["value"] = 40.0, 50.0
    assert verdict(faster).endswith("so the best is at most 25 % higher.")


def test_schedules_are_held_against_the_makespan() -> None:
    """How busy the devices of a schedule are is a share of its makespan, beside which the bound of it stands."""
    problem = mtpp_dsl.load(EXAMPLES / "unequal.mtpp")
    found = mtpp_dsl.solve(problem, "heft")
    result = replace(found, bound=Bound(0.03, "by hand", "trusted", "nobody")).of(problem)
    assert result.evaluation is not None
    text = plain(result.to_html())
    loads = text[text.index('<section id="loads"') : text.index('<section id="graph"')]
    assert "How busy the devices are" in loads
    assert "the bound of the makespan, " in loads
    assert "bottleneck</" not in loads
    share = result.evaluation.load.max() / result.evaluation.makespan
    assert f"({format_share(float(share))})</td>" in loads


def test_rates_are_as_they_were_written() -> None:
    """A bandwidth is shown in the unit in which few digits say it, as the spec does; the network has its note."""
    text = """graph {{ node a (work = 2 ms, output = 1 MB) node b (work = 2 ms) edge a -> b }}
device d[2]\ninterconnect shared (bandwidth = {0})\nminimize bottleneck"""
    for rate, shown in (
        ("12 GB/s", "12 GB/s"),
        ("8 GiB/s", "8 GiB/s"),
        ("100 Gbit/s", "12.5 GB/s"),
        ("1/3 GB/s", "333.33 MB/s"),
    ):
        problem = mtpp_dsl.load(text.format(rate.replace("1/3 GB/s", "1 GB/s / 3")))
        page = plain(page_of(problem, mtpp_dsl.solve(problem, "ideals")))
        assert f"A shared channel of {shown} joins" in page
        assert "in sum" not in page or 'href="#network">devices read' in page


def test_axes_have_round_marks() -> None:
    """The marks of a gap over time are round numbers, not quarters of what is drawn."""
    problem, result = ANSWERS["bound"]()
    log = (LogEntry(0.1, None, 0.0101), LogEntry(0.7, 0.0193, 0.0152))
    text = plain(page_of(problem, replace(result, log=log, time={"start": 1.0, "read": 0.5, "total": 2.23})))
    chart = text[text.index('<section id="progress"') :].partition("</figure>")[0]
    assert re.findall(r'class="tick \w+">([^<]*)</text>', chart) == [
        *("12", "14", "16", "18"), *("0 ms", "200 ms", "400 ms", "600 ms"), "ms"
    ]  # fmt: skip


def test_an_objective_may_use_up_its_share() -> None:
    """Of several objectives each but the last has a share of the time: the limit of all may not be reached."""
    problem = mtpp_dsl.load(EXAMPLES / "cheapest.mtpp")
    result = replace(Result("time_limit", method="auto", time={"total": 1.0}), objectives=()).of(problem)
    assert "an objective used up its share of the time" in page_of(problem, result)
    assert "the time limit was reached" not in page_of(problem, result)
    said = "\n".join(map(str, summary(problem, result)))
    assert "an objective used up its share of the time, without a plan or a bound" in said


def test_front_has_a_page() -> None:
    """The page of a front has all its points, and says how to get the page of one."""
    problem = mtpp_dsl.load(EXAMPLES / "buying.mtpp")
    found = mtpp_dsl.front(problem, ["price", "bottleneck"], points=4, time_limit=5)
    data = json.loads(json.dumps(front_to_json(found)))
    text = front_page(data, "my front.json")
    check(text)
    assert text.count("<title>point ") == len(found.points) > 1
    assert "mtpp report &#39;my front.json&#39; --point 1" in text
    check(front_page({"schema": 2, "front": [], "complete": False}))


def test_a_point_of_a_front_keeps_its_spec() -> None:
    """The row that the point is the best under is no line of the spec, and does not keep it from being shown."""
    problem = mtpp_dsl.load("""
graph { node a[i in 0..2] (work = 2 ms, output = 1 MB) }
device d[2] (price = 1 USD)
interconnect shared (bandwidth = 1 GB/s)
minimize price: sum(price(d) * used(d) for d in devices)
minimize bottleneck
""")
    front = mtpp_dsl.front(problem, ["price", "bottleneck"], points=2)
    text = plain(front.points[1].to_html())
    found = check(text)
    assert "spec" in found.ids
    assert "keep bottleneck" not in text


def test_gap_over_time_is_drawn() -> None:
    """The log is two lines of steps, in the unit of the objective, and a table of all its entries."""
    problem, result = ANSWERS["bound"]()
    log = (LogEntry(0.1, None, 0.010), LogEntry(0.2, 0.02, 0.010), LogEntry(1.0, 0.016, 0.0152))
    text = plain(page_of(problem, replace(result, log=log)))
    check(text)
    assert text.count('class="line bottleneck"') == text.count('class="line bound"') == 1
    assert "plan from none to 16 ms, bound from 10 ms to 15.2 ms" in text
    assert "the gap closes" not in text
    assert text.count('<td class="figure">5 %</td>') == 1


def test_where_the_gap_closes_is_seen() -> None:
    """The moment in which plan and bound meet has a mark with room beside it, at the end of the search too."""
    problem, result = ANSWERS["bound"]()
    log = (LogEntry(0.1, None, 0.010), LogEntry(2.0, 0.016, 0.016))
    text = plain(page_of(problem, replace(result, log=log, time={"total": 2.0})))
    chart = text[text.index('<section id="progress"') :].partition("</figure>")[0]
    place = re.search(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="5" class="dot">', chart)
    assert place is not None
    assert 600 < float(place[1]) < 704 - 5
    assert "The gap closes after 2 s." in chart


def test_changes_are_said_of_the_value() -> None:
    """What is proved of costs is said of the value: a throughput is higher where the cost is lower."""
    problem, result = ANSWERS["quickstart"]()
    case = {"kind": "memory", "name": "more", "device": None, "like": None, "status": "feasible", "value": 0.01,
            "bound": 0.008, "best": {"least": 0.8, "most": 1.0}, "never_worse": True, "why": None}  # fmt: skip
    asked = {"what_if": {"now": {"value": 0.0145, "bound": 0.0145}, "cases": [case]}, "notes": []}
    view = View(problem, result.plan, result.evaluation, result.to_dict(), explanation=asked, asked=True)
    shown = what_if.section(view)
    assert shown is not None
    assert "no worse, 20 % lower at most" in plain(shown.body)
    faster = replace(problem, objective=Objective("throughput"))
    shown = what_if.section(replace(view, problem=faster))
    assert shown is not None
    assert "no worse, 25 % higher at most" in plain(shown.body)


def test_what_is_only_claimed_of_a_bound_is_not_told_as_shown() -> None:
    """A page is made of a file that anybody may have written: that its bound was checked is what it says."""
    spec = "graph { node a (work = 2) } device d\ninterconnect shared (bandwidth = 1)\nminimize bottleneck"
    page = plain(mtpp_dsl.solve(mtpp_dsl.load(spec), "ideals").to_html())
    assert "The answer says that its bound is by" in page
    assert "; mtpp verify tells whether its certificate proves it." in page
    assert "checked by mtpp" in page


def test_objectives_in_bytes_have_the_units_of_the_spec() -> None:
    """Of a spec in GB no value is in GiB, of later objectives neither."""
    problem = mtpp_dsl.load("""
graph { node v[i in 0..3] (work = 1 ms, params = 7 GB, output = 1 MB) }
device d[2] (memory = 20 GB)
interconnect shared (bandwidth = 1 GB/s)
minimize held: sum(params(v) * on(v, d[0]) for v in nodes) + 1 GB
minimize bottleneck
""")
    text = plain(mtpp_dsl.solve(problem, time_limit=5).to_html())
    assert "held 1 GB" in text
    assert "iB" not in re.sub("(?s)<script.*", "", text)
