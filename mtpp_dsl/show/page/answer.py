"""The head of a page: the answer in one sentence, and what was asked."""

from __future__ import annotations

from collections.abc import Iterator

from mtpp_dsl.core.base.answered import value_of
from mtpp_dsl.core.base.units import counted, format_gap
from mtpp_dsl.show.page.markup import Child, Markup, name, tag
from mtpp_dsl.show.page.tables import facts
from mtpp_dsl.show.page.view import Section, View
from mtpp_dsl.show.report.reached import headed, still_better

ENDED = {
    "gap": "plan and bound are within the requested gap",
    "complete": "the method ran to its end",
    "time_limit": "the time limit was reached",
    "interrupted": "the search was interrupted",
    "infeasible": "it was proved that there is no plan",
    "limit": "the solver reached a limit of its own",
    "error": "a failure ended it",
    "running": "the search is still running: this is a checkpoint",
}
WORDS = {
    "optimal": "Optimal",
    "feasible": "Not proved optimal",
    "bound": "A bound, without a plan",
    "infeasible": "No plan exists",
    "unknown": "Nothing found",
}


def section(view: View) -> Section:
    """Return the head of the page."""
    status = str(view.answer["status"])
    badge = tag("p", tag("span", WORDS[status], class_=f"badge {status}"), class_="badges")
    sentence = tag("p", verdict(view), class_="verdict")
    proof = proof_of(view)
    body = tag(
        "",
        badge,
        sentence,
        None if proof is None else tag("p", proof, class_="proof"),
        facts(_figures(view)),
        _asked(view),
        _warned(view),
    )
    return Section("answer", _title(view), body, nav="Answer")


def _title(view: View) -> str:
    head = headed(view.problem)
    return head[:1].upper() + head[1:]


def verdict(view: View) -> str:
    """Return the answer in one sentence: what was found, and how good it can be at most."""
    answer, objective = view.answer, view.problem.objective
    value, bound, gap = value_of(answer["objective"]), _bound(view), answer["gap"]
    word = "below" if objective.sense == "minimize" else "above"
    limit = None if bound is None else f"no plan is {word} {view.value(bound)}"
    if answer["infeasible"] is not None:
        return f"No plan keeps all constraints: {_sentence(answer['infeasible']['reason'])}"
    if value is None:
        return f"No plan was found; {limit}." if limit else "Neither a plan nor a bound was found."
    shown = f"{objective.shown} {view.value(value)}"
    if answer["status"] == "optimal":
        later = " in all its objectives, one after the other" if view.problem.later else ""
        return f"This plan is optimal{later}: it has {shown}, and {limit or 'no plan is better'}."
    if limit is None:
        return f"This plan has {shown}. No bound was proved: how far it is from the best is not known."
    if gap == 0:
        return f"This plan has {shown}, and {limit}; a later objective is not proved."
    room = still_better(objective, value, bound) if bound is not None else ""
    return f"This plan has {shown}; {limit}{f', so the best is at most {room}' if room else ''}."


def ended(view: View) -> str:
    """Return why the search ended: of several objectives, each but the last has a share of the time."""
    termination = str(view.answer["termination"])
    if view.problem.later and termination == "time_limit":
        return "an objective used up its share of the time"
    return ENDED[termination]


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _bound(view: View) -> float | None:
    bound = view.answer["bound"]
    return None if bound is None else value_of(bound)


def proof_of(view: View) -> str | None:
    """Return in a sentence what proves the bound, as far as the answer says; None without a bound."""
    bound = view.answer["bound"]
    if bound is None or view.answer["infeasible"] is not None:
        return None
    if bound["proof"] == "trusted":
        return f"The bound is by {bound['method']}, and rests on the word of {bound['by']}."
    claim = f"The answer says that its bound is by {bound['method']} ({bound['by']}), and was checked"
    if bound["certificate"] is None:
        return f"{claim}; it holds no certificate that proves it again."
    return f"{claim}; mtpp verify tells whether its certificate proves it."


def _figures(view: View) -> Iterator[tuple[str, Child]]:
    """Yield the figures that a reader looks for first."""
    answer, bound = view.answer, _bound(view)
    value = value_of(answer["objective"])
    if value is not None:
        yield view.problem.objective.shown, tag("strong", view.value(value))
    if bound is not None and answer["infeasible"] is None:
        yield "bound", view.value(bound)
    if answer["gap"] is not None:
        yield "gap", format_gap(0.0 if answer["status"] == "optimal" else answer["gap"])
    used = view.evaluation.used if view.evaluation is not None else None
    k = view.problem.k
    yield "devices", f"{k:,}" if used is None or used.all() or not used.any() else f"{int(used.sum()):,} of {k:,} used"
    yield "graph", f"{counted(view.problem.graph.n, 'node')}, {counted(view.problem.graph.m, 'edge')}"
    yield "interconnect", view.problem.interconnect.keyword
    yield "ended", ended(view)
    if answer["plan"] is not None:
        yield "verified", "every constraint and every load, independently" if answer["verified"] else "no"


def _asked(view: View) -> Markup | None:
    """Return the spec with the params and the scenario that count."""
    spec = view.answer["spec"]
    params = [tag("", tag("code", name(key)), " = ", name(str(value))) for key, value in spec["params"].items()]
    joined: list[Child] = []
    for i, param in enumerate(params):
        joined += [", " if i else "", param]
    scenario = spec.get("scenario")
    if not params and scenario is None:
        return None
    return tag(
        "p",
        ["With ", joined] if params else None,
        (["; scenario " if params else "Scenario ", name(scenario)] if scenario is not None else None),
        ".",
        class_="asked",
    )


def _warned(view: View) -> Markup | None:
    """Return what the reader of the spec, and the method, want the user to know."""
    warnings = [*view.problem.warnings, *view.answer["notes"]]
    if not warnings:
        return None
    return tag("div", tag("h2", "Notes"), tag("ul", [_note(note) for note in warnings]), class_="notes")


def _note(text: str) -> Markup:
    """Return a note; the lines of the spec that it shows keep their form."""
    sentence, _, shown = text.partition("\n")
    return tag("li", sentence, tag("pre", tag("code", shown), tabindex=0) if shown else None)
