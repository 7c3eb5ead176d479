"""Say what the options of statements mean, in a sentence each: of what sort, what they are where they are not given."""

from __future__ import annotations

from collections.abc import Mapping

from mtpp_dsl.language.words.meanings import Meaning

__all__ = ["meaning_of_option"]

_LANGUAGE = "language.md#"
_NODE, _DEVICE, _JOINED = f"{_LANGUAGE}nodes-and-edges", f"{_LANGUAGE}devices", f"{_LANGUAGE}interconnects"
_STAGES, _COSTS, _TRANSFERS = (
    "stages.md#what-a-node-says",
    "costs.md#what-nodes-and-devices-say",
    "networks.md#what-transfers-take",
)

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
        "memory": Meaning("What it takes under constraint memory.", "size", _NODE, "params + output"),
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
    "interconnect": {
        "bandwidth": Meaning("The bandwidth of every pair without a link.", "bandwidth", _JOINED, "none"),
        "latency": Meaning("The latency of every pair without a link.", "time", _JOINED, "0"),
        "overflow": Meaning("stream: parameters beyond the memory are read for each input.", "word", _JOINED, "none"),
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
