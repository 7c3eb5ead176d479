"""Codes E601 to E699, and W601 to W699: objectives and penalties."""

from __future__ import annotations

from mtpp_dsl.core.text.codes.code import Code

__all__ = ["OBJECTIVES"]

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
        "The expression of an objective has no decision in it, so no plan is better than another.",
        "minimize cost: 3 USD",
        "Multiply by decisions: 'minimize cost: sum(price(d) * used(d) for d in devices)'.",
    ),
    Code(
        "MTPP-E603",
        "A tolerance may be a share or a number",
        "The objective has no unit, so that 'within = 0.1' may be a tenth of its value, or a tenth.",
        "minimize count: sum(used(d) for d in devices) (within = 0.1)",
        "Write a share as a percentage: (within = 10%).",
    ),
    Code(
        "MTPP-E604",
        "Two objectives have one name",
        "Several objectives of one file are optimised in their order. Answers tell them apart by their labels, or by "
        "what they are where they have none.",
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
        "An objective is turned round",
        "The best bottleneck, makespan or latency is the least, and the best throughput the largest.",
        "maximize bottleneck",
        "Write minimize for times, maximize for throughput.",
    ),
    Code(
        "MTPP-E623",
        "The options of an objective do not go together",
        "Chunks and ways of transfer belong to batches, and a batch has a size.",
        "maximize throughput (chunk = 2)",
        "Give the size of the batch: maximize throughput (batch = 8, chunk = 2).",
    ),
)
