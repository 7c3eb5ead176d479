"""``highspy``, imported when something of it is first used.

``from mtpp_dsl.solvers.runtime.lazy_highs import highspy`` takes the place of ``import highspy``. So a process
in which it cannot be imported fails only when it is used: see :mod:`mtpp_dsl.solvers.runtime.portfolio.own_process`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from mtpp_dsl.core.base.lazy import LazyModule

__all__ = ["highs_version", "highspy", "silent_highs"]

if TYPE_CHECKING:
    import highspy
else:
    highspy = LazyModule("highspy")


def silent_highs() -> Any:
    """Return a new ``highspy.Highs`` that prints nothing to stdout."""
    return _silent_class()()


def highs_version() -> str:
    """Return the version of HiGHS, such as ``1.15.1``."""
    return str(silent_highs().version())


@cache
def _silent_class() -> type[Any]:
    """Return a class whose objects are silent before they are made: version 1.16 prints who it is in between."""

    class SilentHighs(highspy.Highs):  # type: ignore[misc]  # which has no types
        def enableCallbacks(self) -> None:  # noqa: N802  the constructor calls it, and with it HiGHS for the first time
            self.setOptionValue("output_flag", False)
            super().enableCallbacks()

    return SilentHighs
