"""The class of the machine that runs: what a time depends on, and nothing that names the machine."""

from __future__ import annotations

import os
from functools import cache

from mtpp_dsl.runtimes.execution.machine import processor_name

__all__ = ["machine_class"]


@cache
def machine_class() -> str:
    """Return the class of this machine: "2 x Name of processor, 23 GB"; without the memory where it is not known."""
    cores = f"{os.cpu_count() or 1} x {processor_name()}"
    try:
        size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return cores
    return f"{cores}, {size / 2**30:.0f} GB"
