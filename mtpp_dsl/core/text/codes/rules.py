"""Codes E501 to E599, and W501 to W599: constraints, rules and labelled rows."""

from __future__ import annotations

from mtpp_dsl.core.text.codes.code import Code

__all__ = ["RULES"]

RULES: tuple[Code, ...] = (
    Code(
        "MTPP-E501",
        "A labelled constraint is no inequality",
        "Behind the label stands an inequality between linear expressions.",
        "constraint c: load(gpu[0])",
        "Compare: constraint c: load(gpu[0]) <= 3 ms.",
    ),
    Code(
        "MTPP-E502",
        "A constraint compares in a way that no method keeps",
        "Strict inequalities and != have no nearest plan: a value may come as close as it likes.",
        "constraint c: load(gpu[0]) < 3 ms",
        "Write <= or >=; for whole numbers, a < b is a <= b - 1.",
    ),
    Code(
        "MTPP-E503",
        "A decision has no meaning for this objective",
        "Plans for a bottleneck have no schedule, so they have no start, finish or makespan.",
        "constraint c: start(start) <= 3 ms",
        "Choose an objective whose plans have it (minimize makespan), or constrain something else.",
    ),
    Code(
        "MTPP-E504",
        "A rule needs more nodes",
        "Nodes are kept apart or together with others, so there are two at least.",
        "constraint separate start",
        "Name two nodes or more.",
    ),
    Code(
        "MTPP-E505",
        "No node has the attribute",
        "Nodes are to be kept together by an attribute that none of them has.",
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
        "A problem or a constraint cannot be meant",
        "The parts of the spec contradict each other, or a constraint has no meaning together with the "
        "rest. The message says why.",
        "device tpu (memory = 1 GiB, reserve = 2 GiB)",
        "Change it as the message says, or remove it.",
    ),
    Code(
        "MTPP-E512",
        "The target is not there, or cannot run what the spec asks",
        "A runtime stands for constraints, such as whole layers in the order of the devices. There is no runtime of "
        "that name, or the spec is about what it cannot do; the message says what.",
        "target vllm\nminimize makespan",
        "Name one that mtpp targets lists, or change what the message names.",
    ),
    Code(
        "MTPP-W501",
        "A part of the problem has no effect",
        "The problem is sound, and something of it changes nothing: a device that can run nothing, or parts that there "
        "are not.",
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
