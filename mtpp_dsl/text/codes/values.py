"""Codes E201 to E299, and W201 to W299: values, expressions, functions and units."""

from __future__ import annotations

from mtpp_dsl.text.codes.code import Code

__all__ = ["VALUES"]

VALUES: tuple[Code, ...] = (
    Code(
        "MTPP-E201",
        "A unit is unknown",
        "A word stands behind a number on its line and is no unit.",
        "let limit = 3 GHz",
        "Use one of the units of the language, such as ms, MiB, GFLOP or GB/s. Units are case-sensitive.",
    ),
)
