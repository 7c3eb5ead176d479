"""Third-party modules that take long to import, imported when something of them is first used.

Import them from here by name: ``from mtpp_dsl.core.base.lazy import pyo`` in place of ``import pyomo.environ as pyo``.
Whether a method accepts a problem is then known without them; most problems are solved without Pyomo.
"""

from __future__ import annotations

import sys
from importlib import import_module
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = ["MODELLING", "LazyModule", "before_pyomo", "csgraph", "pyo", "sparse"]

MODELLING = RLock()
"""Held while a model of Pyomo is built, handed to a solver or read, but not while it is solved.

Whether Pyomo makes templates of rules, and of which, is said in variables of its modules: of two threads that build
models at once, one of which may be left behind by a method whose time was up, one would get those of the other.
"""

UNUSED = ("scipy.stats", "scipy.spatial", "scipy.integrate")
"""What Pyomo imports of scipy and does not use here: some 0.5 s."""


class LazyModule(ModuleType):
    """A stand-in for the module *name*, which is imported when an attribute is first read."""

    def __getattr__(self, attribute: str) -> Any:
        """Return what the module has under that name, and keep it."""
        if attribute.startswith("__") and attribute != "__path__":  # somebody looks at what modules there are
            raise AttributeError(attribute)
        if self.__name__.startswith("pyomo"):
            before_pyomo()
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        found = getattr(import_module(self.__name__), attribute)
        setattr(self, attribute, found)
        return found


def before_pyomo() -> None:
    """Make Pyomo's imports of :data:`UNUSED` take no time: each is imported when an attribute of it is first read."""
    for name in UNUSED:
        sys.modules.setdefault(name, LazyModule(name))


if TYPE_CHECKING:
    import pyomo.environ as pyo
    import scipy.sparse as sparse
    import scipy.sparse.csgraph as csgraph
else:
    pyo = LazyModule("pyomo.environ")
    sparse = LazyModule("scipy.sparse")
    csgraph = LazyModule("scipy.sparse.csgraph")
