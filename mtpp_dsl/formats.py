"""Read files of graphs and models: what a format of your own returns, and what it may derive from."""

from __future__ import annotations

from mtpp_dsl.exchange.formats.models import ModelFormat
from mtpp_dsl.exchange.formats.reading import format_of, read, read_model
from mtpp_dsl.exchange.formats.workload import Workload
from mtpp_dsl.exchange.model.model import Model

__all__ = ["Model", "ModelFormat", "Workload", "format_of", "read", "read_model"]
