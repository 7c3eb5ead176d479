"""Walk through the checklist of a release: ``python -m tests.tools.release [FOLDER]``.

It checks that the tree is clean and that every file names the same version. It builds the wheel, and installs it into a
new environment in FOLDER (by default a temporary one) with the newest version of every package. There, without the
checkout, it solves, verifies and shows each example, and uses a plug-in. Each step is printed; the first that fails
ends it.
``make test`` and ``make test-newest`` are steps of their own.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.tree import ROOT

LIMIT = "10s"
"""For each example."""


class StepFailed(Exception):
    """A step of the checklist that does not hold, with what to do."""


def main(arguments: list[str]) -> int:
    """Walk through the steps; return 1 at the first that fails."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(arguments[0] if arguments else temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for words, step in steps(folder):
            print(f"{words} …", flush=True)
            try:
                step()
            except StepFailed as failure:
                print(f"  no: {failure}")
                return 1
    print("all steps hold; now tag the commit, and build the site by make site")
    return 0


def steps(folder: Path) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the steps in order, each in words and as a function that raises :class:`StepFailed`."""
    environment, examples = folder / "environment", folder / "examples"
    yield "the tree is clean", clean
    yield "pyproject.toml, CITATION.cff and CHANGELOG.md name one version", one_version
    yield "the wheel is built and installed, without the checkout", lambda: install(folder, environment)
    shutil.copytree(ROOT / "examples", examples, dirs_exist_ok=True)
    for spec in sorted(examples.glob("*.mtpp")):
        yield f"{spec.name} is checked, solved, verified and shown", lambda spec=spec: walk(environment, spec)
    yield "a plug-in is installed and solves", lambda: plug_in(environment, examples)


def clean() -> None:
    """Raise unless everything is committed."""
    left = output(["git", "status", "--porcelain"])
    if left:
        raise StepFailed(f"commit or remove\n{left}")


def versions() -> dict[str, str]:
    """Return the version that each file names."""
    changed = re.search(r"^## \[.*?\](?:: (\S+))?", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    cited = re.search(r"^version: (\S+)", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    return {
        "pyproject.toml": tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"],
        "CITATION.cff": cited[1] if cited else "",
        "CHANGELOG.md": changed[1] or "" if changed else "",
    }


def one_version() -> None:
    """Raise unless all files name the same version."""
    if len(set(versions().values())) > 1:
        raise StepFailed(", ".join(f"{name} says {version or 'none'}" for name, version in versions().items()))


def install(folder: Path, environment: Path) -> None:
    """Build the wheel, and install it with what it needs into a new environment."""
    output(["make", "wheel", f"VENV={Path(sys.prefix)}"])
    wheel = max((ROOT / "dist").glob("*.whl"), key=lambda path: path.stat().st_mtime)
    output([sys.executable, "-m", "venv", "--clear", str(environment)])
    output([str(environment / "bin/python"), "-m", "pip", "install", "--quiet", str(wheel)], folder)
    print(output([str(environment / "bin/mtpp"), "--version"], folder))


def walk(environment: Path, spec: Path) -> None:
    """Check, solve, verify and show one example."""
    mtpp, answer = str(environment / "bin/mtpp"), spec.with_suffix(".json")
    output([mtpp, "check", str(spec), "--quiet"], spec.parent)
    output([mtpp, "solve", str(spec), "--time-limit", LIMIT, "--quiet", "--json", str(answer)], spec.parent)
    output([mtpp, "verify", str(spec), str(answer), "--quiet"], spec.parent)
    output([mtpp, "report", str(answer), "-o", str(spec.with_suffix(".html"))], spec.parent)
    told = json.loads(answer.read_text(encoding="utf-8"))
    print(f"  {told['status']}")


def plug_in(environment: Path, examples: Path) -> None:
    """Install the plug-in of the tests, and solve by its method."""
    copy = examples.parent / "plugin"
    shutil.copytree(ROOT / "tests/plugin", copy, dirs_exist_ok=True)
    output([str(environment / "bin/python"), "-m", "pip", "install", "--quiet", "--no-deps", str(copy)], examples)
    spec = str(examples / "generated.mtpp")
    output([str(environment / "bin/mtpp"), "solve", spec, "--method", "acme-first-fit", "--quiet"], examples)


def output(command: list[str], folder: Path = ROOT) -> str:
    """Return what a command prints.

    Raises:
        StepFailed: the command failed; with what it said.
    """
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise StepFailed(f"{' '.join(command)} ended with {done.returncode}\n{done.stderr or done.stdout}")
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
