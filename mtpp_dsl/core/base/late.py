"""Find by name, when it is first asked for, what data offers for convenience and code above it does."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["late"]


def late(path: str) -> Any:
    """Return what ``"package.module:name"`` names, importing the module if nobody has.

    Problems, plans and results are data, and import nothing of what reads, writes or shows them. Their methods that
    do so, such as ``result.show()``, are one line each, and reach it through this function.

    >>> late("mtpp_dsl.core.base.units:counted")(2, "node")
    '2 nodes'
    """
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
