"""Codes E901 to E999, and W901 to W999: limits of size."""

from __future__ import annotations

from mtpp_dsl.text.codes.code import Code

__all__ = ["LIMITS"]

LIMITS: tuple[Code, ...] = ()
