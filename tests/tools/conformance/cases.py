"""Read the conformance set: chapters of specs, and beside each of them what its specs mean."""

from __future__ import annotations

import json
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mtpp_dsl.core.text.source import Source
from mtpp_dsl.language.lowering.lower import analyse
from tests.tools.conformance.meaning import meaning_of_problem, messages_of
from tests.tree import ROOT

FOLDER = ROOT / "tests" / "conformance"
MAIN = "spec.mtpp"
REST = "(the rest of this chapter)"
"""The name of the case of what is added to specs of a chapter, alone."""


@dataclass(frozen=True)
class Case:
    """One spec of the set.

    Attributes:
        chapter: the file that it is in, without its suffix.
        name: what it shows.
        spec: its text.
        rest: what is added at its end.
        files: further files that are beside it, by name.
        given: values of params from outside, as ``-D`` gives them.
        scenario: the one that is chosen.
    """

    chapter: str
    name: str
    spec: str
    rest: str
    files: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    scenario: str | None = None

    @property
    def text(self) -> str:
        """The text that is read."""
        return f"{self.spec.rstrip()}\n{self.rest}"

    def meaning(self) -> dict[str, Any]:
        """Read the spec, in a folder of its own if it has further files, and return what it means."""
        if self.files:
            with tempfile.TemporaryDirectory() as folder, chdir(folder):
                for name, text in self.files.items():
                    Path(name).parent.mkdir(parents=True, exist_ok=True)
                    Path(name).write_text(text, encoding="utf-8")
                return self._meaning()
        return self._meaning()

    def _meaning(self) -> dict[str, Any]:
        analysis = analyse(Source(MAIN, self.text), dict(self.given), scenario=self.scenario)
        data: dict[str, Any] = {}
        if analysis.diagnostics:
            data["messages"] = messages_of(analysis.diagnostics, MAIN)
        if analysis.problem is not None:
            data["problem"] = meaning_of_problem(analysis.problem)
        return data


def chapters() -> list[str]:
    """Return the names of the chapters."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def cases(chapter: str) -> Iterator[Case]:
    """Yield the cases of a chapter, in their order; first what is added to them, where that is a whole spec."""
    data = tomllib.loads((FOLDER / f"{chapter}.toml").read_text(encoding="utf-8"))
    rest = data.get("rest", "")
    if rest:
        yield Case(chapter, REST, "", rest)
    for name, value in data["cases"].items():
        parts = {"spec": value} if isinstance(value, str) else value
        yield Case(chapter, name, **{"rest": rest, **parts})


def recorded(chapter: str) -> dict[str, dict[str, Any]]:
    """Return the meanings that are recorded of a chapter, by the names of the cases."""
    path = FOLDER / f"{chapter}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    rows = [json.loads(line) for line in lines]
    return {row.pop("case"): row for row in rows}


def meanings(chapter: str) -> dict[str, dict[str, Any]]:
    """Read the cases of a chapter; return what they mean, as it is recorded.

    Of a problem only the parts are recorded that are not those of the problem that the chapter's rest is alone.
    """
    read = {case.name: case.meaning() for case in cases(chapter)}
    alone = read.get(REST, {}).get("problem")
    for name, meaning in read.items():
        if alone is not None and "problem" in meaning and name != REST:
            problem = meaning["problem"]
            parts = {part: problem.get(part) for part in {**alone, **problem} if problem.get(part) != alone.get(part)}
            meaning["problem"] = {"as": REST, **parts}
    return read


def text_of(meanings: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the text of a recorded chapter: a line of JSON for each case."""
    rows = ({"case": name, **meaning} for name, meaning in meanings.items())
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def every_case() -> list[Case]:
    """Return the cases of all chapters."""
    return [case for chapter in chapters() for case in cases(chapter)]
