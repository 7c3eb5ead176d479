"""Write how an answer was found: the method, its time, what it ran on, and how to find it again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from mtpp_dsl.core.base.units import format_quantity
from mtpp_dsl.show.page.answer import ended
from mtpp_dsl.show.page.markup import Child, name, tag
from mtpp_dsl.show.page.tables import facts, fold, table
from mtpp_dsl.show.page.view import Section, View


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


# What proves the bound.

KINDS = {
    "shares": "all the work must be done, and the devices together are no faster than that (archer2024, Lemma 3.3)",
    "cuts": "nodes that some devices cannot have below the bound, and the shares of the work left to the others",
    "configuration": "weights of nodes, of which the devices below the bound cannot hold all",
    "chain": "weights of nodes, of which no pipeline of blocks below the bound can hold all",
    "count": "tensors that several devices must share below the bound, and what all of them cost together",
    "path-hull": "a path through the graph that subgraphs have to cut",
    "routes": "prices of devices at which no single route is cheap",
    "windows": "a makespan below the bound leaves some node no time to run in",
    "batches": "what the batches of all inputs, or those of one, take at least",
    "ideals": "all chains of ideals, none of which has all blocks below the bound (tarnawski2020, 5.1.1)",
    "leaves": "boxes that cover all choices, and for each a sum of rows that no plan below the bound keeps to",
}
"""What each kind of certificate argues."""


def certificate_section(view: View) -> Section | None:
    """Return what the bound rests on; None without a bound."""
    bound: Mapping[str, Any] | None = view.answer["bound"]
    if bound is None:
        return None
    certificate = bound["certificate"]
    pairs: list[tuple[Child, Child]] = [
        ("bound", "none is finite" if bound["value"] is None else view.value(bound["value"])),
        ("method", name(bound["method"])),
        ("by", name(bound["by"])),
        (
            "proof",
            "checked by mtpp" if bound["proof"] == "checked" else "trusted: the solver's word",
        ),
    ]
    if bound["detail"]:
        pairs.append(("argument", bound["detail"]))
    path = view.answer["spec"]["path"]
    check = tag("pre", tag("code", shlex.join(["mtpp", "verify", path or "SPEC", "ANSWER.json"])), tabindex=0)
    if certificate is None:
        how = "The answer holds no certificate: deriving the bound again would take the whole search."
        how += " mtpp verify checks the plan, its loads and its value, and says that the bound is not proved again."
    else:
        how = "mtpp verify derives the bound from this certificate, by code that shares nothing with what found it."
    body = tag(
        "",
        facts(pairs),
        tag("p", how),
        check,
        _contents(certificate) if certificate is not None else None,
    )
    return Section("certificate", "The certificate of the bound", body, nav="Certificate", folded=True)


def _contents(certificate: Mapping[str, Any]) -> Child:
    """Return of what kind a certificate is, and how much of what is in it: itself it is in the answer's JSON."""
    kind = str(certificate["kind"])
    size = len(json.dumps(certificate))
    rows = [[tag("code", name(key)), _sized(value)] for key, value in certificate.items() if key != "kind"]
    return tag(
        "",
        tag("p", tag("strong", name(kind)), f": {KINDS[kind]}." if kind in KINDS else ".",
            f" It takes {size:,} characters of the answer's JSON."),
        table("What the certificate holds", ["field", "value"], rows, figures=9) if rows else None,
    )  # fmt: skip


def _sized(value: object) -> Child:
    if isinstance(value, (list, dict)) and len(json.dumps(value)) > 80:
        word = "entry" if len(value) == 1 else "entries"
        return f"{len(value):,} {word}"
    return name(json.dumps(value) if not isinstance(value, str) else value, 120)
