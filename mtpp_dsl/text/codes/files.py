"""Codes E701 to E799, and W701 to W799: params, includes, imports, tables, scenarios and other files."""

from __future__ import annotations

from mtpp_dsl.text.codes.code import Code

__all__ = ["FILES"]

FILES: tuple[Code, ...] = ()
