"""The words of the language: where each may stand, what it means, and which words of other tools are meant by it.

The parser knows them without knowing what they do. What options there are, and the words that are their values, is in
:mod:`mtpp_dsl.language.words.vocabulary`; what functions do, in :mod:`mtpp_dsl.language.values.functions`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from mtpp_dsl.core.errors import did_you_mean


class Meaning(NamedTuple):
    """What a word means.

    Attributes:
        says: a sentence.
        form: how it is written, or of what sort its value is.
        page: of the documentation, with the heading.
        default: of an option.
    """

    says: str
    form: str = ""
    page: str = "language.md"
    default: str = ""


STATEMENTS: Mapping[str, Meaning] = {
    "mtpp": Meaning("Says the version of the language.", "mtpp 1", "language.md#statements"),
    "param": Meaning(
        "Declares a parameter, which -D sets on the command line; without a default it must be given.",
        "param NAME: TYPE = VALUE in DOMAIN",
        "language.md#parameters",
    ),
    "let": Meaning(
        "Names a value: a number, a set, a list, a map.", "let NAME = EXPRESSION", "language.md#definitions"
    ),
    "def": Meaning("Defines a function of one's own.", "def NAME(x, y) = EXPRESSION", "language.md#definitions"),
    "assert": Meaning(
        "Stops with its message where the condition is false.", 'assert CONDITION, "MESSAGE"', "language.md#assertions"
    ),
    "include": Meaning(
        "Inserts the statements of another spec, of its folder or of the library.",
        'include "FILE"',
        "language.md#files-scenarios-and-what-overrides-what",
    ),
    "import": Meaning(
        "Takes graph, devices and interconnect from a file; import plan reads an older answer, for moved(v).",
        'import "FILE" (format = …)',
        "language.md#files",
    ),
    "graph": Meaning(
        "Gives the graph: its nodes and edges, a file, or a generator.",
        'graph { … }  graph from "FILE"  graph from generator NAME (…)',
        "language.md#graphs",
    ),
    "block": Meaning(
        "Defines a part of a graph that may be used many times.", "block NAME(i) { … }", "language.md#blocks"
    ),
    "type": Meaning(
        "Names options that devices of the type have.", "type NAME (OPTIONS)", "language.md#types-of-devices"
    ),
    "device": Meaning("Declares a device, or a family of devices.", "device NAME[4] (OPTIONS)", "language.md#devices"),
    "switch": Meaning(
        "Declares a switch, or a family of switches, from which devices hang.",
        "switch NAME[2] (under = …, uplink = …)",
        "language.md#interconnects",
    ),
    "interconnect": Meaning("Says what joins the devices.", "interconnect KIND (OPTIONS)", "language.md#interconnects"),
    "link": Meaning(
        "Joins two devices, or families, on interconnect links; <-> joins them both ways.",
        "link a <-> b (bandwidth = …, latency = …)",
        "language.md#interconnects",
    ),
    "phase": Meaning(
        "Declares phases, in each of which the nodes run once.", "phase prefill, decode (weight = 128)", "phases.md"
    ),
    "time": Meaning(
        "Gives what nodes take on devices, or a transfer between two devices.",
        "time NODES on DEVICES = TIME",
        "language.md#times",
    ),
    "times": Meaning("Reads measured times from a file.", 'times from "FILE" (unit = ms)', "language.md#times"),
    "minimize": Meaning(
        "Says what is to be small; several objectives count in their order.",
        "minimize OBJECTIVE, or minimize LABEL: EXPRESSION",
        "language.md#objectives",
    ),
    "maximize": Meaning(
        "Says what is to be large; several objectives count in their order.",
        "maximize throughput, or maximize LABEL: EXPRESSION",
        "language.md#objectives",
    ),
    "constraint": Meaning(
        "Says what every plan must satisfy.",
        "constraint RULE …, or constraint LABEL: INEQUALITY",
        "language.md#constraints",
    ),
    "target": Meaning(
        "Names the runtime that the plan is for: its limits are constraints.",
        "target NAME (OPTIONS)",
        "language.md#target",
    ),
    "scenario": Meaning(
        "Holds statements that count where --scenario chooses them.", "scenario NAME { … }", "language.md#scenarios"
    ),
}
"""Words that begin a statement."""

ITEMS: Mapping[str, Meaning] = {
    "node": Meaning(
        "Declares a node, or a family of nodes.", "node NAME[i in 0..3] (OPTIONS)", "language.md#nodes-and-edges"
    ),
    "edge": Meaning("Says that b reads the tensor of a.", "edge a -> b -> c", "language.md#nodes-and-edges"),
    "use": Meaning("Makes instances of a block.", "use BLOCK as NAME[i in 0..3] (OPTIONS)", "language.md#blocks"),
    "input": Meaning(
        "Names the nodes of a block that an edge from outside reaches.", "input x = NODE", "language.md#blocks"
    ),
    "output": Meaning(
        "Names the nodes of a block that an edge to the outside leaves.", "output y = NODE", "language.md#blocks"
    ),
    "assert": STATEMENTS["assert"],
}
"""Words that begin an item of a graph or a block."""

BEGINS_ITEM = (*ITEMS, "let")
"""The same, and a word that may be written for one: no ``let`` stands in a graph."""

RULES: Mapping[str, Meaning] = {
    "acyclic": Meaning(
        "The devices can be ordered so that tensors only go forward.", "acyclic", "language.md#constraints"
    ),
    "contiguous": Meaning(
        "No path of the graph leaves a device and comes back to it.", "contiguous on DEVICES", "language.md#constraints"
    ),
    "memory": Meaning(
        "Nodes and reserve fit into the memory of their device; with a schedule, what stages keep for it does.",
        "memory on DEVICES",
        "stages.md#what-a-stage-keeps",
    ),
    "cache": Meaning(
        "Memory holds, and all devices get as many blocks for their caches as the fullest of them can hold.",
        "cache uniform (tokens = 8192, block = 16)",
        "largest.md#the-cache-of-vllm-and-sglang",
    ),
    "colocate": Meaning(
        "These nodes are on one device.", "colocate NODES, or colocate by color", "language.md#constraints"
    ),
    "separate": Meaning("No two of these nodes are on one device.", "separate NODES", "language.md#constraints"),
    "pin": Meaning(
        "Each of these nodes is on one of these devices.", "pin NODES on DEVICES", "language.md#constraints"
    ),
    "forbid": Meaning(
        "None of these nodes is on any of these devices.", "forbid NODES on DEVICES", "language.md#constraints"
    ),
    "subgraphs": Meaning(
        "Each device that pays for tensors runs at most so many contiguous subgraphs.",
        "subgraphs at most 2 on DEVICES",
        "methods/latency.md",
    ),
    "exclusive": Meaning(
        "No two transfers at once leave the same device, or reach the same device.",
        "exclusive links",
        "language.md#constraints",
    ),
    "batch": Meaning(
        "Nodes run batches of these sizes only.", "batch on DEVICES in [1, 2, 4]", "language.md#constraints"
    ),
    "repeat": Meaning(
        "A node may run up to so many batches on each device, one after the other.",
        "repeat up to 2 on DEVICES",
        "language.md#constraints",
    ),
    "replicate": Meaning(
        "Allows more plans: nodes may run on up to so many equal devices, which share the inputs.",
        "replicate DEVICES up to 4",
        "language.md#constraints",
    ),
    "shard": Meaning(
        "Allows more plans: the nodes of a stage may be split over so many equal devices.",
        "shard DEVICES by [1, 2, 4]",
        "stages.md#serving-with-tensor-parallelism",
    ),
    "copies": Meaning(
        "Allows more plans: several routes that share the inputs; no node is held by more than so many devices.",
        "copies up to 2",
        "copies.md",
    ),
    "robust": Meaning(
        "Loads count the worst case in which up to so many nodes take longer.",
        "robust up to 2 (deviation = 10%)",
        "buying.md#times-that-are-off",
    ),
    "stages": Meaning(
        "Stages come in the order of these devices.", "stages on DEVICES", "language.md#stages-in-the-order-of-devices"
    ),
    "break": Meaning(
        "Among identical devices the first gets the most; this only speeds up the search.",
        "break symmetry by tasks",
        "language.md#constraints",
    ),
}
"""First words of the constraints that have a name of their own."""

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
