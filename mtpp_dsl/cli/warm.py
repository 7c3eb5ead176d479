"""``mtpp warm``: compile code now that calls would compile when they need it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from time import monotonic

from mtpp_dsl.cli.screen import say
from mtpp_dsl.core.executors.local import Local
from mtpp_dsl.solving.warming import Warmed, methods_to_warm, warm


def warm_and_report(names: Sequence[str], jobs: int | None, *, quiet: bool) -> int:
    """Compile for methods, print a line for each that had something to compile, and return the exit code.

    Raises:
        UsageError: one of the names is that of no method.
    """
    began = monotonic()
    compiled: set[str] = set()
    ended: list[Warmed] = []
    for warmed in warm(methods_to_warm(names), jobs or Local().slots):
        ended.append(warmed)
        compiled.update(warmed.kernels)
        if warmed.kernels and not quiet:
            say(f"{warmed.method}: {warmed.seconds:.1f} s for {', '.join(warmed.kernels)}")
    for warmed in ended:
        if warmed.lost:
            say(f"warning: {warmed.method} did not end well: {warmed.lost}", stderr=True)
    if not quiet:
        say(f"{len(compiled)} loops are compiled, after {monotonic() - began:.0f} s")
        unused = sorted({name for warmed in ended for name in warmed.unused} - compiled)
        if unused:
            say(f"{len(unused)} more are compiled when a problem needs them: {', '.join(unused)}")
    if any(warmed.unkept for warmed in ended):
        where = "NUMBA_CACHE_DIR" if "NUMBA_CACHE_DIR" not in os.environ else "another NUMBA_CACHE_DIR"
        say(f"error: the code could not be kept: no folder for it can be written to (set {where})", stderr=True)
        return 5
    return 5 if any(warmed.lost for warmed in ended) else 0
