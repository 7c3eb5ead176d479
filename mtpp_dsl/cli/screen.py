"""Print text, on standard streams that may be closed, end early, be full or know few characters.

Text is styled and as wide as the terminal there, plain and unbroken elsewhere. Every command prints by what stands
here, so that no control character of a spec, of a data file or of a path reaches a terminal
(:mod:`mtpp_dsl.core.text.visible`).
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import re
import select
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

from mtpp_dsl.core.text.visible import visible

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.text import Text

    from mtpp_dsl.core.problem.problem import Problem

STDOUT = Path("-")
"""What stands for stdout where a file is asked for."""
_NAME = "mtpp-plain"
_PLAIN = {
    **dict.fromkeys("█▉▊▋▌", "#"),
    **dict.fromkeys("▍▎▏", " "),
    "▓": "%",
    "▒": "=",
    "░": ":",
    "▚": "&",
    "·": ".",
    "×": "x",
    "…": "...",
    "–": "-",
    "—": "-",
    "→": "->",
    "≤": "<=",
    "≥": ">=",
    "‘": "'",
    "’": "'",
    "“": '"',
    "”": '"',
    "µ": "u",
    "•": "*",
    "❱": ">",
    "\N{NO-BREAK SPACE}": " ",
    **dict.fromkeys([chr(code) for code in range(0x2400, 0x2422)] + ["\N{REPLACEMENT CHARACTER}"], "?"),
    **dict.fromkeys("─━═╌╍", "-"),
    **dict.fromkeys("│┃║", "|"),
    **dict.fromkeys("╭╮╰╯┌┐└┘├┤┬┴┼╞╡╪", "+"),
}
"""One character for one, where it can be: columns stay columns."""
GONE = {errno.EPIPE, errno.EIO, errno.EINVAL if sys.platform == "win32" else errno.EPIPE}
"""Whoever was reading has had enough: nothing to complain of."""
UNWRITTEN = 2
"""Exit code where what was asked for could not be written."""


def say(line: str, *, stderr: bool = False) -> None:
    """Print a line, or several, of text that names what others have written."""
    print(visible(line), file=sys.stderr if stderr else sys.stdout, flush=stderr)


def console(*, stderr: bool = False) -> Console:
    """Return a console on which brackets, colons, numbers and control characters mean nothing."""
    from rich.console import Console
    from rich.segment import Segment

    class Screen(Console):
        """Styles text, and shows what a terminal would obey."""

        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            for part in super().render(renderable, options):
                yield part if part.control else Segment(visible(part.text), part.style)

    return Screen(stderr=stderr, markup=False, emoji=False, highlight=False)


def screen_width() -> int | None:
    """Return the columns of the terminal; None where stdout is none, so that lines are never broken."""
    return console().width if sys.stdout.isatty() else None


def show(lines: Iterable[Text]) -> None:
    """Print lines that fit already: a word longer than the terminal is wide is left to the terminal."""
    if sys.stdout.isatty():
        screen = console()
        for line in lines:
            screen.print(line, soft_wrap=True)
    else:
        sys.stdout.write("".join(f"{visible(line.plain).rstrip()}\n" for line in lines))


def tell_warnings(problem: Problem) -> None:
    """Print what the reader of a spec warns of; most warnings say their place themselves, with the line in question."""
    for warning in problem.warnings:
        placed = re.search(r"(: |^)warning(\[[^]]*\])?: ", warning.partition("\n")[0])
        say(warning if placed else f"warning: {warning}", stderr=True)


def write_file(path: Path, write: Callable[[Path], None]) -> bool:
    """Write a file; complain and return False if that is not possible."""
    try:
        write(path)
    except OSError as error:
        say(f"error: cannot write {path}: {error.strerror or error}", stderr=True)
        return False
    return True


def write_json(path: Path | None, data: Mapping[str, object]) -> bool:
    """Write JSON to a file, to stdout for ``-``, nowhere without a path; complain and return False if that fails."""
    from mtpp_dsl.core.base.writing import write_text
    from mtpp_dsl.solving.answers.json import dumps

    if path is None:
        return True
    if path == STDOUT:
        sys.stdout.write(dumps(data, sys.stdout.encoding or "ascii"))
        return True
    return write_file(path, lambda file: write_text(file, dumps(data)))


def be_plain() -> None:
    """Let stdout and stderr write whatever they are given, in plain characters where their encoding has no others."""
    codecs.register_error(_NAME, _replaced)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors=_NAME)


def encodes(stream: TextIO, text: str) -> bool:
    """Return whether a stream can write *text* as it is."""
    try:
        text.encode(stream.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _replaced(error: UnicodeError) -> tuple[str, int]:
    """Return what stands in place of the characters that cannot be written: those without a like are escaped."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    return "".join(_PLAIN.get(char) or _escaped(char) for char in lost), error.end


def _escaped(char: str) -> str:
    return char.encode("ascii", "backslashreplace").decode("ascii")


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
    """Replace stdout and stderr by streams that go on when they have no reader, or never had one."""
    sys.stdout = _outliving(sys.stdout, 1)
    sys.stderr = _outliving(sys.stderr, 2)


def _outliving(stream: TextIO | None, number: int) -> TextIO:
    """Return a stream like *stream* that does not complain when it has no reader; one of its own kind is left alone."""
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
