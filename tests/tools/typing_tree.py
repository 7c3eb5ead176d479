"""Rebuild .typing/, a link tree in which type checkers see mtpp_dsl.* as installed."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main(tree: Path = ROOT / ".typing") -> None:
    """Link every mapped folder under its dotted name."""
    shutil.rmtree(tree, ignore_errors=True)
    mapping = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-dir"]
    for dotted, folder in mapping.items():
        target = tree.joinpath(*dotted.split("."))
        if "." in dotted:
            target.symlink_to(ROOT / folder, target_is_directory=True)
        else:  # the parent package: link its members, so that siblings fit beside them
            target.mkdir(parents=True)
            for member in (ROOT / folder).iterdir():
                (target / member.name).symlink_to(member, target_is_directory=member.is_dir())


if __name__ == "__main__":
    main()
