"""Return the JSON schemas of what is written: answers, explanations, differences."""

from __future__ import annotations

from mtpp_dsl.show.explaining.difference import diff_schema
from mtpp_dsl.show.explaining.explain import explain_schema
from mtpp_dsl.solving.answers.json import schema as answer_schema

__all__ = ["answer_schema", "diff_schema", "explain_schema"]
