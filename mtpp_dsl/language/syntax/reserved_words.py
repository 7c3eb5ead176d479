"""Words that have a meaning in expressions: those that nothing may be called, and the names of functions.

The parser knows them without knowing what they do; :mod:`mtpp_dsl.language.values.functions` has what functions do.
"""

from __future__ import annotations

__all__ = ["FUNCTION_NAMES", "RESERVED"]

_WORDS = "nodes devices edges bottleneck makespan latency throughput used true false inf on"
_KEYWORDS = "if then else for in and or not forall"
RESERVED = frozenset(f"{_WORDS} {_KEYWORDS}".split())
"""Words of the language in expressions: nothing that a spec declares may have such a name."""

_OF_NODES = "dtype flop kind label name node output params part predecessors read successors"
_COSTS = "time weight_type work write"
_OF_DEVICES = "bandwidth color efficiency group memory overhead peak power price speed type"
_DECISIONS = "bottleneck finish latency load moved on start used"
_OF_VALUES = "abs ceil exp floor keys length log2 mod pow round size sqrt string values"
_OF_MANY = "all any count max min product sum"
FUNCTION_NAMES = frozenset(f"{_OF_NODES} {_COSTS} {_OF_DEVICES} {_DECISIONS} {_OF_VALUES} {_OF_MANY}".split())
"""The names of all functions, those of many values among them."""
