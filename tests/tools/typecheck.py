"""Run mypy over the tree as installed, and fail unless it checked every file: ``python -m tests.tools.typecheck``."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.tools import typing_tree
from tests.tree import ROOT, files


def main() -> int:
    """Return the exit status: mypy's, or 1 when it looked at fewer or more files than there are."""
    typing_tree.main()
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True, check=False)
    print(done.stdout + done.stderr, end="")
    found = re.search(r"(\d+) source files?", done.stdout)
    if done.returncode == 0 and (found is None or int(found[1]) != len(files())):
        print(f"mypy must check {len(files())} files; a link tree that is not complete is a false green")
        return 1
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
