"""Codes of how a spec is written: E001 to E099 of syntax, E101 to E199 of names, E201 to E299 of values and units.

Warnings have the same numbers: W001, and so on.
"""

from __future__ import annotations

from mtpp_dsl.core.text.codes.code import Code

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
        "A spec has a graph, devices, an interconnect and an objective.",
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
        "A statement is malformed",
        "A word or a mark stands where another one is expected. The message shows how the statement is "
        "written, or what may come there.",
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
        "A comma, a colon or a closing bracket is missing: with it, the text could be read.",
        "device tpu (memory = 1 GiB speed = 2)",
        "Put the mark where the message says.",
    ),
    Code(
        "MTPP-E005",
        "A character does not belong to the language",
        "No word of the language begins with this character; it may look like another one. In a string, a backslash "
        'may only begin \\", \\\\, \\n or \\t.',
        "constraint limit: load(gpu[0]) ≤ 3 ms",
        "Remove it, or write what the message says in its place.",
    ),
    Code(
        "MTPP-E006",
        "A unit is on another line than its number, or a word touches a number",
        "A unit stands on the line of its number. Other words need a space after a number.",
        "let pause = 5\n  ms",
        "Write the unit on the line of its number, or a space in between.",
    ),
    Code(
        "MTPP-E009",
        "An item is not allowed here",
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


NAMES: tuple[Code, ...] = (
    Code(
        "MTPP-E101",
        "A name is unknown",
        "An expression or a list of nodes or devices uses a name that no param, let, node or device has.",
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
        "A word of the language is used as a name",
        "Words with a meaning in expressions, such as nodes, edges, inf or on, cannot name nodes, devices, params, "
        "lets, functions or loop variables.",
        "let edges = 4",
        "Choose another name.",
    ),
    Code(
        "MTPP-E104",
        "A name is both a node and a device",
        "An expression uses a name that both a node and a device have.",
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
        "MTPP-W104",
        "A def hides a function of the language",
        "A function of the spec has the name of one of the language, perhaps of one that was added later. Calls in the "
        "spec mean the spec's own; files of the library go on with that of the language.",
        "def ceil(x) = x + 1\nassert ceil(1) == 2",
        "Rename it if you need both; else leave it as it is.",
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
        "A definition depends on itself",
        "A let or a function needs its own value, directly or through others. The message shows the cycle.",
        "let x = y + 1\nlet y = x - 1",
        "Break the cycle: give one of them a value that needs none of the others.",
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
        "A word is not one of the choices",
        "Some options and rules take one of a few words, such as the kind of an interconnect, or by what symmetry "
        "is broken.",
        "interconnect mesh (bandwidth = 8 GiB/s)",
        "Use one of the words that the message or the reference lists.",
    ),
    Code(
        "MTPP-W102",
        "A name is never used",
        "A param or a let of the spec itself has no effect: nothing uses it. Those of included files are not checked.",
        "let width = 3",
        "Use it, or remove it.",
    ),
    Code(
        "MTPP-E108",
        "An option refers to itself, or to an option without a value",
        "An option needs its own value, directly or through others, or the value of an option that is not given.",
        "graph { node start (params = memory, memory = 2 * params) }",
        "Give one of them a value that needs none of the others.",
    ),
    Code(
        "MTPP-W103",
        "A name is that of an option and of a param or a let",
        "An option refers to a name that both another option and a param or a let of the spec have. It gets the value "
        "of the param or the let.",
        "param params = 1 MiB\ngraph { node start (params = 3 MiB, memory = 2 * params) }",
        "Rename the param or the let.",
    ),
)


VALUES: tuple[Code, ...] = (
    Code(
        "MTPP-E201",
        "A unit is unknown",
        "The word behind a number is not a unit.",
        "let limit = 3 GHz",
        "Use one of the units of the language, such as ms, MiB, GFLOP or GB/s. Units are case-sensitive.",
    ),
    Code(
        "MTPP-E202",
        "A unit binds to the divisor",
        "1/2 ms divides 1 by 2 ms, which is not a time. Most likely you mean half a millisecond.",
        "let half = 1/2 ms",
        "Write 0.5 ms, or 1 ms / 2. If the inverse is meant, write 1 / (2 ms).",
    ),
    Code(
        "MTPP-E203",
        "A key of a map cannot be used",
        "A key is given twice, or is not a string, a number, a node or a device.",
        "let m = {cpu: 1, cpu: 2}",
        "Give each key once. A bare name is its own text; brackets around it give its value.",
    ),
    Code(
        "MTPP-E204",
        "A value has no such part",
        "A subscript or a part behind a dot does not exist: beyond the end of a list, a key that a map does not have, "
        "a column that a table does not have, or a subscript of a set, which has no order.",
        "let w = [1, 2]\nlet x = w[2]",
        "Use what is there; the message lists it, or says how many there are. [x for x in S] makes a list of a set.",
    ),
    Code(
        "MTPP-E205",
        "A table has no value there",
        "The cell is empty, several rows have the same first cell, or it is no number although its column has a unit.",
        'param t: table from "t.csv"\nlet x = t["gpu"].price',
        "Fill the cell, or leave its row out with a condition; make the first cells different.",
        files={"t.csv": "device,price (USD/h)\ngpu,\n"},
    ),
    Code(
        "MTPP-E206",
        "A function is unknown, or called with the wrong arguments",
        "There is no function of that name, it takes another number of arguments, or it takes no comprehension.",
        "let x = log(8)",
        "Write the call as the message shows it.",
    ),
    Code(
        "MTPP-E207",
        "A function calls itself",
        "A function of the spec (def) calls itself, directly or through others.",
        "def fold(n) = n * fold(n - 1)",
        "Write a sum, a product or another function of many values with 'for' in place of the recursion.",
    ),
    Code(
        "MTPP-W201",
        "A range runs backwards",
        "The last end of a range is below the first, so it has no members. For a range that is merely empty, such as "
        "0..<0, there is no warning.",
        "let r = count(3..0)",
        "Write the smaller end first.",
    ),
    Code(
        "MTPP-W202",
        "A loop has no step",
        "The 'for' of a statement runs over an empty set, or no member satisfies its 'if'. So the statement has no "
        "effect.",
        'constraint pin v on gpu for v in nodes if kind(v) == "conv"',
        "Check the set and the condition; a kind may be written in another way.",
    ),
    Code(
        "MTPP-W203",
        "A constraint over numbers is false",
        "Both sides of an inequality are numbers, and it does not hold, so no plan is feasible.",
        "constraint cap: 3 <= 2",
        "Change the numbers, or write 'assert' for a condition on params.",
    ),
    Code(
        "MTPP-E209",
        "Quantities of different kinds are added",
        "Only quantities of one dimension are added. USD and EUR are two: there is no rate of exchange. The message "
        "shows the place of the sum and that of the first quantity with a unit.",
        "let budget = 3 USD + 2 EUR",
        "Convert one of the two with a rate of your own, such as 'let rate = 1.1 USD / 1 EUR'.",
    ),
    Code(
        "MTPP-E210",
        "A value has the wrong kind",
        "A number, a string, a set, a list, a node or a device is needed, and the value is something else.",
        "constraint pin gpu[0] on gpu[0]",
        "Write a value of the kind that the message names.",
    ),
    Code(
        "MTPP-E211",
        "A whole number is needed",
        "Members of families, subscripts, amounts, colors and batch sizes are whole numbers.",
        "device tpu[2.5]",
        "Write a whole number; floor(x), ceil(x) and round(x) make one.",
    ),
    Code(
        "MTPP-E212",
        "An expression is not linear in the decisions",
        "Objectives and labelled constraints are sums of decisions, each times a number: methods and "
        "proofs need this form. The message shows the part that does not have it.",
        "constraint c: max(load(d) for d in devices) >= 3 ms",
        "A maximum may be limited from above or minimised, but not limited from below. Write products "
        "of decisions as two rows, or compute with numbers only.",
    ),
    Code(
        "MTPP-E213",
        "Quantities of different kinds are combined",
        "Times, sizes, rates, money and plain numbers are added and compared only with their like. All "
        "times of a problem carry units, or none do, and so do all sizes.",
        "graph {\n  node start (work = 1 ms)\n  node end (work = 2)\n}",
        "Give both a unit of the same kind, or neither.",
    ),
    Code(
        "MTPP-E214",
        "A value is out of range",
        "The value must not be negative, must be more than zero, or has an upper limit; the message says which.",
        "device tpu (memory = -1 GiB)",
        "Write a value within the range.",
    ),
    Code(
        "MTPP-E215",
        "A number is too large or too long",
        "It is beyond the numbers that mtpp computes with, or has too many digits.",
        "let x = 1e999",
        "Write a smaller number; inf is a word of the language where something is unlimited.",
    ),
    Code(
        "MTPP-E216",
        "A calculation has no result",
        "It divides by zero, or takes the root or the logarithm of a negative number, or the minimum of an empty list.",
        "let x = 1 / 0",
        "Change the numbers, or guard the case with a condition: if b > 0 then a / b else 0.",
    ),
    Code(
        "MTPP-W204",
        "A set has no members",
        "The statement is about the nodes or devices of a set. The set is empty, so the statement has no effect.",
        "constraint colocate { v in nodes if work(v) > 1 h }",
        "Correct the condition of the set, or leave the statement out.",
    ),
)
