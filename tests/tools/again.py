"""Run the tests that just failed once more, alone: ``python -m tests.tools.again [OPTION OF PYTEST ...]``.

Some tests have limits of one to three seconds, which a busy machine does not keep. At most :data:`MOST` are tried
again, and each that passes now is named, so that nobody overlooks it. In this run pytest shows the values in an
assertion that fails, which ``make test`` leaves out: to rewrite all assertions takes 20 s in each process.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

MOST = 5
"""More failures than these are no accident."""
FAILED = Path(".pytest_cache/v/cache/lastfailed")


def main(options: list[str]) -> int:
    """Return 0 if all tests that failed in the last run pass now, else the status of pytest, or 1."""
    names = sorted(json.loads(FAILED.read_text(encoding="utf-8"))) if FAILED.exists() else []
    if not names:
        print("pytest failed, and names no test that did")
        return 1
    if len(names) > MOST:
        print(f"{len(names)} tests failed, which is no accident; {MOST} of them, with the values in their assertions:")
    status = pytest.main([*options, *names[:MOST]])
    if len(names) > MOST:
        return int(status) or 1
    if status == 0:
        print("passed only when tried again, alone:", *names, sep="\n  ")
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
