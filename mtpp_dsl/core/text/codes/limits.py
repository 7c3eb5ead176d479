"""Codes E901 to E999, and W901 to W999: limits of size."""

from __future__ import annotations

from mtpp_dsl.core.text.codes.code import Code

__all__ = ["LIMITS"]

LIMITS: tuple[Code, ...] = (
    Code(
        "MTPP-E901",
        "A limit of size is exceeded",
        "Reading a spec always ends, and stays within memory: characters, words, brackets in brackets, nodes, edges, "
        "devices and steps of loops have limits, far above what a sensible spec needs. The message says which.",
        "device gpu[1_000_000]",
        "Look for a loop or a size that is larger than meant; read a large graph from a file.",
    ),
)
