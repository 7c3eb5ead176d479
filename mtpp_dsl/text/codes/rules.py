"""Codes E501 to E599, and W501 to W599: constraints, rules and labelled rows."""

from __future__ import annotations

from mtpp_dsl.text.codes.code import Code

__all__ = ["RULES"]

RULES: tuple[Code, ...] = ()
