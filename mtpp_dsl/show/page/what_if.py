"""Write what more devices, bandwidth or memory would bring: each solved, with its bound, where there was time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mtpp_dsl.core.base.units import format_gap
from mtpp_dsl.show.page.markup import Child, Markup, name, tag
from mtpp_dsl.show.page.tables import bar, legend, scrolled
from mtpp_dsl.show.page.view import Section, View

STATUS = {
    "optimal": "optimal",
    "feasible": "not proved optimal",
    "bound": "a bound alone",
    "infeasible": "no plan exists",
    "unknown": "nothing found",
}


def section(view: View) -> Section | None:
    """Return what came of the changed problems, or how to have them solved."""
    title, nav = "What if", "What if"
    what_if = view.what_if
    if what_if is not None and what_if["cases"]:
        return Section("what-if", title, _cases(view, what_if), nav)
    if view.asked:
        reason = next((note for note in _notes(view) if note.startswith("what if")), "There is nothing to change here.")
        return Section("what-if", title, tag("p", reason), nav, folded=True)
    call = tag("pre", tag("code", "mtpp report ANSWER.json --what-if 30s"), class_="command", tabindex=0)
    sentence = (
        "One more device of each type, twice the bandwidth, a quarter more memory: each is solved, with its bound, if"
    )
    body = tag("", tag("p", f"{sentence} the page is given time for it."), call)
    return Section("what-if", title, body, nav, folded=True)


def _notes(view: View) -> list[str]:
    return [] if view.explanation is None else list(view.explanation["notes"])


def _cases(view: View, what_if: Mapping[str, Any]) -> Markup:
    """Return a row for each changed problem: its best plan and bound, as figures and beside those of now."""
    now, cases = what_if["now"], what_if["cases"]
    if view.answer["infeasible"] is not None:
        return _feasible(view, cases)
    values = [case[what] for case in (now, *cases) for what in ("value", "bound") if case[what] is not None]
    most = max(values, default=0.0)
    head = ["problem", "bar", "plan", "bound", "best then, beside the best now", "status"]
    top = tag(
        "tr", [tag("th", text, scope="col", class_="figure" if text in ("plan", "bound") else None) for text in head]
    )
    rows = [
        _row(view, "as it is", now, most, "", str(view.answer["status"])),
        *(_row(view, case["name"], case, most, _beside(view, case), case["status"]) for case in cases),
    ]
    caption = "What changes would bring"
    whole = tag("table", tag("caption", caption), tag("thead", top), tag("tbody", rows), class_="what-if")
    key = legend([("work", "best plan found"), ("bound", "no plan is beyond this")])
    return tag(
        "",
        scrolled(caption, whole),
        key,
        tag("p", "Each problem is solved from the plan of this answer.", class_="hint")
        if view.plan is not None
        else None,
    )


def _feasible(view: View, cases: Sequence[Mapping[str, Any]]) -> Markup:
    """Return a row for each changed problem of one that has no plan: whether there is one then."""
    rows = []
    for case in cases:
        some = "there is a plan: " + view.value(case["value"]) if case["value"] is not None else ""
        outcome = some or case.get("why") or ("still no plan" if case["status"] == "infeasible" else "not found out")
        rows.append(tag("tr", tag("th", name(case["name"]), scope="row"), tag("td", name(outcome))))
    caption = "Whether there would be a plan"
    head = tag("tr", tag("th", "problem", scope="col"), tag("th", "then", scope="col"))
    return scrolled(caption, tag("table", tag("caption", caption), tag("thead", head), tag("tbody", rows)))


def _row(view: View, title: str, case: Mapping[str, Any], most: float, beside: Child, status: str | None) -> Markup:
    value, bound = case["value"], case["bound"]
    picture = bar([("work", value or 0.0)], most, [] if bound is None else [("bound", bound)])
    why = case.get("why")
    return tag(
        "tr",
        tag("th", name(title), scope="row"),
        tag("td", picture, class_="picture"),
        tag("td", "none" if value is None else view.value(value), class_="figure"),
        tag("td", "none" if bound is None else view.value(bound), class_="figure"),
        tag("td", beside),
        tag("td", name(why) if why else STATUS.get(status or "", "")),
    )


def _beside(view: View, case: Mapping[str, Any]) -> str:
    """Return how much better the best value is than that of now, as far as plans and bounds prove it."""
    least, most = case["best"]["least"], case["best"]["most"]
    if least is not None and most is not None and abs(most - least) < 5e-4:
        return _change(view, most)
    parts = []
    if most is not None:
        shown = _change(view, most)
        parts.append("no worse" if most == 1 else f"{shown} at least" if most < 1 else f"at most {shown}")
    if least is not None:
        parts.append(f"{_change(view, least)} {'at most' if least < 1 else 'at least'}")
    return ", ".join(parts) or "not known"


def _change(view: View, ratio: float) -> str:
    """Return a ratio of costs as what it is for the value: a throughput is higher where its cost is lower."""
    ratio = 1 / ratio if view.problem.objective.sense == "maximize" and ratio > 0 else ratio
    if abs(ratio - 1) < 5e-7:
        return "the same"
    return f"{format_gap(abs(ratio - 1))} {'lower' if ratio < 1 else 'higher'}"
