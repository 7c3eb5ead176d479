"""Say what functions, objectives, options and other words mean, in a sentence each, with the page that says more."""

from __future__ import annotations

from collections.abc import Mapping

from mtpp_dsl.language.syntax.keywords import Meaning


def _language(heading: str, table: Mapping[str, tuple[str, str]]) -> dict[str, Meaning]:
    return {word: Meaning(says, form, f"language.md#{heading}") for word, (says, form) in table.items()}


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


_LANGUAGE = "language.md#"
_NODE, _DEVICE, _JOINED = f"{_LANGUAGE}nodes-and-edges", f"{_LANGUAGE}devices", f"{_LANGUAGE}interconnects"
_STAGES, _COSTS, _TRANSFERS = (
    "stages.md#what-a-node-says",
    "costs.md#what-nodes-and-devices-say",
    "networks.md#what-transfers-take",
)

_CACHES = "largest.md#the-cache-of-vllm-and-sglang"

_UP = {
    "uplink": Meaning("The bandwidth of the way to the switch above.", "bandwidth", _JOINED, "unlimited"),
    "latency": Meaning("The latency of the way to the switch above.", "time", _JOINED, "0"),
    "duplex": Meaning("Whether both directions have a channel each.", "word", _TRANSFERS, "full"),
}
_SPLITS = {
    "overlap": Meaning("Whether transfers run beside the work of a device.", "word", _TRANSFERS, "none"),
    "send": Meaning("Whether a tensor is sent once, or to each reader.", "word", _TRANSFERS, "once"),
    "duplex": Meaning("Whether both directions of a link have a channel each.", "word", _TRANSFERS, "full"),
}
_DEVICES = {
    "type": Meaning(
        "A declared type, whose options it takes, or a string.", "type or string", _DEVICE, '"accelerator"'
    ),
    "memory": Meaning("Its memory, for constraint memory and overflow = stream.", "size", _DEVICE, "unlimited"),
    "reserve": Meaning("The part of the memory that is kept free.", "size", _DEVICE, "0"),
    "speed": Meaning("Divides the running times; with work in FLOP, FLOP/s.", "factor or FLOP/s", _DEVICE, "1"),
    "io": Meaning("free: it pays for no transfer, on interconnect host.", "word", _DEVICE, "paid"),
    "unsupported": Meaning("Kinds of nodes that it cannot run.", "string or list of strings", _DEVICE, "none"),
    "group": Meaning(
        "Its group, where the network between groups is slower.", "string or whole number", _DEVICE, "none"
    ),
    "fixed": Meaning("The share of the time that a batch takes whatever its size.", "share", _DEVICE, "0%"),
    "overhead": Meaning(
        "Time that every batch, or with costs every operator, takes in addition.", "time", _DEVICE, "0"
    ),
    "price": Meaning("What it costs.", "money, or money per time", _DEVICE, "none"),
    "power": Meaning("What it draws.", "power", _DEVICE, "none"),
    "peak": Meaning("Operations per second, one number or a map by dtype.", "FLOP/s", _COSTS, "none"),
    "bandwidth": Meaning("The bandwidth of its own memory.", "bandwidth", _COSTS, "none"),
    "efficiency": Meaning("The share of the peak that operators reach, by kind.", "share or map", _COSTS, "100%"),
    "switch": Meaning("The switch that it hangs from.", "switch", _JOINED, "none"),
    **_UP,
}
_SCHEDULE = {
    "microbatches": Meaning("How many microbatches an input is cut into.", "whole number", "stages.md", "none"),
    "schedule": Meaning(
        "The order in which the pipeline runs microbatches.", "word", "stages.md#what-a-stage-keeps", "none"
    ),
}
_CHANNEL = {"bandwidth": Meaning("The bandwidth of the channel. It is required.", "bandwidth", _JOINED)}
_OF: Mapping[str, Mapping[str, Meaning]] = {
    "interconnect shared": _CHANNEL,
    "interconnect host": _CHANNEL,
    "node": {
        "work": Meaning("Running time on a device of speed 1, or operations.", "time or FLOP", _NODE, "0"),
        "time": Meaning(
            "Running time on devices: one, or a map such as {cpu: 3 ms}.",
            "time or map",
            f"{_LANGUAGE}times",
            "work / speed",
        ),
        "params": Meaning("The size of its parameters.", "size", _NODE, "0"),
        "output": Meaning("The size of its tensor.", "size", _NODE, "0"),
        "memory": Meaning("What it takes under constraint memory.", "size", _NODE, "params + output + cache"),
        "cache": Meaning("The part of its memory that requests take.", "size", _CACHES, "0"),
        "workspace": Meaning(
            "What it needs beside while it runs: of a device's nodes the largest counts.", "size", _NODE, "0"
        ),
        "deviation": Meaning(
            "By how much it may take longer, under constraint robust.",
            "time or share",
            "buying.md#times-that-are-off",
            "none",
        ),
        "saved": Meaning("What its stage keeps of it for each microbatch in flight.", "size", _STAGES, "output"),
        "state": Meaning("What its stage holds of it whatever is in flight.", "size", _STAGES, "params"),
        "reduce": Meaning("What the devices of a group add up for a microbatch.", "size", _STAGES, "0"),
        "forward": Meaning("The share of its time that is the forward pass.", "share", _STAGES, "100%"),
        "kind": Meaning("The kind of operator, for sets, colocate by kind and unsupported.", "string", _NODE, "none"),
        "label": Meaning("A name for people, and for colocate by label.", "string", _NODE, "none"),
        "color": Meaning("A class, for colocate by color.", "whole number", _NODE, "none"),
        "part": Meaning("The part of a training graph that it belongs to.", "word", _NODE, "forward"),
        "flop": Meaning("What it computes; times follow from the figures of devices.", "FLOP", _COSTS, "none"),
        "read": Meaning(
            "Bytes that it reads from memory, beside flop.", "size", _COSTS, "params and the tensors it reads"
        ),
        "write": Meaning("Bytes that it writes to memory, beside flop.", "size", _COSTS, "output"),
        "dtype": Meaning("In which numbers it computes.", "string, such as bf16", _COSTS, '""'),
        "weight_type": Meaning("In which numbers its weights are stored.", "string", _COSTS, '""'),
    },
    "edge": {"size": Meaning("What the edge carries on links.", "size", _NODE, "the output of its tail")},
    "device": _DEVICES,
    "type": _DEVICES,
    "switch": {"under": Meaning("The switch above.", "switch", "networks.md#switches", "none"), **_UP, **_SPLITS},
    "link": {
        "bandwidth": Meaning("The bandwidth of the link.", "bandwidth", _JOINED, "infinite"),
        "latency": Meaning("What every transfer takes in addition.", "time", _JOINED, "0"),
    },
    "phase": {"weight": Meaning("How often the phase runs for one input.", "number", "phases.md", "1")},
    "times": {
        "unit": Meaning("The unit of the times in the file.", "unit of time", f"{_LANGUAGE}times", "none"),
        "device": Meaning("The device or type of a profile's times.", "string", "costs.md#measured-times", "all"),
        "phase": Meaning("The phase of a profile's times.", "string", "costs.md#measured-times", "all"),
    },
    "file": {
        "format": Meaning("The format of the file.", "word", f"{_LANGUAGE}files", "the one that can read it"),
        "group_by": Meaning("What a node stands for.", "word", "models.md#from-a-modeljson-to-a-graph", "layer"),
        "phase": Meaning("The phase of the model.", "word", "models.md#from-a-modeljson-to-a-graph", "all"),
        "weight_type": Meaning(
            "How weights are stored.", "word", "models.md#from-a-modeljson-to-a-graph", "as in the file"
        ),
        "ties": Meaning("What becomes of nodes that read one weight.", "word", "models.md#tied-weights", "colocate"),
        "experts_read": Meaning(
            "How many experts tokens read: on average, or at most.", "word", "models.md#what-a-node-weighs", "expected"
        ),
    },
    "target": {
        "grain": Meaning(
            "Whether whole layers are placed, or single tensors too.",
            "word",
            "targets.md#experts-on-the-cpu",
            "tensor where the graph has experts",
        )
    },
    "interconnect": {
        "bandwidth": Meaning("The bandwidth of every pair without a link.", "bandwidth", _JOINED, "none"),
        "latency": Meaning("The latency of every pair without a link.", "time", _JOINED, "0"),
        "overflow": Meaning(
            "stream: parameters beyond the memory are read for each input; prefetch: while the device works.",
            "word",
            _JOINED,
            "none",
        ),
        "between": Meaning("The bandwidth between groups of devices.", "bandwidth", _JOINED, "bandwidth"),
        "routing": Meaning("Whether devices without a link use the widest path.", "word", _JOINED, "widest"),
        **_SPLITS,
    },
    "objective": {
        "parts": Meaning(
            "Whether forward and backward parts count apart.", "word", f"{_LANGUAGE}objectives", "together"
        ),
        "within": Meaning(
            "How far later objectives may leave this one's best value.",
            "share or amount",
            f"{_LANGUAGE}objectives-of-your-own",
            "0",
        ),
        "batch": Meaning("Inputs in all.", "whole number", f"{_LANGUAGE}batches", "none: a pipeline"),
        "chunk": Meaning(
            "Inputs that stay together throughout a plan.", "whole number", f"{_LANGUAGE}batches", "the greatest"
        ),
        "transfer": Meaning(
            "Whether a transfer takes its time per batch or per input.", "word", f"{_LANGUAGE}batches", "per_batch"
        ),
        **_SCHEDULE,
    },
    "constraint": {
        "parts": Meaning(
            "Whether it holds for both parts of a training graph.", "word", f"{_LANGUAGE}constraints", "both"
        ),
        "groups": Meaning("Whether groups of devices are ordered, too.", "word", f"{_LANGUAGE}constraints", "ordered"),
        "scope": Meaning(
            "Among which identical devices: within groups, between them.", "word", f"{_LANGUAGE}constraints", "both"
        ),
        "sync": Meaning(
            "Whether replicas exchange their weights.", "word", f"{_LANGUAGE}constraints", "weights in training"
        ),
        "speedup": Meaning(
            "By how much so many devices are faster.",
            "map",
            "stages.md#serving-with-tensor-parallelism",
            "that many times",
        ),
        "share": Meaning("What routes may have in common.", "word", "copies.md#what-may-be-shared", "any"),
        "deviation": Meaning(
            "By which share of its time a node may take longer.", "share", "buying.md#times-that-are-off", "none"
        ),
        "empty": Meaning(
            "Whether a stage may have no node.", "word", f"{_LANGUAGE}stages-in-the-order-of-devices", "allowed"
        ),
        "tokens": Meaning("How many tokens the cache of each node is for.", "whole number", _CACHES, "none"),
        "block": Meaning("The tokens of one block of the cache.", "whole number", _CACHES, "1"),
        "recompute": Meaning(
            "Whether stages compute activations again.", "word", "stages.md#what-a-stage-keeps", "never"
        ),
        **_SCHEDULE,
    },
    "constraint:": {
        "penalty": Meaning(
            "Makes the row soft: what it is missed by, times this, is paid.",
            "unit of the objective per unit of the row",
            f"{_LANGUAGE}constraints-of-your-own",
            "none: it must hold",
        )
    },
}


def meaning_of_option(owner: str, option: str) -> Meaning | None:
    """Return what an option of *owner* (:func:`mtpp_dsl.language.words.vocabulary.owners`) means; None if unknown."""
    kind = owner.partition(" ")[0]
    return _OF.get(owner, {}).get(option) or _OF.get(kind, {}).get(option)
