"""How long the language server works on a keystroke, by the length of a spec.

    python benchmarks/server.py [--lines 1000 10000] [--keys 40]

A statement, a node and a constraint of a long spec are typed anew, key by key, so that most texts are broken. Of each
keystroke it measures the seconds of processor time until what is wrong in the syntax is known, and until all
is; and for comparison those of reading the text afresh.
"""

from __future__ import annotations

import argparse
import gc
import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import process_time

from mtpp_dsl.editor.server.features.problems import problems
from mtpp_dsl.editor.server.workspace import Replacement, Workspace
from mtpp_dsl.language.syntax.rereading import ParsedBefore

URI = "untitled:long"


def spec(lines: int) -> str:
    """Return a spec of about so many lines: definitions, nodes, edges and constraints one by one."""
    nodes = (lines - 20) * 4 // 10
    rest = (lines - 20 - 2 * nodes) // 2
    text = ["mtpp 1", "param k: int = 4 in 2..64"]
    text += [f"let w{i} = {i % 7 + 1} ms + {i % 3} us  # of some nodes" for i in range(rest)]
    text.append("graph {")
    text += [f"  node n{i} (work = w{i % rest}, output = {i % 9 + 1} MiB, params = {i % 5} MiB)" for i in range(nodes)]
    text += [f"  edge n{i} -> n{i + 1}" for i in range(nodes - 1)]
    text += ["}", "device gpu[k] (memory = 80 GiB)", "interconnect shared (bandwidth = 8 GiB/s)"]
    text += ["minimize bottleneck", "constraint acyclic", "constraint memory"]
    text += [f"constraint pin n{i * 3 % nodes} on gpu[{i % 4}]" for i in range(rest)]
    return "\n".join(text) + "\n"


def keys(text: str) -> Iterator[Replacement]:
    """Yield what somebody types who writes three lines of a text anew, each next to itself."""
    rows = text.split("\n")
    for start in ("let w", "  node n", "constraint pin"):
        found = [number for number, row in enumerate(rows) if row.startswith(start)]
        line = found[len(found) // 2]
        new = rows[line] if start.startswith("constraint") else re.sub(r"\b[wn](?=\d)", "x", rows[line], count=1)
        rows.insert(line, new)
        yield Replacement("\n", ((line, 0), (line, 0)))
        for column, key in enumerate(new):
            yield Replacement(key, ((line, column), (line, column)))


def measured(lines: int, most: int) -> dict[str, list[float]]:
    """Return the seconds of each keystroke: to its syntax, to all of it, and afresh."""
    texts = Workspace()
    text = spec(lines)
    texts.open(URI, text)
    memories: dict[Path | None, ParsedBefore] = {}
    found: dict[str, list[float]] = {"syntax": [], "all": [], "afresh": []}
    typed = list(keys(text))
    step = max(1, len(typed) // most)
    gc.disable()
    for number, key in enumerate(typed):
        texts.change(URI, [key])
        if number % step and number < len(typed) - 1:
            continue
        job = texts.job(URI)
        assert job is not None
        began = process_time()
        reading = job.read(None, memories)
        problems(reading)
        syntax = process_time() - began
        problems(reading.analysed(reading.spec.analyse()))
        every = process_time() - began
        began = process_time()
        fresh = job.read(None)
        problems(fresh.analysed(fresh.spec.analyse()))
        found["afresh"].append(process_time() - began)
        if number:  # the first reading is a fresh one
            found["syntax"].append(syntax)
            found["all"].append(every)
        gc.collect()
    return found


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description="Measure the language server's work on a keystroke.")
    parser.add_argument("--lines", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--keys", type=int, default=40)
    given = parser.parse_args()
    print(f"{'lines':>7} {'':8} {'median':>9} {'90 %':>9} {'most':>9}")
    for lines in given.lines:
        for name, times in measured(lines, given.keys).items():
            times.sort()
            figures = (median(times), times[len(times) * 9 // 10], times[-1])
            print(f"{lines:7,} {name:8} {' '.join(f'{1000 * each:6.0f} ms' for each in figures)}")


if __name__ == "__main__":
    main()
