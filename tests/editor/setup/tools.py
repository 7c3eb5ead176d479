"""Programs that tests of editors need, each of which may be missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGES = Path(sys.prefix) / "node" / "node_modules"


def needed(program):
    """Return the path of a program; skip the test where it is missing."""
    return shutil.which(program) or pytest.skip(f"{program} is not installed")


def node(*arguments, packages=False, **options):
    """Run node with arguments, and *packages* that make installs; return what it prints."""
    if packages and not PACKAGES.is_dir():
        pytest.skip("the packages of node are not installed: make frameworks")
    environment = {**os.environ, "PACKAGES": str(PACKAGES)}
    return run(needed("node"), *arguments, env=environment, **options)


def run(*command, **options):
    """Run a command within a minute; return what it prints, and fail with all of it where the command does."""
    done = subprocess.run(
        [str(each) for each in command], capture_output=True, text=True, timeout=60, check=False, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
