"""Codes E201 to E299, and W201 to W299: values, expressions, functions and units."""

from __future__ import annotations

from mtpp_dsl.core.text.codes.code import Code

__all__ = ["VALUES"]

VALUES: tuple[Code, ...] = (
    Code(
        "MTPP-E201",
        "A unit is unknown",
        "A word stands behind a number on its line and is no unit.",
        "let limit = 3 GHz",
        "Use one of the units of the language, such as ms, MiB, GFLOP or GB/s. Units are case-sensitive.",
    ),
    Code(
        "MTPP-E202",
        "A unit binds to the divisor",
        "1/2 ms divides 1 by 2 ms, which is no time. Half a millisecond is meant, most likely.",
        "let half = 1/2 ms",
        "Write 0.5 ms, or 1 ms / 2. If the inverse is meant, write 1 / (2 ms).",
    ),
    Code(
        "MTPP-E203",
        "A key of a map cannot be used",
        "A key is given twice, or is neither a string, a number, a node nor a device.",
        "let m = {cpu: 1, cpu: 2}",
        "Give each key once. A bare name stands for its own text; brackets around it take its value.",
    ),
    Code(
        "MTPP-E204",
        "A value has no such part",
        "A subscript or a part behind a dot is not there: beyond the end of a list, a key that a map does not have, a "
        "column that a table does not have, or a subscript of a set, which has no order.",
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
        "A function is called in a way that it does not have",
        "There is no function of that name, it takes another number of arguments, or it takes no comprehension.",
        "let x = log(8)",
        "Write the call as the message shows it.",
    ),
    Code(
        "MTPP-E207",
        "A function calls itself",
        "A function of the spec's own (def) calls itself, by itself or through others.",
        "def fold(n) = n * fold(n - 1)",
        "Write a sum, a product or another function of many values with 'for' in place of the recursion.",
    ),
    Code(
        "MTPP-W201",
        "A range runs backwards",
        "The last end of a range is below the first, so it has no members. A range that is merely empty, such as "
        "0..<0, is not warned of.",
        "let r = count(3..0)",
        "Write the smaller end first.",
    ),
    Code(
        "MTPP-W202",
        "A loop has no step",
        "What the 'for' of a statement runs over is empty, or no member satisfies its 'if'. So the statement says "
        "nothing.",
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
        "Two units are added that do not go together",
        "Only quantities of one dimension are added. USD and EUR are two: there is no rate of exchange. The message "
        "shows the place of the sum and that of the first quantity with a unit.",
        "let budget = 3 USD + 2 EUR",
        "Convert one of the two with a rate of your own, such as 'let rate = 1.1 USD / 1 EUR'.",
    ),
    Code(
        "MTPP-E210",
        "A value is of the wrong kind",
        "A number, a string, a set, a list, a node or a device is wanted, and another kind of value is there.",
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
        "proofs rest on it. The message shows the part that is not.",
        "constraint c: max(load(d) for d in devices) >= 3 ms",
        "A maximum may have a limit from above, and may be minimised; from below it is no row. Write products "
        "of decisions as two rows, or compute with numbers only.",
    ),
    Code(
        "MTPP-E213",
        "Quantities do not go together",
        "Times, sizes, rates, money and plain numbers are added and compared only with their like. All "
        "times of a problem carry units, or none do, and so do all sizes.",
        "graph {\n  node start (work = 1 ms)\n  node end (work = 2)\n}",
        "Give both a unit of the same kind, or neither.",
    ),
    Code(
        "MTPP-E214",
        "A value is out of range",
        "The value must not be negative, must be more than zero, or at most so much; the message says which.",
        "device tpu (memory = -1 GiB)",
        "Write a value within the range.",
    ),
    Code(
        "MTPP-E215",
        "A number cannot be computed with",
        "It is too large, or too long.",
        "let x = 1e999",
        "Write a smaller number; inf is a word of the language where something is unlimited.",
    ),
    Code(
        "MTPP-E216",
        "A calculation has no result",
        "It divides by zero, takes the root or the logarithm of a negative number, or asks for the least of nothing.",
        "let x = 1 / 0",
        "Change the numbers, or guard the case with a condition: if b > 0 then a / b else 0.",
    ),
    Code(
        "MTPP-W204",
        "A set has no members",
        "The statement speaks of the nodes or devices of a set, which is empty, so it says nothing.",
        "constraint colocate { v in nodes if work(v) > 1 h }",
        "Correct the condition of the set, or leave the statement out.",
    ),
)
