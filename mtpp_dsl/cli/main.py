"""Start ``mtpp``: listen to signals before anything heavy is imported, run, and end at once."""

from __future__ import annotations

LEAST_MEMORY = 384 << 20
"""Bytes of addresses that Python, numpy and the threads that listen take before anything is read."""


def main() -> None:
    """Run ``mtpp`` and exit with its code.

    At once: a method that was left behind would go on for long, and an interpreter that has loaded numba and solvers
    takes up to half a second to take itself apart.
    """
    import atexit
    import os
    import sys

    _refuse_little_memory()
    try:
        _open_closed()
        from mtpp_dsl.cli.signals import listener

        listener.listen()
    except KeyboardInterrupt:  # until somebody listens, a Ctrl-C is an exception
        _interrupted()
    from mtpp_dsl.cli.run import run
    from mtpp_dsl.cli.screen import finish, outlive_readers
    from mtpp_dsl.core.base.interpreter import leave_at_once

    outlive_readers()
    code = finish(run(sys.argv[1:]))
    listener.ignore()
    leave_at_once()
    atexit._run_exitfuncs()
    os._exit(code)


def _refuse_little_memory() -> None:
    """End with a message where a limit leaves less memory than the libraries take, which would end in their words."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if 0 <= limit < LEAST_MEMORY:
        import os

        least, here = LEAST_MEMORY >> 20, limit >> 20
        os.write(
            2, f"error: mtpp needs {least} MiB of memory to begin with, and may have {here} (ulimit -v)\n".encode()
        )
        os._exit(2)


def _open_closed() -> None:
    """Open standard streams that are closed on the null device, so that no file opened later gets their numbers."""
    import os

    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def _interrupted() -> None:
    """End at once, with the exit code of a process that a Ctrl-C has ended."""
    import os

    try:
        os.write(2, b"interrupted\n")
    finally:
        os._exit(130)
