"""Hold what a file of a format holds, and read of which format a JSON file says that it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from mtpp_dsl.core.base.data_classes import Picklable, Short
from mtpp_dsl.core.base.files import read_head
from mtpp_dsl.core.problem.devices import Device, Interconnect
from mtpp_dsl.core.problem.graph import Graph


@dataclass(frozen=True, eq=False, repr=False)
class Workload(Short, Picklable):
    """What a file holds: a graph, and devices where it has them.

    Attributes:
        graph: the graph.
        devices: in the file's order; empty if it has none.
        interconnect: what joins the devices; None if the file does not say.
        warnings: what the user should be told about this file.
    """

    graph: Graph
    devices: tuple[Device, ...] = ()
    interconnect: Interconnect | None = None
    warnings: tuple[str, ...] = ()


def says_format(path: Path, word: str) -> bool:
    """Return whether a JSON file begins with the field ``"format": "word"``."""
    match = re.match(rb'(?:\xef\xbb\xbf)?\s*\{\s*"format"\s*:\s*"([^"]*)"', read_head(path))
    return match is not None and match[1] == word.encode()
