"""Codes E101 to E199, and W101 to W199: names that are unknown, declared twice, or not allowed."""

from __future__ import annotations

from mtpp_dsl.text.codes.code import Code

__all__ = ["NAMES"]

NAMES: tuple[Code, ...] = (
    Code(
        "MTPP-E101",
        "A name is unknown",
        "An expression or a list of nodes or devices says a name that no param, let, node or device has.",
        "constraint pin stat on gpu",
        "Write the name as it is declared; the message suggests one that is near.",
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
)
