"""Codes E401 to E499, and W401 to W499: devices, interconnects, links and times."""

from __future__ import annotations

from mtpp_dsl.core.text.codes.code import Code

__all__ = ["DEVICES"]

_MSR = '{"nodes": [{"id": 1, "cpuLatency": 2, "fpgaLatency": 1, "size": 100}], "edges": []}\n'
_MOIRAI = (
    '{"devices": 1, "device_memory": [8], "transfers": [],\n'
    ' "tasks": [{"id": 1, "times": [3], "memory": 1, "successors": []}]}\n'
)

_PROFILE = (
    '{"format": "mtpp-profile", "version": 1, "device": "cpu", "operators": {"a": "x"},\n'
    ' "signatures": {"x": {"op": "matmul", "median": 0.001}}}\n'
)

_MODEL = (
    '{"format": "mtpp-model", "version": 1, "operators": [{"name": "a", "flop": 0}, {"name": "b", "flop": 0}],\n'
    ' "source": {"kind": "torch", "name": "model"},\n'
    ' "tensors": [{"name": "x", "producer": 0, "readers": [1], "bytes": 4000}]}\n'
)

DEVICES: tuple[Code, ...] = (
    Code(
        "MTPP-E401",
        "A channel lacks its bandwidth",
        "An interconnect or a link has neither a bandwidth nor anything else that says how long transfers take.",
        "interconnect shared",
        "Give it one: interconnect shared (bandwidth = 8 GiB/s).",
    ),
    Code(
        "MTPP-E402",
        "A link joins a device to itself",
        "Nothing is transferred within a device.",
        "interconnect links (bandwidth = 8 GiB/s)\ndevice tpu[2]\nlink tpu[0] <-> tpu[0] (latency = 1 us)",
        "Correct one of the two ends.",
    ),
    Code(
        "MTPP-E403",
        "Links need an interconnect of links",
        "A link statement describes a pair of devices, and on shared and host all devices use one channel.",
        "device tpu[2]\ninterconnect shared (bandwidth = 8 GiB/s)\nlink tpu[0] <-> tpu[1] (latency = 1 us)",
        "Say interconnect links, or remove the link statements.",
    ),
    Code(
        "MTPP-E404",
        "A device has no memory limit",
        "A constraint keeps a device to its memory, and the device has none.",
        "device tpu[2]\nconstraint memory on tpu",
        "Give the device a memory: device tpu[2] (memory = 16 GiB).",
    ),
    Code(
        "MTPP-E405",
        "io = free has no meaning here",
        "Only on interconnect host can a device take part in transfers without paying for them.",
        "device cpu (io = free)",
        "Use interconnect host, or leave the option out.",
    ),
    Code(
        "MTPP-E406",
        "A family of devices has no members",
        "The range of its members is empty.",
        "device tpu[i in 3..2]",
        "Correct the range: device tpu[4], or tpu[i in 0..<4].",
    ),
    Code(
        "MTPP-E407",
        "Switches do not make a tree",
        "Every switch is under another one, or under none; what holds for all of a tree is said of the one on top.",
        "interconnect tree\nswitch a (under = b)\nswitch b (under = a)\ndevice gpu[2] (switch = a)",
        "Leave out under = … of the switch that is on top.",
    ),
    Code(
        "MTPP-E409",
        "Parameters cannot be streamed",
        "overflow = stream reads parameters anew that do not fit, and the graph does not say how large they are.",
        'graph from "graph.json" (format = msr)\ndevice tpu (memory = 1 GiB)\n'
        "interconnect shared (bandwidth = 1, overflow = stream)",
        "Give nodes (params = …), or leave overflow out.",
        files={"graph.json": _MSR},
    ),
    Code(
        "MTPP-W401",
        "A memory has no effect",
        "Devices have a memory, and no constraint and no overflow keeps to it, so that plans may need more.",
        "device tpu[2] (memory = 1 GiB)",
        "Say constraint memory, or interconnect … (overflow = stream).",
    ),
    Code(
        "MTPP-W402",
        "No node takes any memory",
        "A constraint or overflow keeps to memories, and nothing needs any.",
        "graph { node start (work = 1 ms) }\nconstraint memory",
        "Give nodes (params = …) or (memory = …).",
    ),
    Code(
        "MTPP-W403",
        "Streaming costs nothing",
        "A device with io = free pays nothing for the parameters that it streams, so its memory has no effect.",
        "device cpu (memory = 1 MiB, io = free)\ninterconnect host (bandwidth = 8 GiB/s, overflow = stream)",
        "Say constraint memory on the device.",
    ),
    Code(
        "MTPP-W404",
        "Times are by devices that there are not",
        "The graph's file has times by the names of devices, and the spec has none of these names.",
        'graph from "graph.json" (format = moirai)\ndevice tpu\ninterconnect shared (bandwidth = 1)',
        "Name devices as the file does, or take the file's with import.",
        files={"graph.json": _MOIRAI},
    ),
    Code(
        "MTPP-W405",
        "Times of batches have no effect",
        "The objective is about single inputs, and the times are those of batches.",
        "time start on gpu at batch 2 = 3 ms",
        "Give times without at batch, or maximize throughput (batch = …).",
    ),
    Code(
        "MTPP-W406",
        "Something in the tree of switches has no effect, or no limit",
        "A switch has no devices, or a device or switch has no uplink.",
        "interconnect tree\nswitch rack\ndevice gpu[2] (switch = rack)",
        "Give every device and every switch but the one on top an uplink: (uplink = 12 GB/s).",
    ),
    Code(
        "MTPP-W407",
        "Nothing joins two parts of the tree",
        "Two devices have no switch above both, so no tensor can go from one to the other.",
        "interconnect tree\nswitch rack\ndevice gpu (switch = rack, uplink = 1 GB/s)\n"
        "switch other\ndevice tpu (switch = other, uplink = 1 GB/s)",
        "Put both under one switch: (switch = rack), and switches (under = rack).",
    ),
    Code(
        "MTPP-W408",
        "A profile lacks some operators",
        "A node is measured where the profile has all its operators; others keep the times that they have otherwise.",
        "graph {\n  node a (flop = 1 GFLOP, read = 1 MB)\n  node b (work = 1 ms, flop = 1 GFLOP, read = 1 MB)\n}\n"
        "device cpu (peak = 1 TFLOP/s, bandwidth = 50 GB/s)\ninterconnect shared (bandwidth = 1 GB/s)\n"
        'times from "profile.json"',
        "Measure the rest, or leave it to the law.",
        files={"profile.json": _PROFILE},
    ),
    Code(
        "MTPP-W409",
        "Memory for activations is not reserved",
        "Weights and caches of a model add up on a device. Tensors that are there only while a node runs do not: a "
        "device needs the most of any of its nodes. The message names the node that needs most, if each of its "
        "operators makes a new tensor; a runtime may need less.",
        'graph from "model.json"\ndevice gpu[2] (memory = 1 GB)\nconstraint memory',
        "Reserve that much: (memory = 1 GB, reserve = 4 kB).",
        files={"model.json": _MODEL},
    ),
)
