"""Codes E401 to E499, and W401 to W499: devices, interconnects, links and times."""

from __future__ import annotations

from mtpp_dsl.text.codes.code import Code

__all__ = ["DEVICES"]

DEVICES: tuple[Code, ...] = ()
