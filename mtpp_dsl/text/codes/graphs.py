"""Codes E301 to E399, and W301 to W399: graphs, nodes, edges and blocks."""

from __future__ import annotations

from mtpp_dsl.text.codes.code import Code

__all__ = ["GRAPHS"]

GRAPHS: tuple[Code, ...] = ()
