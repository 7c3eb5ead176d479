"""Say where a problem came from, and which runtime it is for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from mtpp_dsl.core.base.data_classes import Picklable, Short
from mtpp_dsl.core.constraints import Constraint

__all__ = ["Origin", "Targeted"]


@dataclass(frozen=True, repr=False)
class Origin(Short, Picklable):
    """Where a problem came from, for results.

    Attributes:
        path: of the spec, as it was given; None for a text or a problem made in Python.
        sha256: of the bytes of the spec.
        params: their values: numbers, or text as ``-D`` takes it.
        decimal: whether its sizes are written in kB, MB and GB, rather than in KiB, MiB and GiB.
        files: the SHA-256 of every other file that was read, by its path from the folder of the spec.
        scenario: the name of the scenario that was chosen; None for none.
        text: of the spec, where it was no file.
    """

    path: str | None = None
    sha256: str | None = None
    params: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    decimal: bool = False
    files: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    scenario: str | None = None
    text: str | None = None


@dataclass(frozen=True, repr=False)
class Targeted(Short, Picklable):
    """The runtime that a problem is for.

    Attributes:
        name: of the target.
        stated: the constraints without those that the target stands for.
    """

    name: str
    stated: tuple[Constraint, ...]
