"""Import when it is first used what takes long to import, what stands above, or what only an extra installs.

Third-party modules that take long are imported from here by name: ``from mtpp_dsl.core.base.lazy import pyo`` in place
of ``import pyomo.environ as pyo``. Whether a method accepts a problem is then known without them; most problems are
solved without Pyomo.
"""

from __future__ import annotations

import sys
from importlib import import_module
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any

from mtpp_dsl.core.errors import UsageError

__all__ = ["MODELLING", "LazyModule", "before_pyomo", "csgraph", "late", "need", "pyo", "sparse"]


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
        value = getattr(import_module(self.__name__), attribute)
        setattr(self, attribute, value)
        return value


def before_pyomo() -> None:
    """Make Pyomo's imports of :data:`UNUSED` take no time: each is imported when an attribute of it is first read."""
    for name in UNUSED:
        sys.modules.setdefault(name, LazyModule(name))


def late(path: str) -> Any:
    """Return what ``"package.module:name"`` names, importing the module if that has not been done.

    Problems, plans and results are data, and import nothing of what reads, writes or shows them. Their methods that
    do so, such as ``result.show()``, are one line each, and reach it through this function.

    >>> late("mtpp_dsl.core.base.units:counted")(2, "node")
    '2 nodes'
    """
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def need(module: str, extra: str) -> Any:
    """Import *module*, which the extra *extra* of mtpp-dsl installs, and return it.

    >>> need("json", "torch").__name__
    'json'

    Args:
        module: what to import, such as ``torch`` or ``torch.export``.
        extra: the extra whose installation brings it, as in ``pip install 'mtpp-dsl[extra]'``.

    Raises:
        UsageError: the package is absent, or is there and fails when it is imported.
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name == package:
            raise UsageError(f"this needs {package}: pip install 'mtpp-dsl[{extra}]'") from error
        raise UsageError(_broken(module, error, extra)) from error
    except Exception as error:  # a package built for another machine fails in ways of its own
        raise UsageError(_broken(module, error, extra)) from error


def _broken(module: str, error: Exception, extra: str) -> str:
    """Return that *module* is there but cannot be imported, with the first line of the reason."""
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    return f"{module} cannot be imported ({reason}); install it anew: pip install 'mtpp-dsl[{extra}]'"


if TYPE_CHECKING:
    import pyomo.environ as pyo
    import scipy.sparse as sparse
    import scipy.sparse.csgraph as csgraph
else:
    pyo = LazyModule("pyomo.environ")
    sparse = LazyModule("scipy.sparse")
    csgraph = LazyModule("scipy.sparse.csgraph")
