"""Codes E301 to E399, and W301 to W399: graphs, nodes, edges and blocks."""

from __future__ import annotations

from mtpp_dsl.core.text.codes.code import Code

__all__ = ["GRAPHS"]

_TWICE = (
    '{"nodes": [{"id": 1, "cpuLatency": 2, "fpgaLatency": 1, "size": 1},\n'
    '           {"id": 2, "cpuLatency": 2, "fpgaLatency": 1, "size": 1}],\n'
    ' "edges": [{"sourceId": 1, "destId": 2, "cost": 1}, {"sourceId": 1, "destId": 2, "cost": 1}]}\n'
)

GRAPHS: tuple[Code, ...] = (
    Code(
        "MTPP-E301",
        "A graph has no nodes",
        "There is nothing to place on devices.",
        "graph { }",
        "Declare nodes: node a (work = 1 ms).",
    ),
    Code(
        "MTPP-E302",
        "An edge leads from a node to itself",
        "A node cannot read its own output.",
        "graph {\n  node start (work = 1 ms)\n  edge start -> start\n}",
        "Correct one of its ends, or remove the edge.",
    ),
    Code(
        "MTPP-E303",
        "A graph cannot be as it is written",
        "The edges go round in a circle, an edge is there twice, or a node lacks what others have. The "
        "message says which nodes and edges it is about.",
        "graph {\n  node start (work = 1 ms)\n  node end (work = 1 ms)\n  edge start -> end -> start\n}",
        "Remove or turn one of the edges that the message shows.",
    ),
    Code(
        "MTPP-E304",
        "An edge goes into an output, or out of an input",
        "Edges leave the outputs of blocks and reach their inputs.",
        "block layer() {\n  node attn (work = 1 ms)\n  input in = attn\n  output out = attn\n}\n"
        "graph {\n  use layer\n  node start (work = 1 ms)\n  edge start -> layer.out\n}",
        "Write the other port: edge start -> layer.in.",
    ),
    Code(
        "MTPP-E306",
        "A generator cannot make a graph",
        "There is no generator of that name, or its options do not fit.",
        "graph from generator chian (nodes = 3)",
        "Use a generator that the message suggests, with options that it has.",
    ),
    Code(
        "MTPP-E307",
        "A declared family has a size, not a range",
        "device tpu[4] declares tpu[0] to tpu[3]. A range stands there only with a loop variable.",
        "device tpu[0..3]",
        "Write the size, tpu[4], or a loop: tpu[i in 0..3].",
    ),
    Code(
        "MTPP-E308",
        "A block or a port needs itself",
        "A block uses itself, directly or by way of others, or a port stands for itself: expanding it would never end.",
        "block layer() {\n  node attn (work = 1 ms)\n  use layer as inner\n}\ngraph { use layer }",
        "Break the circle: use another block inside, or a family of instances.",
    ),
    Code(
        "MTPP-E309",
        "A node without work has a time on some devices only",
        "A node that has times of its own runs in them. Where it has none, its work says how long it takes, and "
        "without work that would be no time at all.",
        "graph {\n  node conv (time = {cpu: 3 ms})\n}\ndevice cpu\ndevice gpu",
        "Give the missing time, inf where the device cannot run the node, or work.",
    ),
    Code(
        "MTPP-E310",
        "A time cannot be made of costs",
        "A node says what it does (flop = …), and no law makes a time of it: the device has no peak for its "
        "type of numbers, or no bandwidth, or nobody can count what the node does.",
        "graph { node conv (flop = 3 GFLOP, dtype = fp8) }\n"
        "device gpu (peak = {bf16: 312 TFLOP/s}, bandwidth = 2 TB/s)\ninterconnect shared (bandwidth = 8 GB/s)",
        "Give the device the figure, or the node a time there: time conv on gpu = 3 ms.",
    ),
    Code(
        "MTPP-W301",
        "There is no work",
        "No node takes any time, so any plan is as good as any other.",
        "graph { node start (params = 1 MiB) }",
        "Give nodes (work = …), or times: time start on gpu = 3 ms.",
    ),
    Code(
        "MTPP-W302",
        "A file says something that is left out or merged",
        "What the file of a graph holds is read with a change, such as an edge that it gives twice.",
        'graph from "graph.json" (format = msr)\ndevice tpu\ninterconnect shared (bandwidth = 1)',
        "Check the file; the message says what was done.",
        files={"graph.json": _TWICE},
    ),
)
