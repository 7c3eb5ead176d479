"""Codes E101 to E199, and W101 to W199: names that are unknown, declared twice, or not allowed."""

from __future__ import annotations

from mtpp_dsl.core.text.codes.code import Code

__all__ = ["NAMES"]

NAMES: tuple[Code, ...] = (
    Code(
        "MTPP-E101",
        "A name is unknown",
        "An expression or a list of nodes or devices says a name that no param, let, node or device has.",
        "constraint pin stat on gpu",
        "Write the name as it is declared.",
    ),
    Code(
        "MTPP-E102",
        "A node is declared twice",
        "Two nodes of a graph have one name. The message shows both places.",
        "graph {\n  node start (work = 1 ms)\n  node start (work = 2 ms)\n}",
        "Rename one of the two, or remove it.",
    ),
    Code(
        "MTPP-E103",
        "A word of the language is taken for a name",
        "Words that mean something in expressions, such as nodes, edges, inf or on, are no names of nodes, devices, "
        "params, lets, functions or loop variables.",
        "let edges = 4",
        "Choose another name.",
    ),
    Code(
        "MTPP-E104",
        "A name is both a node and a device",
        "An expression says a name that a node and a device have.",
        "graph { node cpu (work = 1 ms) }\ndevice cpu\nconstraint pin cpu on cpu",
        "Rename one of the two.",
    ),
    Code(
        "MTPP-W101",
        "A param or a let hides a node or a device",
        "A param or a let has the name of a node, a device or a family, and expressions mean the param or the let.",
        "graph { node start (work = 1 ms) }\nlet start = 3",
        "Rename one of the two.",
    ),
    Code(
        "MTPP-E105",
        "An option is unknown",
        "The statement does not take an option of that name. The message lists those that it takes.",
        "device tpu (memroy = 1 GiB)",
        "Write one of the options that the message lists.",
    ),
    Code(
        "MTPP-E106",
        "An option is given twice",
        "Only one value can count, and it is not clear which is meant.",
        "device tpu (speed = 2, speed = 3)",
        "Remove one of the two.",
    ),
    Code(
        "MTPP-E107",
        "A definition goes round in a circle",
        "A let or a function needs its own value, directly or by way of others. The message shows the way.",
        "let x = y + 1\nlet y = x - 1",
        "Break the circle: give one of them a value of its own.",
    ),
    Code(
        "MTPP-E109",
        "A type is unknown",
        "A param has a type that the language does not have.",
        "param k: integer = 3",
        "Use one of the types that the message lists, or leave the type out.",
    ),
    Code(
        "MTPP-E110",
        "A word is none of those that may stand there",
        "Some options and rules take one of a few words: kinds of interconnects, what symmetry is broken "
        "by, the generator of a graph.",
        "interconnect mesh (bandwidth = 8 GiB/s)",
        "Use one of the words that the message or the reference lists.",
    ),
    Code(
        "MTPP-W102",
        "A name is never used",
        "A param or a let of the spec itself has no effect: nothing names it. Those of included files are "
        "not looked at.",
        "let width = 3",
        "Use it, or remove it.",
    ),
    Code(
        "MTPP-E108",
        "An option refers to one that it cannot refer to",
        "An option needs its own value, by itself or through others, or the value of one that is not given.",
        "graph { node start (params = memory, memory = 2 * params) }",
        "Give one of them a value that needs none of the others.",
    ),
    Code(
        "MTPP-W103",
        "A param or a let is meant in place of an option",
        "An option refers to a name that both another option and a param or a let of the spec have.",
        "param params = 1 MiB\ngraph { node start (params = 3 MiB, memory = 2 * params) }",
        "Rename the param or the let.",
    ),
)
