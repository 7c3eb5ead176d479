"""Write docs/gallery.md and its pictures anew, a section for each spec of examples/: ``python -m tests.tools.gallery``.

This solves and draws them, which takes half a minute. A test makes the page again with the figures that it has; the
page's commands are run with those of the other pages. Each picture says which spec and which answer it is of.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "gallery.md"
PICTURES = ROOT / "docs" / "gallery"
MAX_BYTES = 1_000_000
"""All pictures together stay below it."""
HEAD = """# Gallery

Every spec of [examples](../examples), with what it shows, and what `mtpp solve` says of it. Start from the one that is
most like yours. This page is written by `python -m tests.tools.gallery`.
"""


class Entry(NamedTuple):
    """A spec: its file under examples/, a title, what it shows, pages to read on, and the picture of its answer.

    The picture is a kind of ``--plot``, or a file beside the page; "" is none.
    """

    file: str
    title: str
    shows: str
    pages: tuple[str, ...]
    picture: str = ""

    @property
    def anchor(self) -> str:
        """Return what the section is linked by."""
        return re.sub(r"[^\w\- ]", "", self.title.lower()).replace(" ", "-")

    @property
    def drawn(self) -> Path:
        """Return the file of the picture."""
        return PICTURES / f"{Path(self.file).stem}.svg"

    @property
    def text(self) -> str:
        """Return the spec."""
        return (ROOT / "examples" / self.file).read_text(encoding="utf-8")


ENTRIES = (
    Entry(
        "quickstart.mtpp",
        "A transformer on three devices",
        "families of nodes, a param, `acyclic`",
        ("tutorial",),
        "graph",
    ),
    Entry(
        "towers.mtpp",
        "Two towers and one head",
        "constraints of your own, with labels",
        ("language", "objectives"),
        "graph",
    ),
    Entry(
        "devices.mtpp", "GPUs of the library", "`include`, types of devices, times by the roofline", ("costs",), "loads"
    ),
    Entry(
        "streamed.mtpp",
        "Memories that are too small",
        "`overflow = stream`, devices that differ",
        ("language",),
        "loads",
    ),
    Entry(
        "experts.mtpp", "Experts on the CPU", "`target llama_cpp`, costs of a mixture of experts", ("targets",), "loads"
    ),
    Entry("network.mtpp", "Two servers of four GPUs", "a tree of switches", ("networks",), "loads"),
    Entry(
        "replicas.mtpp", "Replicas over two machines", "`replicate`, groups of devices, training", ("stages",), "loads"
    ),
    Entry("training.mtpp", "Training with 1F1B", "`iteration`, recomputation, memory by stage", ("stages",), "memory"),
    Entry("tensor_parallel.mtpp", "Tensor parallelism", "stages on 1, 2, 4 or 8 GPUs, KV caches", ("stages",), "loads"),
    Entry("serving.mtpp", "Prefill and decode", "two phases on one placement", ("phases",), "loads"),
    Entry("copies.mtpp", "Three unequal machines that share", "several copies of a model", ("copies",), "loads"),
    Entry("buying.mtpp", "GPUs to rent, times that are off", "a price, `robust`", ("buying",), "loads"),
    Entry(
        "cheapest.mtpp",
        "The cheapest machines, then energy",
        "two objectives in order",
        ("objectives", "buying"),
        "loads",
    ),
    Entry(
        "unequal.mtpp", "One sample on unequal devices", "`minimize makespan`, `links`", ("methods/schedules",), "gantt"
    ),
    Entry("batch.mtpp", "A batch, cut both ways", "`batch in [...]`, chunks of a batch", ("methods/batches",), "gantt"),
    Entry("generated.mtpp", "A random graph", "`graph from generator`, numbers without units", ("language",), "graph"),
)
CASES = (
    Entry(
        "cases/inception.mtpp",
        "A fast GPU too small for the batch",
        "a batch over memories",
        ("case-memory",),
        "case-memory.png",
    ),
    Entry(
        "cases/gpt3.mtpp", "GPT-3 on six unequal nodes", "a batch over nodes of GPUs", ("case-gpt3",), "case-gpt3.png"
    ),
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
    read = ", ".join(f"[{_title(name)}]({name}.md)" for name in entry.pages)
    yield from [f"## {entry.title}", "", f"It shows {entry.shows}. Read on: {read}.", ""]
    fragment = " fragment" if entry in CASES else ""  # their files are read from where they lie
    yield from [f"```mtpp{fragment}", entry.text.rstrip("\n"), "```", ""]
    if entry in CASES:
        yield from ["```sh", f"mtpp solve examples/{entry.file}", "```", ""]
    else:
        yield from ["```console", f"$ mtpp solve examples/{entry.file}", shown.get(entry.file, ""), "```", ""]
    yield from _picture(entry)


def _picture(entry: Entry) -> Iterator[str]:
    """Yield the picture of a section, and how it is drawn."""
    words = {"graph": "the graph, a colour for each stage", "loads": "the loads of its stages", "gantt": "its schedule"}
    words["memory"] = "what its stages take of the memory"
    if entry.picture.endswith(".png"):
        yield from [f"![The schedule of a plan of this spec: {entry.title}]({entry.picture})", ""]
    elif entry.picture:
        name = entry.drawn.name
        yield from [f"![The answer: {words[entry.picture]}](gallery/{name})", ""]
        yield from [f"Drawn by `--plot {entry.picture}:{name}`.", ""]


def _title(name: str) -> str:
    """Return the title of a page, up to its colon."""
    first = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8").partition("\n")[0]
    return first.removeprefix("# ").partition(":")[0]


def shown_on(text: str) -> dict[str, str]:
    """Return what the text of the page shows of each spec."""
    found = re.findall(r"^```console\n\$ mtpp solve examples/(\S+)\n(.*?)\n```$", text, re.MULTILINE | re.DOTALL)
    return dict(found)


def solved(entry: Entry) -> str:
    """Draw the answer of a spec, and return the lines on its value and gap that ``mtpp solve`` prints."""
    from mtpp_dsl.cli.run import run

    out = io.StringIO()
    os.chdir(ROOT)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = run(["solve", f"examples/{entry.file}", "--threads", "1", "--plot", f"{entry.picture}:{entry.drawn}"])
    if code:
        raise RuntimeError(f"mtpp solve examples/{entry.file} ended with {code}")
    last = out.getvalue().rstrip().split("\n\n")[-1].splitlines()
    dropped = ("bound", "verified", "method", "critical path", " ")
    shown = "\n".join(line for line in last if not line.startswith(dropped))
    drawing = smaller(entry.drawn.read_text(encoding="utf-8"))
    entry.drawn.write_text(f"{drawing}\n{stamp(entry, shown)}\n", encoding="utf-8")
    return shown


def smaller(drawing: str) -> str:
    """Return a picture with two digits behind the point, and without spaces that mean nothing."""
    drawing = re.sub(r"(?<![\d.])[1-9]\d*\.\d{3,}", lambda number: f"{float(number[0]):.2f}", drawing)  # no scales
    drawing = re.sub(r"\s*\n\s*", " ", drawing).replace("> <", ">\n<").strip()
    return re.sub(r'(?<= style=")[^"]*', lambda style: style[0].replace(": ", ":").replace("; ", ";"), drawing)


def stamp(entry: Entry, shown: str) -> str:
    """Return what a picture says of itself: the spec, its kind and the answer, by hash."""
    digest = hashlib.sha256("\0".join((entry.text, entry.picture, shown)).encode()).hexdigest()
    return f"<!-- {entry.file}, {entry.picture}: {digest} -->"


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    PAGE.write_text(page({entry.file: solved(entry) for entry in ENTRIES}), encoding="utf-8")
