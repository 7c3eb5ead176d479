"""Define how ``mtpp`` ends: its exit codes, and what Ctrl-C, SIGTERM and a terminal that goes away do at any moment.

A thread waits for signals, so that they are heard at once, also while compiled code keeps the main thread: the
interpreter calls handlers of its own only between two steps of that one.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from time import monotonic

TWICE = 0.25
"""Seconds within which a signal counts once: ``timeout`` and other wrappers send theirs to us and to our group."""
WORDS = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "hung up", "SIGBREAK": "interrupted"}
HEARD = {int(getattr(signal, name)): word for name, word in WORDS.items() if hasattr(signal, name)}
"""The signals that are listened to, of those that the system has, and what is said of them."""
STOPPING = "stopping, with the best plan and bound so far"
SHOW_CURSOR = "\x1b[?25h"


PROVEN_INFEASIBLE = 3
NOTHING_FOUND = 4
INTERRUPTED = 130


class Listener:
    """Hears signals, and decides by what is being done.

    While a spec is read, and in all commands but ``solve`` and ``bench``, there is nothing to keep: the process ends at
    once. While a method searches, the first signal asks it to stop; what it has found is then written as ever. Once the
    answer is there, a signal no longer changes it. A second signal always ends the process at once.

    Attributes:
        stopped_by: the signal that stopped the search, None if it ended by itself.
    """

    def __init__(self) -> None:
        self.stopped_by: int | None = None
        self._stop: Callable[[], None] | None = None
        self._writing = False
        self._heard = -TWICE
        self._asked = False
        self._saying = STOPPING

    def listen(self) -> None:
        """Take the signals over, for the rest of the process; only from its main thread."""
        read, write = os.pipe()
        if hasattr(os, "set_blocking"):
            os.set_blocking(write, False)
        Thread(target=self._listen, args=(read,), name="signals", daemon=True).start()
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in HEARD:
            if number != getattr(signal, "SIGHUP", None) or signal.getsignal(number) != signal.SIG_IGN:  # nohup
                signal.signal(number, lambda *_: None)

    def ignore(self) -> None:
        """Ignore signals: all is written, and the interpreter only has to end."""
        for number in HEARD:
            with suppress(ValueError):  # not the main thread
                signal.signal(number, signal.SIG_IGN)

    @contextmanager
    def searching(self, stop: Callable[[], None], saying: str = STOPPING) -> Iterator[None]:
        """Have the first signal call *stop* while the block runs, until it says :meth:`search_ended`.

        Args:
            stop: asks what is being done to end.
            saying: what the user is told then.
        """
        self._saying = saying
        self.stopped_by, self._stop, self._writing, self._asked = None, stop, False, False
        try:
            yield
        finally:
            self._stop = None

    def search_ended(self) -> None:
        """Say that the search has ended: what is left is to write the answer."""
        self._writing = True

    def exit_code(self, number: int) -> int:
        """Return the exit code of a process that a signal has ended: 130 for SIGINT, 143 for SIGTERM."""
        return 128 + (signal.SIGINT if HEARD[number] == WORDS["SIGINT"] else number)

    def _listen(self, pipe: int) -> None:
        while True:
            for number in os.read(pipe, 64):
                if number in HEARD:
                    self.hear(number)

    def hear(self, number: int) -> None:
        """Do what a signal asks for."""
        now, before = monotonic(), self._heard
        self._heard = now
        stop = self._stop
        if stop is None:
            self._leave(number, HEARD[number])
        elif not self._asked:
            self._asked = True
            if self._writing:
                _say(f"{HEARD[number]}: the answer is being written (signal again to quit at once)")
                return
            self.stopped_by = number
            stop()
            _say(f"{HEARD[number]}: {self._saying} (signal again to quit at once)")
        elif now - before >= TWICE:
            self._leave(number, f"{HEARD[number]}: quit at once")

    def _leave(self, number: int, message: str) -> None:
        """End the process now; the processes it has started end with it."""
        terminal = os.environ.get("TERM") != "dumb" and sys.platform != "win32" and os.isatty(2)
        _say((SHOW_CURSOR if terminal else "") + message)
        os._exit(self.exit_code(number))


def _say(message: str) -> None:
    """Write a line to the terminal, below the one with ^C; past all buffers, which the main thread may hold."""
    with suppress(OSError):
        os.write(2, f"{os.linesep if os.isatty(2) else ''}{message}{os.linesep}".encode())


listener = Listener()
"""Of this process; hears nothing before :meth:`Listener.listen`."""


_began = monotonic()


def begin() -> None:
    """Count the time of a command from now."""
    global _began
    _began = monotonic()


def elapsed() -> float:
    """Return the seconds since the command began: its imports and the reading of files count."""
    return monotonic() - _began
