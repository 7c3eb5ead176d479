"""Start processes on this machine and on others: what an executor of your own is made of."""

from __future__ import annotations

from mtpp_dsl.core.executors.addresses import opened
from mtpp_dsl.core.executors.local import LOCAL, LocalChannel
from mtpp_dsl.core.executors.wire import Framed

__all__ = ["LOCAL", "Framed", "LocalChannel", "opened"]
