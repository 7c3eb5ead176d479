"""Every error a user can cause or meet, and the exit code the command line gives it.

::

    MtppError
    ├── SpecError           (ValueError)    the spec is wrong; carries located diagnostics
    ├── UsageError          (ValueError)    the call is wrong: an option, a file, a plan
    │   ├── ConstraintError                 a constraint cannot be meant; carries its place
    │   ├── DeviceError                     a device cannot be meant; carries its name
    │   ├── OptionError                     an option cannot be meant; carries its name
    │   └── Refused                         this method cannot honour this problem; says which can
    ├── OverwriteError      (ValueError)    an output would be written onto a file that is read
    ├── PluginError         (LookupError)   a plug-in is unknown, ambiguous or broken
    ├── SolverError         (RuntimeError)  a solver is missing or failed
    │   └── Ended                           a process has ended, or cannot be reached any more
    └── VerificationError   (AssertionError) a plan or bound did not survive the independent check
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from mtpp_dsl.core.text.source import Diagnostic

__all__ = [
    "ConstraintError",
    "DeviceError",
    "Ended",
    "MtppError",
    "OptionError",
    "OverwriteError",
    "PluginError",
    "Refused",
    "SolverError",
    "SpecError",
    "UsageError",
    "VerificationError",
    "did_you_mean",
    "nearest",
]


class MtppError(Exception):
    """Root of the tree; ``exit_code`` is what the command line returns."""

    exit_code: ClassVar[int] = 2


class SpecError(MtppError, ValueError):
    """The text of a spec is wrong.

    Attributes:
        diagnostics: every error found, in source order, each with its place.
    """

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n\n".join(str(diagnostic) for diagnostic in self.diagnostics))

    def __reduce__(self) -> tuple[type[SpecError], tuple[Sequence[Diagnostic]]]:
        return type(self), (self.diagnostics,)


class UsageError(MtppError, ValueError):
    """A call, an option or an input file (other than a spec) is wrong."""


class OverwriteError(MtppError, ValueError):
    """A command would write onto a file that it reads; no place in a spec is to blame, so it is no UsageError."""


class Refused(UsageError):
    """A method, formulation or solver cannot honour what the problem asks for."""


class ConstraintError(UsageError):
    """A constraint that cannot be meant.

    Attributes:
        place: of the constraint in its spec, "" for one made in Python.
    """

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(message)
        self.place = place


class DeviceError(UsageError):
    """A device that cannot be meant.

    Attributes:
        device: its name.
    """

    def __init__(self, message: str, device: str) -> None:
        super().__init__(message)
        self.device = device

    def __reduce__(self) -> tuple[type[DeviceError], tuple[str, str]]:
        return type(self), (str(self), self.device)


class OptionError(UsageError):
    """An option of a call, or of a statement, that cannot be meant.

    Attributes:
        option: its name.
        unknown: whether there is none of that name; else its value is wrong.
    """

    def __init__(self, message: str, option: str, unknown: bool = False) -> None:
        super().__init__(message)
        self.option, self.unknown = option, unknown

    def __reduce__(self) -> tuple[type[OptionError], tuple[str, str, bool]]:
        return type(self), (str(self), self.option, self.unknown)


class PluginError(MtppError, LookupError):
    """A plug-in is unknown, named twice, or cannot be imported."""


class SolverError(MtppError, RuntimeError):
    """A solver is missing, unlicensed for this size, or failed."""

    exit_code = 5


class Ended(SolverError):
    """A process that we started has ended, or cannot be reached any more; the text says why."""


class VerificationError(MtppError, AssertionError):
    """A plan or a bound failed the independent check: a bug of ours, never the user's.

    Attributes:
        evidence: what is needed to find it, if known.
    """

    exit_code = 7

    def __init__(self, message: str, evidence: object = None) -> None:
        super().__init__(message)
        self.evidence = evidence


MAX_WORD = 60
MAX_COMPARED = 2_000
"""Longer words have no near ones, and of many known words those that begin alike are looked at."""


def _comparable(word: str, known: Iterable[str]) -> list[str]:
    """Return the known words that may be near *word*: of much its length, and few enough to be looked at."""
    near = [other for other in known if abs(len(other) - len(word)) <= max(2, len(word) // 2)]
    if len(near) > MAX_COMPARED:
        near = [other for other in near if other[:1] == word[:1]]
    return near[:MAX_COMPARED]


def did_you_mean(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return ``"; did you mean 'x'?"`` when *known* has a word close to *word*, else ``""``; *cutoff* says how close.

    >>> did_you_mean("acylic", ["acyclic", "memory"])
    "; did you mean 'acyclic'?"
    >>> did_you_mean("zzz", ["acyclic"])
    ''
    """
    nearest_word = near(word, known, cutoff)
    return f"; did you mean {nearest_word!r}?" if nearest_word else ""


def near(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the word of *known* that is closest to *word*; "" where none is close.

    >>> near("acylic", ["acyclic", "memory"])
    'acyclic'
    """
    matches = get_close_matches(word, _comparable(word, known), n=1, cutoff=cutoff) if len(word) <= MAX_WORD else []
    return matches[0] if matches else ""


def nearest(word: str, known: Collection[str], most: int = 3) -> str:
    """Return ``"; did you mean 'x', 'y' or 'z'?"`` with what of *known* begins with *word* or is near it, else ``""``.

    >>> nearest("exct", ["exact", "expert", "guess"])
    "; did you mean 'exact' or 'expert'?"
    >>> nearest("zzz", ["exact"])
    ''
    """
    begun = [name for name in known if word and name.startswith(word)]
    near = [repr(name) for name in dict.fromkeys([*begun, *get_close_matches(word, known, n=most)])][:most]
    return f"; did you mean {' or '.join([', '.join(near[:-1]), near[-1]] if near[1:] else near)}?" if near else ""
