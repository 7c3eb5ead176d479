"""Write docs/gallery.md anew, a section for each spec of examples/: ``python -m tests.tools.gallery``.

This solves them, which takes half a minute. A test makes the page again with the figures that it has; the page's
commands are run with those of the other pages.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "gallery.md"
HEAD = """# Gallery

Every spec of [examples](../examples), with what it shows, and what `mtpp solve` says of it. Start from the one that is
most like yours. This page is written by `python -m tests.tools.gallery`.
"""


class Entry(NamedTuple):
    """A spec: its file under examples/, a title, what it shows, and pages to read on."""

    file: str
    title: str
    shows: str
    pages: tuple[str, ...]

    @property
    def anchor(self) -> str:
        """Return what the section is linked by."""
        return re.sub(r"[^\w\- ]", "", self.title.lower()).replace(" ", "-")


ENTRIES = (
    Entry("quickstart.mtpp", "A transformer on three devices", "families of nodes, a param, `acyclic`", ("tutorial",)),
    Entry("towers.mtpp", "Two towers and one head", "constraints of your own, with labels", ("language", "objectives")),
    Entry("devices.mtpp", "GPUs of the library", "`include`, types of devices, times by the roofline", ("costs",)),
    Entry("streamed.mtpp", "Memories that are too small", "`overflow = stream`, devices that differ", ("language",)),
    Entry("network.mtpp", "Two servers of four GPUs", "a tree of switches", ("networks",)),
    Entry("replicas.mtpp", "Replicas over two machines", "`replicate`, groups of devices, training", ("stages",)),
    Entry("training.mtpp", "Training with 1F1B", "`iteration`, recomputation, memory by stage", ("stages",)),
    Entry("tensor_parallel.mtpp", "Tensor parallelism", "stages on 1, 2, 4 or 8 GPUs, KV caches", ("stages",)),
    Entry("serving.mtpp", "Prefill and decode", "two phases on one placement", ("phases",)),
    Entry("copies.mtpp", "Three unequal machines that share", "several copies of a model", ("copies",)),
    Entry("buying.mtpp", "GPUs to rent, times that are off", "a price, `robust`", ("buying",)),
    Entry("cheapest.mtpp", "The cheapest machines, then energy", "two objectives in order", ("objectives", "buying")),
    Entry("unequal.mtpp", "One sample on unequal devices", "`minimize makespan`, `links`", ("methods/schedules",)),
    Entry("batch.mtpp", "A batch, cut both ways", "`batch in [...]`, chunks of a batch", ("methods/batches",)),
    Entry("generated.mtpp", "A random graph", "`graph from generator`, numbers without units", ("language",)),
)
CASES = (
    Entry("cases/inception.mtpp", "A fast GPU too small for the batch", "a batch over memories", ("case-memory",)),
    Entry("cases/gpt3.mtpp", "GPT-3 on six unequal nodes", "a batch over nodes of GPUs", ("case-gpt3",)),
    Entry("cases/gpt3_node.mtpp", "GPT-3 on one node", "`include` with other params", ("case-gpt3",)),
)
"""Too large to be solved for a page: a case study tells of each."""


def page(shown: dict[str, str]) -> str:
    """Return the text of the page.

    Args:
        shown: what ``mtpp solve`` says of the specs, by their files.
    """
    return "\n".join([HEAD, *_contents(), *(line for entry in (*ENTRIES, *CASES) for line in _section(entry, shown))])


def _contents() -> Iterator[str]:
    yield from ["| spec | shows |", "| --- | --- |"]
    for entry in (*ENTRIES, *CASES):
        yield f"| [{entry.title}](#{entry.anchor}) | {entry.shows} |"
    yield ""


def _section(entry: Entry, shown: dict[str, str]) -> Iterator[str]:
    text = (ROOT / "examples" / entry.file).read_text(encoding="utf-8")
    read = ", ".join(f"[{_title(name)}]({name}.md)" for name in entry.pages)
    yield from [f"## {entry.title}", "", f"It shows {entry.shows}. Read on: {read}.", ""]
    fragment = " fragment" if entry in CASES else ""  # their files are read from where they lie
    yield from [f"```mtpp{fragment}", text.rstrip("\n"), "```", ""]
    if entry in CASES:
        yield from ["```sh", f"mtpp solve examples/{entry.file}", "```", ""]
    else:
        yield from ["```console", f"$ mtpp solve examples/{entry.file}", shown.get(entry.file, ""), "```", ""]


def _title(name: str) -> str:
    """Return the title of a page, up to its colon."""
    first = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8").partition("\n")[0]
    return first.removeprefix("# ").partition(":")[0]


def shown_on(text: str) -> dict[str, str]:
    """Return what the text of the page shows of each spec."""
    found = re.findall(r"^```console\n\$ mtpp solve examples/(\S+)\n(.*?)\n```$", text, re.MULTILINE | re.DOTALL)
    return dict(found)


def solved(entry: Entry) -> str:
    """Return the lines on value and gap that ``mtpp solve`` prints of a spec."""
    from mtpp_dsl.cli.run import run

    out = io.StringIO()
    os.chdir(ROOT)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = run(["solve", f"examples/{entry.file}"])
    if code:
        raise RuntimeError(f"mtpp solve examples/{entry.file} ended with {code}")
    last = out.getvalue().rstrip().split("\n\n")[-1].splitlines()
    dropped = ("bound", "verified", "method", "critical path", " ")
    return "\n".join(line for line in last if not line.startswith(dropped))


if __name__ == "__main__":
    PAGE.write_text(page({entry.file: solved(entry) for entry in ENTRIES}), encoding="utf-8")
