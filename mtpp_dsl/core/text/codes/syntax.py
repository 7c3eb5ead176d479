"""Codes E001 to E099, and W001 to W099: what does not parse."""

from __future__ import annotations

from mtpp_dsl.core.text.codes.code import Code

__all__ = ["SYNTAX"]

SYNTAX: tuple[Code, ...] = (
    Code(
        "MTPP-E012",
        "A rule is unknown",
        "The word behind constraint is neither a rule of the language or of a plug-in, nor a label, which "
        "has a colon behind it.",
        "constraint acylic",
        "Write one of the rules that the message lists, or a label and a colon: constraint limit: "
        "load(gpu[0]) <= 3 ms.",
    ),
    Code(
        "MTPP-E020",
        "A statement is missing",
        "A spec has a graph, devices, an interconnect where there are several devices, and an objective.",
        "let width = 3\nlet twice = 2 * width",
        "Add the statement; the message has an example.",
        whole=True,
    ),
    Code(
        "MTPP-E021",
        "A statement is given twice",
        "Only one graph, interconnect or objective of a file counts. An including file's statement "
        "replaces that of an included file.",
        "interconnect shared (bandwidth = 8 GiB/s)\ninterconnect shared (bandwidth = 9 GiB/s)",
        "Remove one of the two.",
    ),
    Code(
        "MTPP-E022",
        "The version of the language is another one",
        "This version of mtpp reads version 1 of the language.",
        "mtpp 2",
        "Write mtpp 1, or use a newer mtpp.",
    ),
    Code(
        "MTPP-E001",
        "There is no such statement",
        "A line begins with a word that begins no statement. Each statement begins with a keyword.",
        "devcie tpu[2]",
        "Write one of the keywords.",
    ),
    Code(
        "MTPP-E002",
        "A statement is not written as the language has it",
        "A word or a mark stands where another one is expected. The message shows how the statement is "
        "written, or what may stand there.",
        "constraint exclusive",
        "Write it as the message shows, or look it up in docs/language.md.",
    ),
    Code(
        "MTPP-E003",
        "A bracket or a string is not closed",
        "An opening bracket or quotation mark lacks its partner, or has the wrong one.",
        "device tpu (memory = 1 GiB",
        "Close it; the message shows the one that is open.",
    ),
    Code(
        "MTPP-E004",
        "A mark is missing",
        "A comma, a colon or a closing bracket is missing: with it, the text could be read on.",
        "device tpu (memory = 1 GiB speed = 2)",
        "Put the mark where the message says.",
    ),
    Code(
        "MTPP-E005",
        "A character is not of the language",
        "The character begins no word of the language; it may look like another one that does.",
        "constraint limit: load(gpu[0]) ≤ 3 ms",
        "Remove it, or write what the message says in its place.",
    ),
    Code(
        "MTPP-E006",
        "A unit or a word does not stand well behind its number",
        "A unit stands on the line of its number, and other words do not touch a number.",
        "let pause = 5\n  ms",
        "Write the unit behind its number, or a space between.",
    ),
    Code(
        "MTPP-E009",
        "An item does not stand here",
        "A graph has nodes, edges, uses of blocks and assertions; a block has inputs and outputs besides.",
        "graph {\n  embed -> head\n}",
        "Begin each item with its word, and write other statements outside of the graph or block.",
    ),
    Code(
        "MTPP-E007",
        "An option is not written as name = value",
        "Options stand in round brackets behind a declaration, each with a value.",
        "device tpu (memory 1 GiB)",
        "Write (name = value, name = value).",
    ),
    Code(
        "MTPP-E008",
        "A declaration has no name, or several",
        "Each statement declares one name, or one family.",
        "let = 3",
        "Write the name behind the keyword; several alike are a family, such as gpu[4].",
    ),
    Code(
        "MTPP-E010",
        "A value is missing",
        "Something ends where a value is expected: behind '=', an operator, or if.",
        "param width: int =",
        "Write the value.",
    ),
    Code(
        "MTPP-E011",
        "'=' and '==' are mixed up",
        "'=' gives a name or an option its value, and '==' compares.",
        "constraint limit: load(gpu[0]) = 3 ms",
        "Write the other one.",
    ),
)
