"""Suggest the word of the language for a word of other tools, and give hints for words that are near to none."""

from __future__ import annotations

from collections.abc import Iterable

from mtpp_dsl.core.errors import did_you_mean

__all__ = ["word_hint"]

_MEANT: dict[str, dict[str, str]] = {
    "a node": {
        "work": "time cost duration latency runtime compute",
        "flop": "flops tflop gflop operations",
        "dtype": "precision datatype",
        "params": "weight weights parameters",
        "output": "size bytes activation activations out tensor",
        "memory": "mem",
        "kind": "type op operator",
        "color": "group colour",
    },
    "a device": {
        "memory": "mem ram vram capacity",
        "speed": "throughput compute rate",
        "peak": "flops tflops flop",
        "bandwidth": "bw hbm memory_bandwidth",
        "efficiency": "mfu utilization utilisation",
        "type": "kind",
    },
    "an edge": {"size": "output bytes cost weight tensor"},
    "channel": {"bandwidth": "speed rate bw throughput capacity", "latency": "delay"},
    "objective": {
        "bottleneck": "time load interval period max_load tpi",
        "makespan": "latency runtime span duration",
    },
    "function": {
        "work": "time cost duration",
        "output": "size bytes",
        "on": "assigned is_on place placed",
        "log2": "log ln",
        "ceil": "ceiling",
        "length": "len card",
        "abs": "fabs",
    },
    "statement": {
        "let": "var const set define val local",
        "param": "parameter input_param arg argument variable",
        "constraint": "subject st such require rule",
        "minimize": "objective min minimise goal obj",
        "maximize": "max maximise",
        "assert": "check ensure",
        "device": "machine gpu cpu processor",
        "link": "channel connect",
        "interconnect": "network bus topology",
        "block": "module template class layer",
        "def": "function fn func macro",
        "scenario": "profile case variant",
        "include": "require using",
    },
    "type": {"int": "integer number", "float": "real double", "string": "str text", "path": "file"},
    "constraint": {
        "pin": "assign place fix fixed",
        "forbid": "exclude ban deny",
        "separate": "apart split",
        "colocate": "together same",
        "contiguous": "convex connected",
        "acyclic": "order ordered",
    },
}
_KNOWN = {
    sort: {other: word for word, others in meant.items() for other in others.split()} for sort, meant in _MEANT.items()
}


def word_hint(word: str, known: Iterable[str], sort: str) -> str:
    """Return ``"; did you mean 'x'?"`` for a word that is none of *known*, else ``""``.

    Args:
        word: as written.
        known: those that may stand there.
        sort: what they are of: "a node", "a device", "an edge" and "channel" (options), "objective", "function",
            "type", "constraint", "statement"; others have no words of their own.

    >>> word_hint("cost", ["work", "params"], "a node"), word_hint("outptu", ["output"], "a node")
    ("; did you mean 'work'?", "; did you mean 'output'?")
    """
    known = tuple(known)
    meant = _KNOWN.get(sort, {}).get(word.lower())
    return f"; did you mean {meant!r}?" if meant in known else did_you_mean(word, known)
