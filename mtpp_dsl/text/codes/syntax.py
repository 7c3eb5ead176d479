"""Codes E001 to E099, and W001 to W099: what does not parse."""

from __future__ import annotations

from mtpp_dsl.text.codes.code import Code

__all__ = ["SYNTAX"]

SYNTAX: tuple[Code, ...] = ()
