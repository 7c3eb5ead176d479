"""Write docs/errors.md anew, a section for each code: ``python -m tests.tools.errors_page``.

Each example is read, and the message that it gives is shown. A test compares the page.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

from mtpp_dsl.core.text.codes.code import Code
from mtpp_dsl.core.text.codes.table import AREAS
from mtpp_dsl.core.text.source import Diagnostic
from mtpp_dsl.language.lowering.lower import analyse
from tests.tools.tables import DOCS

PAGE = DOCS / "errors.md"
NAME = "example.mtpp"
REST = {
    r"^(graph|import(?! plan))\b": "graph { node start (work = 1 ms, params = 1 MiB) }",
    r"^(device|import(?! plan))\b": "device gpu[2] (memory = 1 GiB)",
    r"^(interconnect|link|import(?! plan))\b": "interconnect shared (bandwidth = 8 GiB/s)",
    r"^(minimize|maximize)\b": "minimize bottleneck",
}
"""What an example gets where it has no statement of the kind."""

HEAD = """# Errors and warnings

Each message of `mtpp` about a spec has a code, and each code has a section here, with an example that causes it and
what to do. [`mtpp check --json`](checking.md) gives the codes to programs. Codes that begin with `MTPP-W` are warnings:
the spec is read and solved, and may not say what you mean. Where an example lacks a graph, devices, an interconnect or
an objective, add any.
"""


def completed(code: Code) -> str:
    """Return the example of a code with the kinds of statements that it lacks in front; their lines come first."""
    if code.whole:
        return code.example + "\n"
    rest = [text for pattern, text in REST.items() if not re.search(pattern, code.example, re.MULTILINE)]
    return "\n".join([code.example, *rest]) + "\n"


def messages(code: Code) -> tuple[Diagnostic, ...]:
    """Return the errors of the example of a code, or its warnings, in a folder of its own that has its files."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for name, text in {NAME: completed(code), **code.files}.items():
            Path(name).write_text(text, encoding="utf-8")
        found = analyse(NAME, code.given, scenario=code.scenario).diagnostics
    errors = tuple(message for message in found if message.severity == "error")
    return errors or found


def page() -> str:
    """Return the text of docs/errors.md."""
    return "\n".join([HEAD, *_contents(), *(line for area in AREAS for line in _area(area))]).rstrip() + "\n"


def _contents() -> Iterator[str]:
    yield "| code | means |"
    yield "| --- | --- |"
    for code in (code for area in AREAS for code in _sorted(area)):
        yield f"| [`{code.code}`](#{code.code.lower()}) | {code.title} |"
    yield ""


def _sorted(area: str) -> list[Code]:
    """Return the codes of an area, errors first."""
    return sorted(AREAS[area], key=lambda code: code.code)


def _area(area: str) -> Iterator[str]:
    if AREAS[area]:
        yield f"## {area}\n"
    for code in _sorted(area):
        yield f"### {code.code}\n\n**{code.title}.** {code.meaning}\n"
        yield f"```mtpp wrong\n{code.example}\n```\n"
        for name, text in code.files.items():
            yield f"with the file `{name}`:\n\n```text\n{text.rstrip()}\n```\n"
        if code.given:
            yield f"called with `{' '.join(f'-D {name}={value}' for name, value in code.given.items())}`:\n"
        if code.scenario:
            yield f"called with `--scenario {code.scenario}`:\n"
        said = next((str(message) for message in messages(code) if message.code == code.code), "")
        yield f"```text\n{said.replace(os.sep, '/')}\n```\n"
        yield f"{code.remedy}\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
