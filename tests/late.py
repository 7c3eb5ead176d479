"""Packages that take long to import, for modules of tests that pytest reads in every process."""

from __future__ import annotations

from typing import Any

from mtpp_dsl.core.base.lazy import LazyModule


def late(name: str) -> Any:
    """Return a stand-in for the module *name*, which is imported when a test first uses it, and not when pytest looks.

    It asks every global of a module of tests whether it is a mock.
    """
    module = LazyModule(name)
    module._mock_name = None
    return module
