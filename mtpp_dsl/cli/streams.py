"""Standard streams that may be closed, end early or be full, without a traceback; stdout carries only answers."""

from __future__ import annotations

import errno
import io
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import TYPE_CHECKING, TextIO, cast

from mtpp_dsl.cli.screen import say

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["UNWRITTEN", "Lossy", "answers_only", "finish", "outlive_readers"]

GONE = {errno.EPIPE, errno.EIO, errno.EINVAL if sys.platform == "win32" else errno.EPIPE}
"""Whoever was reading has had enough: nothing to complain of."""
UNWRITTEN = 2
"""Exit code where what was asked for could not be written."""


class Lossy(io.FileIO):
    """A file that goes on taking what it can no longer write.

    Attributes:
        lost: why it could not be written; None while all has been.
    """

    lost: OSError | None = None

    def write(self, data: ReadableBuffer, /) -> int:
        """Write *data* and return how much of it was taken."""
        size = memoryview(data).nbytes
        while self.lost is None:
            try:
                written = cast("int | None", super().write(data))
            except OSError as error:
                self.lost = error
            else:
                if written is not None:
                    return written
                select.select([], [self], [])  # it does not wait by itself, as whoever else has it open wants it
        return size


def outlive_readers() -> None:
    """Put streams into the place of stdout and stderr that go on when nobody reads them, or nobody ever did."""
    sys.stdout = _outliving(sys.stdout, 1)
    sys.stderr = _outliving(sys.stderr, 2)


def _outliving(stream: TextIO | None, number: int) -> TextIO:
    """Return a stream like *stream* that does not complain when nobody reads it; one of its own kind is left alone."""
    if stream is None:
        return io.TextIOWrapper(io.BufferedWriter(Lossy(number, "w", closefd=False)), "utf-8", "replace")
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    buffer = stream.buffer
    raw = getattr(buffer, "raw", buffer)
    if type(raw) is not io.FileIO or raw.fileno() != number:  # a console of Windows, an editor's window
        return stream
    ours = Lossy(number, "w", closefd=False)
    return io.TextIOWrapper(
        cast("io.BufferedWriter", ours) if buffer is raw else io.BufferedWriter(ours),
        stream.encoding,
        stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


@contextmanager
def answers_only() -> Iterator[None]:
    """Send what plug-ins and solvers print to stdout while the block runs to stderr: by Python, or by machine code."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _flush_code()
        os.dup2(kept, 1)
        os.close(kept)


def _flush_code() -> None:
    """Write what machine code has printed and the library of C still holds."""
    import ctypes

    with suppress(OSError, TypeError, AttributeError):  # Windows: a library has no name of None
        ctypes.CDLL(None).fflush(None)


def finish(code: int) -> int:
    """Write what is left in the streams; return *code*, or another where stdout could not take it all."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", getattr(sys.stdout, "buffer", None))
    lost = raw.lost if isinstance(raw, Lossy) else None
    if lost is None or lost.errno in GONE:
        return code
    say(f"error: not all of the output could be written to stdout: {lost.strerror}", stderr=True)
    return UNWRITTEN
