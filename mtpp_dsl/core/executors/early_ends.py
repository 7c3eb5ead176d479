"""Words for a process that has ended too early."""

from __future__ import annotations

import signal

__all__ = ["last_words"]


def last_words(code: int, said: str) -> str:
    """Return why a process ended: the signal that killed it, else the last line it *said*, else its exit *code*."""
    if code == -getattr(signal, "SIGKILL", 9):
        return "it was killed, as the system does where memory runs out; try fewer --threads or a smaller problem"
    if code < 0:
        names = {number.value: number.name for number in signal.Signals}
        return f"it was ended by {names.get(-code, f'signal {-code}')}"
    lines = said.strip().splitlines()
    return lines[-1].strip() if lines else f"it ended with code {code}"
