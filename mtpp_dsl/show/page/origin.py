"""Write how an answer was found: the method, its time, what it ran on, and how to find it again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from mtpp_dsl.core.base.units import format_quantity
from mtpp_dsl.show.page.answer import ended
from mtpp_dsl.show.page.markup import Child, name, tag
from mtpp_dsl.show.page.section import Section
from mtpp_dsl.show.page.tables import facts, fold, table
from mtpp_dsl.show.page.view import View

__all__ = ["command", "section"]


def section(view: View) -> Section:
    """Return what is known of the search."""
    answer, spec = view.answer, view.answer["spec"]
    times = [[phase, format_quantity(seconds, "s")] for phase, seconds in answer["time"].items() if phase != "total"]
    files = [[name(path), tag("code", digest)] for path, digest in (spec.get("files") or {}).items()]
    if spec["sha256"] is not None:
        files.insert(0, [name(spec["path"] or "the spec"), tag("code", spec["sha256"])])
    again = command(view)
    body = tag(
        "",
        facts(_facts(view)),
        fold("Where the time went", table("Time by phase", ["phase", "time"], times)) if times else None,
        fold("Files that were read", table("Files and their SHA-256", ["file", "SHA-256"], files, figures=9))
        if files
        else None,
        tag("p", "The same search again:") if again else None,
        tag("pre", tag("code", again), class_="command", tabindex=0) if again else None,
    )
    return Section("origin", "How it was found", body, folded=True)


def _facts(view: View) -> Iterator[tuple[Child, Child]]:
    answer = view.answer
    yield "method", answer["method"] or "none"
    if answer["solver"]:
        yield "solver", name(answer["solver"])
    yield "seed", str(answer["seed"])
    if "total" in answer["time"]:
        yield "time", format_quantity(answer["time"]["total"], "s")
    yield "ended", ended(view)
    yield "versions", ", ".join(f"{package} {version}" for package, version in answer["versions"].items())
    times = answer.get("times")
    if times:
        yield "times of nodes", ", ".join(f"{count:,} {how}" for how, count in times.items() if count)


def command(view: View) -> str:
    """Return the call of ``mtpp solve`` that searches again; "" of a problem that was made in Python."""
    answer, spec = view.answer, view.answer["spec"]
    if not spec["path"]:
        return ""
    words = ["mtpp", "solve", spec["path"]]
    for key, value in spec["params"].items():
        words += ["-D", f"{key}={_written(value)}"]
    if spec.get("scenario") is not None:
        words += ["--scenario", spec["scenario"]]
    if answer.get("target") is not None:
        words += ["--for", answer["target"]["name"]]
    words += ["--method", answer["method"]] if answer["method"] else []
    words += ["--seed", str(answer["seed"])] if answer["seed"] else []
    return shlex.join(words)


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
