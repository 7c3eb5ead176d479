"""Records in files, and what differs between an answer and the one on record."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Answer = dict[str, Any]
PROVED = 1e-9
"""Relative: by so much may proved values of ``auto`` differ."""
TIMED = 0.02
"""Relative: by so much may a plan be worse, or a bound lower, where the clock ended the search."""
EXACT = (
    "status", "termination", "method", "cost", "plan",
    "bound", "bound method", "proof", "certificate", "clash", "error",
)  # fmt: skip
"""What has to be equal, bit for bit, where no clock ended the search and two runs of the old code agreed."""


def differences(old: Answer, new: Answer) -> Iterator[str]:
    """Yield what is different about an answer, in words. Texts may differ.

    *old* may have ``timed``: the clock ends it; ``steps``: it is of ``auto``, whose turns depend on the clock; and
    ``loose``: the names of what differed between two runs of the old code.
    """
    if old["kind"] != new["kind"]:
        yield f"{shown(old)} -> {shown(new)}"
        return
    if old["kind"] != "solved":
        if old.get("error") != new.get("error"):
            yield f"{shown(old)} -> {shown(new)}"
        return
    if old.get("timed"):
        yield from worse(old, new, TIMED)
        return
    loose = set(old.get("loose", ()))
    if old.get("steps"):
        if old["status"] != new["status"]:
            yield f"status {old['status']} -> {new['status']}"
        if old["status"] != "optimal":
            yield from worse(old, new, TIMED)
        elif apart(old["cost"], new["cost"], PROVED):
            yield f"cost {number(old['cost'])} -> {number(new['cost'])}"
        return
    for name in EXACT:
        if name not in loose and old.get(name) != new.get(name):
            yield f"{name} {number(old.get(name))} -> {number(new.get(name))}"
    if loose & {"cost", "bound"}:
        yield from worse(old, new, TIMED)


def worse(old: Answer, new: Answer, share: float) -> Iterator[str]:
    """Yield by how much a plan or a bound is worse than it was, if it is by more than *share*."""
    for name, sign in (("cost", 1), ("bound", -1)):
        if old.get(name) is None:
            continue
        if new.get(name) is None:
            yield f"{name} {number(old[name])} -> none"
            continue
        was, now = float.fromhex(old[name]), float.fromhex(new[name])
        if sign * (now - was) > share * abs(was):
            yield f"{name} {was:.9g} -> {now:.9g}, worse by {100 * abs(now / was - 1) if was else 100:.2g} %"


def apart(one: str | None, other: str | None, share: float) -> bool:
    """Return whether two numbers differ by more than a share of themselves."""
    if one is None or other is None:
        return one is not other
    was, now = float.fromhex(one), float.fromhex(other)
    return abs(now - was) > share * max(abs(was), abs(now))


def number(value: Any) -> str:
    """Return a value as a reader wants it: hexadecimal numbers with all digits."""
    if isinstance(value, str) and "0x" in value:
        return repr(float.fromhex(value))
    return str(value)


def shown(answer: Answer) -> str:
    """Return in a few words what came of a run."""
    if answer["kind"] == "solved":
        return f"{answer['status']} {number(answer['cost'])}, bound {number(answer['bound'])}"
    return " ".join(str(answer[name]) for name in ("kind", "error", "text") if answer.get(name))


def loose(one: Answer, other: Answer) -> list[str]:
    """Return what differs between two runs of the same code."""
    return sorted(name for name in ("kind", *EXACT) if one.get(name) != other.get(name))


def write(path: Path, answers: Mapping[str, Answer], about: Mapping[str, Any]) -> None:
    """Write a record: a line for each answer, so that changes can be read; equal texts stand once."""
    texts = sorted({answer["text"] for answer in answers.values() if "text" in answer})
    place = {text: i for i, text in enumerate(texts)}
    lines = []
    for name, answer in sorted(answers.items()):
        kept = {key: value for key, value in answer.items() if value is not None}
        if "text" in kept:
            kept["text"] = place[kept["text"]]
        lines.append(f"{json.dumps(name)}: {json.dumps(kept, separators=(',', ':'))}")
    listed = json.dumps(texts, indent=0, ensure_ascii=False)
    body = ",\n".join(lines)
    text = f'{{"about": {json.dumps(about)},\n"texts": {listed},\n"answers": {{\n{body}\n}}}}\n'
    path.write_text(text, encoding="utf-8")


def read(path: Path) -> tuple[dict[str, Answer], dict[str, Any]]:
    """Return the answers of a record, by "problem method", and what it says about itself."""
    found = json.loads(path.read_text(encoding="utf-8"))
    answers: dict[str, Answer] = found["answers"]
    for answer in answers.values():
        if "text" in answer:
            answer["text"] = found["texts"][answer["text"]]
        if answer["kind"] == "solved":
            for name in EXACT:
                answer.setdefault(name, None)
    return answers, found["about"]
