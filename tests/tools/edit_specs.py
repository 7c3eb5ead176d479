"""Edits specs at random as a person with an editor does, and holds every answer of the server against the clock.

    python -m tests.tools.edit_specs --edits 10000

Each edit goes to a real server by its pipe; after some of them all requests are asked, some of which are cancelled.
It fails where a request is answered by an error, an answer takes longer than a second of which the server has worked
for one (on a machine with other work, waiting for a processor does not count), the server's memory grows, its log has
an exception, or its last word on a text is not what a fresh reading of it finds.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mtpp_dsl.editor.server.features.problems import problems
from mtpp_dsl.editor.server.positions import path_of
from mtpp_dsl.editor.server.reading import reading_of
from mtpp_dsl.editor.server.workspace import Document, Replacement
from tests.editor.server.session import Session
from tests.tree import ROOT

LONGEST = 1.0
"""Seconds of the slowest answer that is allowed."""
GROWTH = 60 * 2**20
"""Bytes by which the memory of the second half may be above that of the first."""
CANCELLED, REFUSED = -32800, -32803
"""Errors that are right: of a request that was cancelled, and of a word that cannot be renamed."""
PATIENCE = 20.0
"""Seconds after which the messages of a text are compared as they are."""
OURS = ROOT.parent.parent / "shared" / "specs"

PIECES = (
    *(
        "a",
        "x1",
        "_",
        " ",
        "\n",
        "\r\n",
        "\t",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "=",
        "==",
        "<=",
        ",",
        ":",
        ".",
        "..",
        '"',
        "#",
    ),
    *("µ", "é", "😀", "𝛼", "\u2028", "\u202e", "\ud83d", "\udc00", "\x00", "\x1b"),
    *("let v = 3 ms\n", "node n (work = 3 ms)\n", "edge a -> b\n", "device d[2]\n", "constraint pin a on gpu[0]\n"),
    *(
        "for i in 0..3",
        "if k > 2",
        "graph {\n",
        "}\n",
        "scenario night {\n",
        "minimize bottleneck\n",
        " ms",
        " GiB",
        "0..<n",
    ),
    *(
        'include "devices/nvidia.mtpp"\n',
        "forall d in devices: ",
        "load(d)",
        "param k: int = 4 in 2..8\n",
        "1e9",
        "10^9",
    ),
)


@dataclass
class Run:
    """What was seen of a server while texts were edited."""

    slowest: dict[str, float] = field(default_factory=dict)
    worked: dict[str, float] = field(default_factory=dict)
    asked: int = 0
    cancelled: int = 0
    wrong: list[str] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)

    def answered(self, method: str, seconds: float, worked: float, answer: dict[str, Any]) -> None:
        """Note an answer, the seconds that it took, and those of them that the server has worked."""
        self.asked += 1
        self.worked[method] = max(min(seconds, worked), self.worked.get(method, 0.0))
        self.slowest[method] = max(seconds, self.slowest.get(method, 0.0))
        error = answer.get("error")
        if error is not None and error["code"] not in (CANCELLED, REFUSED):
            self.wrong.append(f"{method}: {error}")
        self.cancelled += error is not None and error["code"] == CANCELLED


def specs() -> list[Path]:
    """Return the specs that are edited."""
    return [*sorted(OURS.glob("*.mtpp")), *sorted((ROOT / "examples").glob("*.mtpp"))]


def edit(text: str, random_: random.Random, original: str) -> tuple[int, int, str]:
    """Return a random edit: what is typed, deleted, moved, doubled or undone."""
    start = random_.randint(0, len(text))
    kind = random_.random()
    if kind < 0.45:
        return start, start, random_.choice(PIECES)
    stop = min(len(text), start + random_.choice((1, 1, 2, 5, 20, 80)))
    if kind < 0.75:
        return start, stop, ""
    if kind < 0.9:
        return start, stop, text[(at := random_.randint(0, len(text))) : at + random_.choice((3, 20, 200))]
    if kind < 0.95 or len(text) > 2 * len(original) + 500:
        return 0, len(text), original
    return start, stop, "".join(random_.choices(PIECES, k=5))


def requests(uri: str, at: tuple[int, int], capabilities: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every request that the server takes, about a place of a text."""
    text = {"textDocument": {"uri": uri}}
    place = {"line": at[0], "character": at[1]}
    area = {"start": {"line": max(0, at[0] - 5), "character": 0}, "end": {"line": at[0] + 5, "character": 7}}
    options = {"tabSize": 2, "insertSpaces": True}
    yield "textDocument/codeAction", {**text, "range": area, "context": {"diagnostics": []}}
    yield "textDocument/formatting", {**text, "options": options}
    yield "textDocument/rangeFormatting", {**text, "range": area, "options": options}
    yield "textDocument/documentSymbol", text
    yield "textDocument/foldingRange", text
    yield "textDocument/semanticTokens/full", text
    yield "textDocument/semanticTokens/range", {**text, "range": area}
    further = {
        "completionProvider": ("textDocument/completion", {}),
        "hoverProvider": ("textDocument/hover", {}),
        "definitionProvider": ("textDocument/definition", {}),
        "referencesProvider": ("textDocument/references", {"context": {"includeDeclaration": True}}),
        "documentHighlightProvider": ("textDocument/documentHighlight", {}),
        "signatureHelpProvider": ("textDocument/signatureHelp", {}),
        "renameProvider": ("textDocument/prepareRename", {}),
        "inlayHintProvider": ("textDocument/inlayHint", {"range": area}),
    }
    for capability, (method, more) in further.items():
        if capabilities.get(capability):
            yield method, {**text, "position": place, **more}


def run(edits: int, seed: int, paths: Sequence[Path], every: int = 4) -> Run:
    """Edit specs in a server of their own; return what was seen."""
    random_ = random.Random(seed)
    seen = Run()
    folder = Path(__file__).parent
    with Session(root=folder.as_uri()) as session:
        originals = {path.with_name(f"edited-{path.name}").as_uri(): path.read_text(encoding="utf-8") for path in paths}
        documents = {uri: Document(uri, text, 1) for uri, text in originals.items()}
        for uri, text in originals.items():
            session.open(uri, text)
        for number in range(edits):
            uri = random_.choice(list(documents))
            document = documents[uri]
            start, stop, new = edit(document.text, random_, originals[uri])
            where = document.lines.position(start), document.lines.position(stop)
            document.change(Replacement(new, where), document.version + 1)
            (line, column), (last, end) = where
            area = {"start": {"line": line, "character": column}, "end": {"line": last, "character": end}}
            session.change(uri, document.version, {"range": area, "text": new})
            if number % every == 0:
                ask(session, uri, where[0], random_, seen)
            if number % 50 == 0:
                compare(session, document, seen)
                seen.memory.append(memory(session.process.pid))
        for document in documents.values():
            compare(session, document, seen)
        if b"Traceback" in session.log:
            seen.wrong.append(session.log.decode(errors="replace")[-3000:])
        if session.end() != 0:
            seen.wrong.append("the server did not end well")
    return seen


def ask(session: Session, uri: str, at: tuple[int, int], random_: random.Random, seen: Run) -> None:
    """Ask some requests at once, cancel one of them at times, and wait for all answers."""
    every = list(requests(uri, at, session.capabilities))
    open_: dict[int, tuple[str, float, float]] = {}
    process = session.process.pid
    for method, params in random_.sample(every, min(3, len(every))):
        open_[session.request(method, params)] = method, time.monotonic(), work(process)
    if random_.random() < 0.2:
        session.tell("$/cancelRequest", {"id": random_.choice(list(open_))})
    limit = time.monotonic() + 120
    while open_:
        message = session.take(limit - time.monotonic())
        if message is None:
            seen.wrong.append(f"no answer to {[method for method, *_ in open_.values()]}")
            return
        if "method" not in message and message.get("id") in open_:
            method, began, before = open_.pop(message["id"])
            seen.answered(method, time.monotonic() - began, work(process) - before, message)


def compare(session: Session, document: Document, seen: Run) -> None:
    """Note where the server's messages about a text are not those of a fresh reading of it."""
    began = time.monotonic()
    end = began + PATIENCE
    fresh = problems(reading_of(document.text, path=path_of(document.uri)))
    wanted = [(one.diagnostic.code, one.diagnostic.severity == "error") for one in fresh[document.uri]]
    told: list[tuple[str, bool]] = []
    while time.monotonic() < end:
        published = session.diagnostics.get(document.uri, {})
        told = [(one.get("code", ""), one["severity"] == 1) for one in published.get("diagnostics", ())]
        if published.get("version") == document.version and told == wanted:
            return
        session.take(0.05)
    seen.wrong.append(f"{document.uri} {document.version}: {told} in place of {wanted}: {document.text!r}")


def work(process: int) -> float:
    """Return the seconds that a process has worked, in all of its threads."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(process: int) -> int:
    """Return the bytes of memory of a process."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return 1024 * int(status.split("VmRSS:")[1].split()[0])


def faults(seen: Run) -> list[str]:
    """Return what is not as it should be."""
    found = list(dict.fromkeys(seen.wrong))
    found += [f"{method} took {seconds:.2f} s" for method, seconds in seen.worked.items() if seconds > LONGEST]
    half = len(seen.memory) // 2
    if half > 10:
        before, after = max(seen.memory[half // 2 : half]), max(seen.memory[half:])
        if after > before + GROWTH:
            found.append(f"memory grew from {before >> 20} to {after >> 20} MiB")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Edit the specs, and print what was seen."""
    parser = argparse.ArgumentParser(description="Edit specs at random in a language server.")
    parser.add_argument("--edits", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=4, help="ask requests after so many edits")
    given = parser.parse_args(arguments)
    began = time.monotonic()
    seen = run(given.edits, given.seed, specs(), given.every)
    print(f"{given.edits} edits, {seen.asked} answers ({seen.cancelled} cancelled), {time.monotonic() - began:.0f} s")
    for method, seconds in sorted(seen.slowest.items()):
        print(f"  {1000 * seconds:6.0f} ms at most, {1000 * seen.worked[method]:4.0f} ms of work  {method}")
    if seen.memory:
        print(f"memory {seen.memory[0] >> 20} to {max(seen.memory) >> 20} MiB, {seen.memory[-1] >> 20} at the end")
    found = faults(seen)
    for fault in found[:20]:
        print(f"FAULT {fault}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
