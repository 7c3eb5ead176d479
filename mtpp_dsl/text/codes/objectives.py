"""Codes E601 to E699, and W601 to W699: objectives and penalties."""

from __future__ import annotations

from mtpp_dsl.text.codes.code import Code

__all__ = ["OBJECTIVES"]

OBJECTIVES: tuple[Code, ...] = ()
