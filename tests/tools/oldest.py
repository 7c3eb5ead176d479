"""Print the oldest versions that ``pyproject.toml`` allows, as constraints for pip: ``python3 -m tests.tools.oldest``.

``make test-oldest`` installs these and runs the quick tests. The packages that only tests need, in the group ``dev``,
stay at the versions of ``.ci/constraints.txt``, and so does what none of our packages asks for by name.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path("pyproject.toml")
AT_LEAST = re.compile(r"([A-Za-z0-9-]+)(?:\[[a-z]+\])?>=([0-9.]+)")
"""A requirement, with the name and the oldest version as groups."""


def main() -> int:
    """Print a line ``NAME==VERSION`` for each package that users install."""
    print(*oldest(tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]), sep="\n")
    return 0


def oldest(project: dict[str, object]) -> list[str]:
    """Return the oldest version of each dependency and of each that an extra adds, as ``NAME==VERSION``, sorted.

    Raises:
        ValueError: a requirement names no oldest version, or two requirements name different ones.
    """
    versions: dict[str, str] = {}
    for requirement in requirements(project):
        match = AT_LEAST.match(requirement)
        if match is None:
            raise ValueError(f"pyproject.toml: {requirement} names no oldest version: write {requirement}>=VERSION")
        name, version = match.groups()
        if versions.setdefault(name, version) != version:
            raise ValueError(f"pyproject.toml: {name} is asked for from {versions[name]} and from {version} on")
    return [f"{name}=={version}" for name, version in sorted(versions.items())]


def requirements(project: dict[str, object]) -> Iterator[str]:
    """Yield the dependencies, then those of every extra."""
    dependencies, extras = project["dependencies"], project["optional-dependencies"]
    assert isinstance(dependencies, list)
    assert isinstance(extras, dict)
    yield from dependencies
    for extra in extras.values():
        yield from extra


if __name__ == "__main__":
    sys.exit(main())
