"""Who is at which run: sweeps that share one database lease the runs that they begin.

A lease names its owner: a machine, as a hash that says nothing of its name, and a process with the time it began. A
lease ends when its run is recorded, when it is given back, when its owner is known to be dead (same machine), or when
it has not been renewed in time (another machine, or a process that hangs).
"""

from __future__ import annotations

import hashlib
import os
import platform
import uuid
from contextlib import suppress
from functools import cache
from pathlib import Path

LEASE_SECONDS = 120.0
"""A lease that has not been renewed for so long is anybody's."""
LONGEST = 3600.0
"""No lease is for longer: one that says so is of a clock that is wrong, or was not written by us."""


def owner() -> str:
    """Return a new name for an owner in this process: ``machine:process:time it began:random``."""
    return f"{_machine()}:{os.getpid()}:{_began(os.getpid())}:{uuid.uuid4().hex[:12]}"


def holds(name: object, until: object, now: float) -> bool:
    """Return whether the lease of the owner *name*, which ends at *until*, keeps others from its run."""
    sound = isinstance(name, str) and isinstance(until, (int, float)) and now < until <= now + LONGEST
    return sound and alive(str(name))


def alive(name: str) -> bool:
    """Return whether the owner *name* may be alive: False only if it ran on this machine and its process is gone."""
    machine, _, rest = name.partition(":")
    process, _, rest = rest.partition(":")
    began = rest.partition(":")[0]
    if machine != _machine() or not process.isdecimal():
        return True
    number = int(process)
    if number == os.getpid():
        return began == _began(number)
    try:
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return began == _began(number)


@cache
def _machine() -> str:
    """Return what tells this machine, since it was started, and its space of process numbers from others."""
    parts = [platform.node()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip())
    with suppress(OSError):
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _began(process: int) -> str:
    """Return when a process began, in ticks since the machine's start; "" where the system does not say.

    A process that has ended and has not been waited for has no time of its start: it is dead.
    """
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    fields = text.rpartition(")")[2].split()
    return "" if fields[0] in "ZX" else fields[19]
