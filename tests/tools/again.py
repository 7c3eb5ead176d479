"""Run the tests that just failed once more, alone: ``python -m tests.tools.again [OPTION OF PYTEST ...]``.

Some tests have limits of one to three seconds, which a busy machine does not keep. At most :data:`MOST` are tried
again, and each that passes now is named, so that nobody overlooks it.
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
        print(f"{len(names)} tests failed: too many to be tried again")
        return 1
    status = pytest.main([*options, *names])
    if status == 0:
        print("passed only when tried again, alone:", *names, sep="\n  ")
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
