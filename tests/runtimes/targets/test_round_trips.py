"""Tests that what is exported is read back as the plan that it was, and that a changed file is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.contracts.targets import Target, UnsoundSplit
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.problem.variants import targeted
from tests.own_time import within
from tests.runtimes.targets.splits import STAMP, forms, split, stack, target_of


def text_of(target: Target, problem: Problem, plan: Plan) -> str:
    """Return the text of the file that the runtime reads."""
    files = target.export(problem, plan, STAMP)
    text = next(iter(files.values()))
    assert isinstance(text, str)
    return text


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", forms())
def test_an_exported_plan_is_read_back(name: str, tmp_path: Path) -> None:
    random, target = Random(name), target_of(name)
    for number in range(60):
        problem = stack(random, cpu=name in ("llama-cpp", "device-map", "csv") and number % 3 == 0)
        plan = split(target, problem, random)
        text = text_of(target, problem, plan)
        assert target.read(text, problem).assignment == tuple(plan.assignment.tolist())
        assert verify(targeted(problem, target.name, target.restrict), plan) == []
        if number == 0:
            path = tmp_path / next(iter(target.export(problem, plan, STAMP)))
            path.write_text(text, encoding="utf-8")
            assert target.read(path, problem) == target.read(text, problem)


@pytest.mark.parametrize("name", forms())
def test_every_file_says_where_it_came_from(name: str) -> None:
    problem = stack(Random(1), 2)
    files = target_of(name).export(problem, split(target_of(name), problem, Random(2)), STAMP)
    said = "".join(map(str, files.values()))
    assert "a.json" in said
    assert "1.25" in said
    assert "1.5" in said


def _lists(change: Callable[[list[int]], list[int]]) -> Callable[[str], str]:
    """Return what changes the last list of whole numbers in a text."""

    def changed(text: str) -> str:
        found = list(re.finditer(r"\d+(?:,\s*\d+)+", text))[-1]
        return (
            text[: found.start()] + ",".join(map(str, change([*map(int, found[0].split(","))]))) + text[found.end() :]
        )

    return changed


def _rows(change: Callable[[list[str]], list[str]], keep: str) -> Callable[[str], str]:
    """Return what changes the lines in which a pattern is."""

    def changed(text: str) -> str:
        lines = text.splitlines()
        chosen = [i for i, line in enumerate(lines) if re.search(keep, line)]
        return "\n".join([*lines[: chosen[0]], *change([lines[i] for i in chosen]), *lines[chosen[-1] + 1 :]])

    return changed


COUNTS = {
    "lost": _lists(lambda counts: [count - (i == counts.index(max(counts))) for i, count in enumerate(counts)]),
    "doubled": _lists(lambda counts: [counts[0] + 1, *counts[1:]]),
    "a stage too many": _lists(lambda counts: [*counts, 1]),
    "a stage too few": _lists(lambda counts: [counts[0] + counts[1], *counts[2:]]),
}


def _last_item(text: str) -> str:
    """Return a launch line of llama.cpp that counts the layers alone, as is often done."""
    return COUNTS["lost"](text)


def _without_module(text: str) -> str:
    return text.replace('"layer.1", ', "", 1) if '"layer.1", ' in text else text.replace(', "layer.1"', "", 1)


CHANGES: dict[str, dict[str, Callable[[str], str]]] = {
    **dict.fromkeys(("vllm", "sglang", "tensorrt-llm", "layers"), COUNTS),
    "llama-cpp": {**COUNTS, "the output forgotten": _last_item},
    "megatron": {
        "lost": lambda text: re.sub(r"t(\*\d+)?(?=[|L])", "", text, count=1).replace("Et", "E"),
        "doubled": lambda text: text.replace('"E', '"Et', 1),
        "two embeddings": lambda text: text.replace("|", "|E", 1),
        "swapped": lambda text: text.replace('"E', '"', 1).replace("L", "EL", 1),
        "the loss first": lambda text: text.replace('"E', '"LE', 1).replace('L"', '"', 1),
        "too many": lambda text: text.replace('L"', '|L"', 1),
        "too few": lambda text: text.replace("|", "", 1),
    },
    "deepspeed": {
        "lost": _lists(lambda parts: [*parts[:-1], parts[-1] - 1]),
        "doubled": _lists(lambda parts: [*parts[:-1], parts[-1] + 1]),
        "not from 0": _lists(lambda parts: [1, *parts[1:]]),
        "swapped": _lists(lambda parts: [parts[0], parts[2], parts[1], *parts[3:]]),
        "too many": _lists(lambda parts: [0, 1, *parts[1:]]),
        "too few": _lists(lambda parts: [0, *parts[2:]]),
    },
    "torchtitan": {
        "lost": _without_module,
        "doubled": lambda text: text.replace('"layer.1"', '"layer.1", "layer.1"', 1),
        "swapped": lambda text: (
            text.replace('"layer.1"', "?").replace('"layer.2"', '"layer.1"').replace("?", '"layer.2"')
        ),
        "unknown": lambda text: text.replace('"layer.1"', '"layer.17"'),
        "too many": lambda text: text.replace("\n    ]", "\n        [],\n    ]"),
    },
    "device-map": {
        "lost": _rows(lambda rows: rows[:-1], r'"layer\.'),
        "unknown": lambda text: text.replace('"layer.1"', '"layer.17"'),
        "another device": lambda text: re.sub(r": \d", ": 17", text, count=1),
        "disk": lambda text: re.sub(r": \d", ': "disk"', text, count=1),
        "torn apart": lambda text: text.replace("{", '{"layer.1.mlp": 0, "layer.1.attn": 1,', 1),
    },
    "csv": {
        "lost": _rows(lambda rows: rows[:-1], r"^layer"),
        "doubled": _rows(lambda rows: [*rows, rows[0]], r"^layer"),
        "unknown": lambda text: text.replace("layer[1]", "layer[17]"),
        "another device": lambda text: text.replace(",gpu[0]", ",gpu[17]"),
    },
    "dot": {
        "lost": _rows(lambda rows: rows[:-1], r'"layer.*device='),
        "doubled": _rows(lambda rows: [*rows, rows[0]], r'"layer.*device='),
        "unknown": lambda text: text.replace('"layer[1]', '"layer[17]'),
    },
}


def _refused(target: Target, text: str, problem: Problem) -> bool:
    try:
        target.read(text, problem)
    except UnsoundSplit:
        return True
    return False


@pytest.mark.parametrize("name", forms())
def test_a_layer_lost_doubled_or_swapped_is_refused(name: str) -> None:
    random, target = Random(name), target_of(name)
    tried = 0
    while tried < 12:
        problem = stack(random, 3)
        if len(problem.graph.names) < 8 or any("." in node for node in problem.graph.names):
            continue
        plan = split(target, problem, random)
        text = text_of(target, problem, plan)
        if name == "device-map" and len(set(plan.assignment.tolist())) < 2:
            continue
        tried += 1
        for change, made in CHANGES[name].items():
            assert _refused(target, made(text), problem), f"{name}: {change} is not refused:\n{made(text)}"


@pytest.mark.parametrize("name", forms())
def test_what_is_not_of_the_form_is_refused(name: str, tmp_path: Path) -> None:
    problem, target = stack(Random(3), 2), target_of(name)
    garbage = ["", "\0", "x" * 100, "[[[[[[[[", json.dumps({"a": 1}), "9" * 10_000, "[" * 100_000, "(t*9)*9" * 999]
    for text in garbage:
        with pytest.raises(UsageError):
            target.read(text, problem)
    with pytest.raises(UsageError):
        target.read(tmp_path / "missing", problem)


HOSTILE = {
    "parentheses": "(" * 60_000,
    "options": '--pipeline-model-parallel-layout "' * 1_800,
    "counts": "1 , " * 200_000 + "x",
    "lists": "pp_partition: [1," * 60_000,
    "comments": "/*" * 500_000,
    "brackets": "[[" * 200_000,
    "quotes": '"' * 500_000,
    "multiplied": "(" + "t" * 9_000 + ")*99999",
    "rows": "node,device\n" + "x,y\n" * 100_000,
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", forms())
def test_hostile_texts_are_refused_at_once(name: str) -> None:
    problem, target = stack(Random(3), 2), target_of(name)
    for what, text in HOSTILE.items():
        with within(5, what), pytest.raises(UsageError):
            target.read(text, problem)


@pytest.mark.parametrize("name", [name for name in forms() if name not in ("csv", "dot", "device-map")])
def test_a_plan_out_of_order_is_refused_with_the_constraint_to_add(name: str) -> None:
    problem, target = stack(Random(5), 2), target_of(name)
    back = 1 - split(target, problem, Random(1)).assignment
    with pytest.raises(UsageError, match=f"add 'constraint .*' or solve with --for {target.name}|add 'constraint"):
        target.export(problem, Plan.create(problem, back), STAMP)
