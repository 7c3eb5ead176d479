"""A problem whose names hold markup, quotes, control characters and marks that turn text, for tests of every output."""

from __future__ import annotations

from itertools import pairwise

from mtpp_dsl.core.constraints import Acyclic, Memory
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.problem.spec_origin import Origin

__all__ = ["HOSTILE", "hostile_problem", "hostile_spec"]

HOSTILE = (
    "<script>document.title='taken'</script>",
    "</script><img src=x onerror=\"document.title='taken'\">",
    "]]><!-- &amp; &#60; -->",
    "\"quoted\" 'twice' `thrice`",
    "\\end{document} $x_1$ %d {0} \\u003c",
    "turned \u202e\u2066txet\u2069 round",
    "hidden \u200b\u2060\ufeff here",
    "lines \u2028\u2029 apart",
    "\x00\x07\x1b[2J\x1b]0;title\x07\x7f\x9b31m",
    "half a pair \ud800",
    "no character \ufffe\U0001ffff\ufdd0",
    "עברית and 中文 and 🧠",
    "tab\tand return\r",
    " ",
    "",
    "x" * 10_000,
    "javascript:alert(1)",
    "constructor",
    "__proto__",
    "a.b[0].c",
)
"""Names that a spec, a file of a framework, or a caller in Python may bring."""


def hostile_problem(names: tuple[str, ...] = HOSTILE) -> Problem:
    """Return a problem whose nodes, devices, kinds and labels are called so, which any method solves."""
    n = len(names)
    graph = Graph.create(
        names,
        [(v, v + 1) for v in range(n - 1)],
        work=[float(v % 3 + 1) for v in range(n)],
        params=1.0,
        output=1.0,
        kinds=[names[(v + 1) % n] for v in range(n)],
        labels=[names[(v + 2) % n] for v in range(n)],
    )
    devices = [Device(names[0], memory=float(2 * n)), Device(names[1], memory=float(2 * n))]
    origin = Origin(path=f"{names[0]}.mtpp", params={"k": 2, names[3]: names[1]}, scenario=names[2])
    return Problem.create(graph, devices, Shared(bandwidth=10.0), Objective("bottleneck"), [Acyclic(), Memory()],
                          origin=origin)  # fmt: skip


def hostile_spec() -> str:
    """Return a spec with such names as far as the language lets texts have them."""
    names = [
        name
        for name in HOSTILE
        if name.isprintable() and name.strip() and len(name) < 1000 and not set(name) & {'"', "\\"}
    ]
    nodes = "\n".join(f'  node "{name}" (work = {v % 3 + 1}, params = 1, output = 1)' for v, name in enumerate(names))
    edges = "\n".join(f'  edge "{tail}" -> "{head}"' for tail, head in pairwise(names))
    return (
        f"mtpp 1\n# {HOSTILE[0]} \u05e2\u05d1\ngraph {{\n{nodes}\n{edges}\n}}\ndevice gpu[2] (memory = 100)\n"
        "interconnect shared (bandwidth = 10)\nconstraint acyclic\nminimize bottleneck\n"
    )
