"""Write tests/snapshots anew, what the command line shows at several widths: ``python -m tests.tools.snapshots``."""

from __future__ import annotations

from tests.screens import CASES, SNAPSHOTS, screens

__all__ = ["snapshot"]


def snapshot(case: str) -> str:
    """Return a case at all widths, one below the other."""
    parts = []
    for width, text in screens(case):
        head = "in a pipe" if width is None else f"{width} columns".ljust(width, "-")
        parts.append(f"{head}\n{text}")
    return "\n".join(parts)


if __name__ == "__main__":
    SNAPSHOTS.mkdir(exist_ok=True)
    for name in CASES:
        (SNAPSHOTS / f"{name}.txt").write_text(snapshot(name), encoding="utf-8")
