"""``mtpp methods`` and ``mtpp solvers``."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from mtpp_dsl import registry
from mtpp_dsl.api import method_names
from mtpp_dsl.contracts import Backend
from mtpp_dsl.errors import PluginError

__all__ = ["list_methods", "list_solvers"]


def _table(*columns: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=column != columns[-1])
    return table


def list_methods() -> int:
    """Print every method with what it gives; a broken plug-in is listed as such."""
    table = _table("method", "gives", "what it is")
    for name, kind in method_names().items():
        group = registry.METHODS if kind == "method" else registry.FORMULATIONS
        try:
            plugin = registry.load(group, name)
        except PluginError as error:
            table.add_row(name, "", f"broken: {error}")
            continue
        table.add_row(name, _gives(plugin), plugin.summary)
    Console(highlight=False).print(table)
    return 0


def _gives(plugin: object) -> str:
    roles = {"exact": "plan and bound", "relaxation": "bound", "restriction": "plan"}
    return roles.get(getattr(plugin, "role", ""), getattr(plugin, "gives", "?"))


def list_solvers() -> int:
    """Print every MIP solver, whether it is installed, and how to install it."""
    table = _table("solver", "installed", "honours", "note")
    for name in registry.available(registry.BACKENDS):
        try:
            backend: Backend = registry.load(registry.BACKENDS, name)()
        except PluginError as error:
            table.add_row(name, "broken", "", str(error))
            continue
        found = backend.available()
        installed = found.version or "yes" if found.ok else "no"
        note = found.note if found.ok else f"install: {found.install}"
        table.add_row(name, installed, ", ".join(sorted(backend.features)).replace("_", " "), note)
    Console(highlight=False).print(table)
    return 0
