"""``mtpp methods`` and ``mtpp solvers``."""

from __future__ import annotations

import sys
from typing import Any

from rich.console import Console
from rich.table import Table

from mtpp_dsl import registry
from mtpp_dsl.api import method_names
from mtpp_dsl.contracts import Availability, Backend, Engine
from mtpp_dsl.errors import PluginError

__all__ = ["list_methods", "list_solvers"]


def _print(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> int:
    """Print a table whose last column is folded where the terminal is narrow; elsewhere nothing is."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=column != columns[-1])
    for row in rows:
        table.add_row(*row)
    width = None if sys.stdout.isatty() else 200
    console = Console(markup=False, emoji=False, highlight=False, width=width)
    with console.capture() as captured:
        console.print(table)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))
    return 0


def list_methods() -> int:
    """Print every method with what it gives; a broken plug-in is listed as such."""
    rows: list[tuple[str, ...]] = []
    for name, kind in method_names().items():
        group = registry.METHODS if kind == "method" else registry.FORMULATIONS
        try:
            plugin = registry.load(group, name)
        except PluginError as error:
            rows.append((name, "", f"broken: {error}"))
            continue
        rows.append((name, _gives(plugin), plugin.summary + _absent(plugin)))
    return _print(("method", "gives", "what it is"), rows)


def _absent(plugin: Any) -> str:
    """Return how to install a method that is a program of its own and is not there."""
    found: Availability | None = plugin().available() if hasattr(plugin, "available") else None
    return "" if found is None or found.ok else f"; not installed: {found.install}"


def _gives(plugin: object) -> str:
    roles = {"exact": "plan and bound", "relaxation": "bound", "restriction": "plan"}
    return roles.get(getattr(plugin, "role", ""), getattr(plugin, "gives", "?"))


def list_solvers() -> int:
    """Print every MIP solver, whether it is installed, and how to install it."""
    rows: list[tuple[str, ...]] = []
    groups = [(group, name) for group in (registry.BACKENDS, registry.ENGINES) for name in registry.available(group)]
    for group, name in groups:
        try:
            backend: Backend | Engine = registry.load(group, name)()
        except PluginError as error:
            rows.append((name, "broken", str(error)))
            continue
        found = backend.available()
        installed = found.version or "yes" if found.ok else "no"
        note = found.note if found.ok else f"install: {found.install}"
        honours = "honours " + ", ".join(sorted(backend.features)).replace("_", " ")
        solves = f"models of its own for {', '.join(backend.formulations)}" if isinstance(backend, Engine) else ""
        rows.append((name, installed, "; ".join(part for part in (note, solves, honours) if part)))
    return _print(("solver", "installed", "notes"), rows)
