"""``highspy``, imported when something of it is first used.

``from mtpp_dsl.solvers.backends.mip.lazy_highs import highspy`` takes the place of ``import highspy``. So a process
in which it cannot be imported fails only when it is used: see :mod:`mtpp_dsl.solvers.runtime.portfolio.own_process`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mtpp_dsl.base.lazy import Lazy

__all__ = ["highspy"]

if TYPE_CHECKING:
    import highspy
else:
    highspy = Lazy("highspy")
