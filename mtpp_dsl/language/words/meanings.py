"""Say what the words of the language mean, in a sentence each, with the page that says more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

__all__ = [
    "FUNCTIONS",
    "INTERCONNECTS",
    "ITEMS",
    "OBJECTIVES",
    "PARAM_TYPES",
    "RULES",
    "STATEMENTS",
    "WORDS",
    "Meaning",
]


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


def _language(heading: str, table: Mapping[str, tuple[str, str]]) -> dict[str, Meaning]:
    return {word: Meaning(says, form, f"language.md#{heading}") for word, (says, form) in table.items()}


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
        "Names the runtime that the plan is for: its limits are constraints.", "target NAME", "language.md#target"
    ),
    "scenario": Meaning(
        "Holds statements that count where --scenario chooses them.", "scenario NAME { … }", "language.md#scenarios"
    ),
}

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

RULES: Mapping[str, Meaning] = {
    **_language(
        "constraints",
        {
            "acyclic": ("The devices can be ordered so that tensors only go forward.", "acyclic"),
            "contiguous": ("No path of the graph leaves a device and comes back to it.", "contiguous on DEVICES"),
            "colocate": ("These nodes are on one device.", "colocate NODES, or colocate by color"),
            "separate": ("No two of these nodes are on one device.", "separate NODES"),
            "pin": ("Each of these nodes is on one of these devices.", "pin NODES on DEVICES"),
            "forbid": ("None of these nodes is on any of these devices.", "forbid NODES on DEVICES"),
            "exclusive": (
                "No two transfers at once leave the same device, or reach the same device.",
                "exclusive links",
            ),
            "replicate": (
                "Allows more plans: nodes may run on up to so many equal devices, which share the inputs.",
                "replicate DEVICES up to 4",
            ),
            "break": (
                "Among identical devices the first gets the most; this only speeds up the search.",
                "break symmetry by tasks",
            ),
            "batch": ("Nodes run batches of these sizes only.", "batch on DEVICES in [1, 2, 4]"),
            "repeat": (
                "A node may run up to so many batches on each device, one after the other.",
                "repeat up to 2 on DEVICES",
            ),
        },
    ),
    "memory": Meaning(
        "Nodes and reserve fit into the memory of their device; with a schedule, what stages keep for it does.",
        "memory on DEVICES",
        "stages.md#what-a-stage-keeps",
    ),
    "subgraphs": Meaning(
        "Each device that pays for tensors runs at most so many contiguous subgraphs.",
        "subgraphs at most 2 on DEVICES",
        "methods/latency.md",
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
        "Stages come in the order of these devices.",
        "stages on DEVICES",
        "language.md#stages-in-the-order-of-devices",
    ),
}

OBJECTIVES: Mapping[str, Meaning] = {
    "bottleneck": Meaning("The largest load of a device.", "a time", "language.md#objectives"),
    "makespan": Meaning("The time at which the last node of one input ends.", "a time", "language.md#objectives"),
    "throughput": Meaning("Inputs per second: of a pipeline, or of a batch.", "a rate", "language.md#batches"),
    "latency": Meaning(
        "The sum of all loads, and of transfers that are in no load.", "a time", "language.md#objectives"
    ),
    "iteration": Meaning(
        "The time of all microbatches, with filling and draining the pipeline.",
        "a time",
        "stages.md#what-an-iteration-takes",
    ),
}

INTERCONNECTS: Mapping[str, Meaning] = _language(
    "interconnects",
    {
        "shared": ("All devices share one channel to a memory.", "bandwidth is required"),
        "host": ("As shared, and devices with io = free pay nothing.", "bandwidth is required"),
        "links": ("Each pair of devices has a channel of its own.", "see the statement link"),
    },
) | {"tree": Meaning("Devices hang from switches.", "see the statement switch", "networks.md#switches")}

PARAM_TYPES: Mapping[str, Meaning] = {
    word: Meaning(says, form, f"language.md#{'tables' if word == 'table' else 'parameters'}")
    for word, (says, form) in {
        "int": ("A whole number.", "4"),
        "float": ("A number without a unit.", "0.5"),
        "bool": ("A truth value.", "true"),
        "string": ("A text.", '"conv"'),
        "path": ("A file, from the folder of the spec.", '"net.json"'),
        "table": ("Rows of a CSV or JSON file.", 'param t: table from "t.csv"'),
        "time": ("A time, or a plain number.", "3 ms"),
        "size": ("A size, or a plain number.", "16 GiB"),
        "bandwidth": ("A bandwidth, or a plain number.", "8 GB/s"),
    }.items()
}

WORDS: Mapping[str, Meaning] = _language(
    "expressions",
    {
        "nodes": ("The set of all nodes.", "a set"),
        "devices": ("The set of all devices.", "a set"),
        "edges": ("The set of all edges; e.source and e.target are the nodes of an edge.", "a set"),
        "phases": ("The list of the phases.", "a list"),
        "true": ("The condition that holds.", "a truth value"),
        "false": ("The condition that does not hold.", "a truth value"),
        "inf": ("Infinitely much; as a time, that a device cannot run a node.", "a number"),
        "if": ("Keeps what its condition is true for, or chooses: if c then a else b.", "if CONDITION"),
        "then": ("Begins what a choice gives where its condition is true.", "if c then a else b"),
        "else": ("Begins what a choice gives where its condition is false.", "if c then a else b"),
        "for": ("Repeats what is before it for each member.", "for i in 0..3, d in devices if CONDITION"),
        "forall": ("Repeats the row behind it for each member.", "forall d in devices: INEQUALITY"),
        "in": ("Says what a variable runs over, or asks whether something is a member.", "i in 0..3"),
        "and": ("Both conditions hold.", "a and b"),
        "or": ("One of the conditions holds, or both do.", "a or b"),
        "not": ("The condition does not hold.", "not a"),
    },
)

FUNCTIONS: Mapping[str, Meaning] = {
    **_language(
        "constraints-of-your-own",
        {
            "on": ("1 where the node is on the device, else 0.", "a decision"),
            "load": ("The load of a device, of one phase or of all.", "a decision, a time"),
            "bottleneck": ("The largest load in a phase.", "a decision, a time"),
            "latency": ("The sum of all loads and transfers in a phase.", "a decision, a time"),
            "used": ("1 where any node is on the device, else 0.", "a decision"),
            "moved": ("1 where the node is elsewhere than in the imported plan, else 0.", "a decision"),
            "start": ("When the node starts.", "a decision, a time"),
            "finish": ("When the node ends.", "a decision, a time"),
        },
    ),
    **_language(
        "expressions",
        {
            "work": ("What the graph says the node works.", "a time or FLOP"),
            "params": ("The size of the node's parameters.", "a size"),
            "output": ("The size of the node's tensor.", "a size"),
            "memory": ("What a node takes, or what a device has.", "a size"),
            "kind": ('The kind of a node, "" where none is given.', "a string"),
            "label": ('The label of a node, "" where none is given.', "a string"),
            "name": ("The name of a node or a device.", "a string"),
            "node": ("The node of exactly this name, without those whose names begin with it.", "a node"),
            "color": ("The class of a node, -1 for none.", "a whole number"),
            "part": ('"forward" or "backward".', "a string"),
            "successors": ("The nodes that read the tensor of a node.", "a set of nodes"),
            "predecessors": ("The nodes whose tensors a node reads.", "a set of nodes"),
            "size": ("What an edge carries.", "a size"),
            "type": ("The type of a device.", "a string"),
            "group": ("The group of a device.", "a string"),
            "speed": ("The speed of a device.", "a factor or FLOP/s"),
            "price": ("What a device costs.", "money, or money per time"),
            "power": ("What a device draws.", "a power"),
            "flop": ("What the operators of a node compute, all together.", "FLOP"),
            "read": ("What the operators of a node read from memory.", "a size"),
            "write": ("What the operators of a node write to memory.", "a size"),
            "dtype": ("In which numbers a node computes.", "a string"),
            "weight_type": ("In which numbers the weights of a node are stored.", "a string"),
            "peak": ('Operations per second of a device: peak(d, "bf16").', "FLOP/s"),
            "bandwidth": ("The bandwidth of the device's own memory.", "a bandwidth"),
            "overhead": ("The time that every batch or operator takes in addition on a device.", "a time"),
            "efficiency": (
                'The share of the peak that a kind of operator reaches: efficiency(d, "matmul").',
                "a share",
            ),
            "time": ("How long a node takes on a device, inf where it cannot run there.", "a time"),
            "abs": ("The number without its sign.", "a number"),
            "floor": ("The next whole number below.", "a whole number"),
            "ceil": ("The next whole number above.", "a whole number"),
            "round": ("The nearest whole number, the even one of two.", "a whole number"),
            "sqrt": ("The square root.", "a number"),
            "log2": ("The logarithm to the base 2.", "a number"),
            "exp": ("The power of e.", "a number"),
            "pow": ("pow(x, n) with a whole n.", "a number"),
            "mod": ("The remainder of a division, 0 or more.", "a whole number"),
            "string": ("A number, a node or a device as it is written.", "a string"),
            "length": ("How many members a list, a set, a map, a table or a string has.", "a whole number"),
            "keys": ("The keys of a map.", "a list"),
            "values": ("The values of a map.", "a list"),
            "sum": ("The sum of several numbers or decisions; 0 of none.", "a number"),
            "product": ("The product of several numbers.", "a number"),
            "min": ("The least of several numbers.", "a number"),
            "max": ("The largest of several numbers.", "a number"),
            "count": ("How many members there are.", "a whole number"),
            "all": ("Whether all conditions hold.", "a truth value"),
            "any": ("Whether one of the conditions holds.", "a truth value"),
        },
    ),
}
