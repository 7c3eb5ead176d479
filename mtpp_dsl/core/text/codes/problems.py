"""Codes of what a spec says: E301 to E399 of graphs, E401 of devices, E501 of constraints, E601 of objectives.

Warnings have the same numbers: W301, and so on.
"""

from __future__ import annotations

from mtpp_dsl.core.text.codes.code import Code

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
        "A graph has a cycle, or another fault",
        "The edges form a cycle, a name cannot be used, or a node lacks what others have. The message shows the nodes "
        "and edges.",
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
        "A block or a port contains itself",
        "A block uses itself, directly or through others, or a port refers to itself: expanding it would never end.",
        "block layer() {\n  node attn (work = 1 ms)\n  use layer as inner\n}\ngraph { use layer }",
        "Break the cycle: use another block inside, or a family of instances.",
    ),
    Code(
        "MTPP-E309",
        "A node without work has a time on some devices only",
        "A node takes its own times where it has them. On other devices its time follows from its work, and without "
        "work it would be zero.",
        "graph {\n  node conv (time = {cpu: 3 ms})\n}\ndevice cpu\ndevice gpu",
        "Give the missing time, inf where the device cannot run the node, or work.",
    ),
    Code(
        "MTPP-E310",
        "A time cannot be computed from costs",
        "A node has costs (flop = …), and the law cannot compute a time from them: the device has no peak for its "
        "type of numbers, or no bandwidth, or the operations of the node are unknown.",
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
        "A part of a file is left out or merged",
        "The file of a graph is read with a change, such as an edge that it has twice.",
        'graph from "graph.json" (format = msr)\ndevice tpu\ninterconnect shared (bandwidth = 1)',
        "Check the file; the message says what was done.",
        files={"graph.json": _TWICE},
    ),
)


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
        "An interconnect or a link has no bandwidth, and no other time for transfers.",
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
        "A constraint limits a device to its memory, and the device has no memory.",
        "device tpu[2]\nconstraint memory on tpu",
        "Give the device a memory: device tpu[2] (memory = 16 GiB).",
    ),
    Code(
        "MTPP-E405",
        "io = free has no meaning here",
        "Only on interconnect host can a device transfer tensors without paying for it.",
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
        "Every switch is under another one, except the one on top, which has the options of the whole tree.",
        "interconnect tree\nswitch a (under = b)\nswitch b (under = a)\ndevice gpu[2] (switch = a)",
        "Leave out under = … of the switch that is on top.",
    ),
    Code(
        "MTPP-E409",
        "Parameters cannot be streamed",
        "With overflow = stream, parameters that do not fit are read again for each input. The graph does not give "
        "their sizes.",
        'graph from "graph.json" (format = msr)\ndevice tpu (memory = 1 GiB)\n'
        "interconnect shared (bandwidth = 1, overflow = stream)",
        "Give nodes (params = …), or leave overflow out.",
        files={"graph.json": _MSR},
    ),
    Code(
        "MTPP-W401",
        "A memory has no effect",
        "Devices have a memory, but neither a constraint nor an overflow uses it, so plans may need more.",
        "device tpu[2] (memory = 1 GiB)",
        "Say constraint memory, or interconnect … (overflow = stream).",
    ),
    Code(
        "MTPP-W402",
        "No node takes any memory",
        "A constraint or an overflow limits memory, and no node needs any.",
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
        "Times are for devices that do not exist",
        "The file of the graph has times for devices by name, and the spec has no device of such a name.",
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
        "A node takes its measured time if the profile has all its operators; other nodes keep the times of the spec.",
        "graph {\n  node a (flop = 1 GFLOP, read = 1 MB)\n  node b (work = 1 ms, flop = 1 GFLOP, read = 1 MB)\n}\n"
        "device cpu (peak = 1 TFLOP/s, bandwidth = 50 GB/s)\ninterconnect shared (bandwidth = 1 GB/s)\n"
        'times from "profile.json"',
        "Measure the rest, or leave it to the law.",
        files={"profile.json": _PROFILE},
    ),
    Code(
        "MTPP-W409",
        "Memory for activations is not reserved",
        "Weights and caches of a model add up on a device. Tensors that exist only while a node runs do not: the "
        "device needs as much as the largest of its nodes. The message names the node that needs most, if each of its "
        "operators makes a new tensor; a runtime may need less.",
        'graph from "model.json"\ndevice gpu[2] (memory = 1 GB)\nconstraint memory',
        "Reserve that much: (memory = 1 GB, reserve = 4 kB).",
        files={"model.json": _MODEL},
    ),
)


OBJECTIVES: tuple[Code, ...] = (
    Code(
        "MTPP-E601",
        "The label of an objective is an objective itself",
        "A label names an objective in answers and on the command line, where bottleneck, makespan, throughput and "
        "latency mean themselves.",
        "minimize latency: sum(load(d) for d in devices)",
        "Choose another word, as in 'minimize delay: …'.",
    ),
    Code(
        "MTPP-E602",
        "The objective is the same for every plan",
        "The expression of the objective contains no decision, so no plan is better than another.",
        "minimize cost: 3 USD",
        "Multiply by decisions: 'minimize cost: sum(price(d) * used(d) for d in devices)'.",
    ),
    Code(
        "MTPP-E603",
        "A tolerance is ambiguous: a share or a number",
        "The objective has no unit, so 'within = 0.1' may mean 10 % of its value, or 0.1.",
        "minimize count: sum(used(d) for d in devices) (within = 0.1)",
        "Write a share as a percentage: (within = 10%).",
    ),
    Code(
        "MTPP-E604",
        "Two objectives have the same name",
        "Several objectives of one file are optimised in their order. Answers name them by their labels, or by "
        "their kinds if they have none.",
        "minimize bottleneck\nminimize bottleneck",
        "Give each a label, as in 'minimize cost: …', or remove one.",
    ),
    Code(
        "MTPP-E605",
        "The unit of a penalty does not fit",
        "A penalty is what a unit of violation costs: it has the unit of the first objective, divided by that of the "
        "row. The message shows both places.",
        "constraint cap: forall d in devices: load(d) <= 3 ms (penalty = 2 USD)",
        "Write it in these units: in 'minimize cost: …' in USD, a row over times costs '1 USD / 1 ms'.",
    ),
    Code(
        "MTPP-E606",
        "A penalty is negative",
        "A plan would gain from breaking the constraint.",
        "constraint cap: forall d in devices: load(d) <= 3 ms (penalty = -1)",
        "Add what is to be rewarded to the objective, with the sign that you mean.",
    ),
    Code(
        "MTPP-E607",
        "A penalty is added to a throughput",
        "A throughput is one divided by a bottleneck, or by a makespan. Its sum with what a violation "
        "costs is not linear.",
        "maximize throughput\nconstraint cap: forall d in devices: load(d) <= 3 ms (penalty = 1)",
        "Write 'minimize bottleneck', and give the penalty in its unit.",
    ),
    Code(
        "MTPP-E621",
        "An objective is unknown",
        "An objective is one of the words that the message lists, or an expression over decisions.",
        "minimize bottlenek",
        "Write bottleneck, makespan or latency, or an expression.",
    ),
    Code(
        "MTPP-E622",
        "An objective has the wrong direction",
        "Bottlenecks, makespans and latencies are minimised, throughputs are maximised.",
        "maximize bottleneck",
        "Write minimize for times, maximize for throughput.",
    ),
    Code(
        "MTPP-E623",
        "The options of an objective do not fit together",
        "The options chunk and transfer are about batches, so they need the option batch.",
        "maximize throughput (chunk = 2)",
        "Give the size of the batch: maximize throughput (batch = 8, chunk = 2).",
    ),
)


RULES: tuple[Code, ...] = (
    Code(
        "MTPP-E501",
        "A labelled constraint is not an inequality",
        "The label needs an inequality between linear expressions behind it.",
        "constraint c: load(gpu[0])",
        "Compare: constraint c: load(gpu[0]) <= 3 ms.",
    ),
    Code(
        "MTPP-E502",
        "A constraint uses <, > or !=",
        "Methods cannot keep strict inequalities and !=, which plans may approach without end.",
        "constraint c: load(gpu[0]) < 3 ms",
        "Write <= or >=; for whole numbers, a < b is a <= b - 1.",
    ),
    Code(
        "MTPP-E503",
        "A decision has no meaning for this objective",
        "Plans for a bottleneck have no schedule, and so no start, finish or makespan.",
        "constraint c: start(start) <= 3 ms",
        "Choose an objective whose plans have it (minimize makespan), or constrain something else.",
    ),
    Code(
        "MTPP-E504",
        "A rule needs more nodes",
        "Nodes can only be kept together, or apart, if there are two or more.",
        "constraint separate start",
        "Name two nodes or more.",
    ),
    Code(
        "MTPP-E505",
        "No node has the attribute",
        "The constraint keeps nodes together by an attribute that no node has.",
        "constraint colocate by color",
        "Give nodes the attribute: node a (color = 1).",
    ),
    Code(
        "MTPP-E506",
        "Options about the memory of stages belong together",
        "What a stage keeps depends on the schedule of the pipeline, and with gpipe and 1f1b on the number of "
        "microbatches.",
        "constraint memory (schedule = gpipe)",
        "Give both: constraint memory (schedule = gpipe, microbatches = 8).",
    ),
    Code(
        "MTPP-E511",
        "A problem or a constraint contradicts the rest of the spec",
        "The parts of the spec contradict each other, or a constraint has no meaning together with the "
        "rest. The message says why.",
        "device tpu (memory = 1 GiB, reserve = 2 GiB)",
        "Change it as the message says, or remove it.",
    ),
    Code(
        "MTPP-E512",
        "The target is unknown, or cannot run the spec",
        "A runtime implies constraints, such as whole layers in the order of the devices. There is no runtime of that "
        "name, or the spec needs what the runtime cannot do; the message says what.",
        "target vllm\nminimize makespan",
        "Name one that mtpp targets lists, or change what the message names.",
    ),
    Code(
        "MTPP-W501",
        "A part of the problem has no effect",
        "The problem is sound, but a part of it changes nothing, such as a device that cannot run any node.",
        "minimize bottleneck (parts = separate)",
        "Remove it, or complete what it needs.",
    ),
    Code(
        "MTPP-W502",
        "Times may be off by more than themselves",
        "The deviation of constraint robust is a share of the times of nodes, and it is larger than 1.",
        "constraint acyclic\nconstraint robust up to 1 (deviation = 10)",
        "If per cents are meant, write them: (deviation = 10%).",
    ),
)
