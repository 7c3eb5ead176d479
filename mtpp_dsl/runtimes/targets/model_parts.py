"""Splits of a model's operators in manifests: what each part holds and reads, and reading that back with care."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mtpp_dsl.core.base.files import parse_json, read_bytes
from mtpp_dsl.core.constraints import Acyclic
from mtpp_dsl.core.contracts.targets import Split, UnsoundSplit
from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.runtimes.execution.plan_parts import ModelPart, origin_of
from mtpp_dsl.runtimes.targets import stages

__all__ = ["manifest_of", "restricted", "rows_of", "split_of"]

MAX_BYTES = 2**28


def restricted(problem: Problem, name: str, runtime: str) -> Problem:
    """Return the problem with stages that do not wait for each other in a circle.

    Raises:
        UsageError: it asks for nodes on several devices, or its graph was made of no model.
    """
    stages.refuse_beyond(problem, runtime)
    origin_of(problem)
    if problem.acyclic:
        return problem
    return problem.with_constraints([*problem.constraints, Acyclic(origin=stages.origin_of(name))])


def reads_of(model: Model, operators: Sequence[Sequence[int]]) -> list[dict[str, int | None]]:
    """Return for each part the tensors that it reads of earlier parts, with their numbers; None: it is an input.

    A part that computes a tensor anew reads it from no other part.
    """
    reads: list[dict[str, int | None]] = [{} for _ in operators]
    homes: dict[int, int] = {}
    for s, own in reversed(list(enumerate(operators))):
        homes.update(dict.fromkeys(own, s))
    for s, own in enumerate(operators):
        inside = set(own)
        for i in sorted(inside):
            for t in model.taken[i]:
                producer = model.tensors[t].producer
                if producer not in inside:
                    reads[s][model.tensors[t].name] = None if producer is None else homes[producer]
    return reads


def manifest_of(source: Path | str, expected: str, usual: str) -> tuple[Mapping[str, Any], Path | None]:
    """Return the manifest in a folder, where it is called *usual*, in a file or in a text; and its folder.

    Raises:
        UsageError: there is none, or it is of another form.
    """
    folder = None
    if isinstance(source, Path):
        path = source / usual if source.is_dir() else source
        path = path.with_suffix(".json") if path.suffix == ".py" else path
        folder, name, data = path.parent, str(path), read_bytes(path, MAX_BYTES)
    else:
        name, data = "the manifest", source.encode()
    manifest = parse_json(data, name)
    if not isinstance(manifest, dict) or manifest.get("format") != expected:
        raise UsageError(f'{name} is no manifest of this form: it has no "format": "{expected}"')
    if manifest.get("version") != 1:
        raise UsageError(f"{name} is of version {manifest.get('version')!r}; version 1 is read")
    return manifest, folder


def split_of(problem: Problem, manifest: Mapping[str, Any], key: str) -> Split:
    """Return the split that a manifest has; *key* names its list of parts.

    Raises:
        UsageError: it is of another model, or not of this form.
        UnsoundSplit: an operator is lost, doubled or moved, a node is torn, or a part reads of a later one.
    """
    origin = origin_of(problem)
    digest, known = manifest.get("model_sha256"), origin.model.source.sha256
    if digest and known and digest != known:
        raise UsageError(f"the manifest is of another model: sha256 {str(digest)[:16]}, and the spec's has {known:.16}")
    rows = _rows(manifest, key)
    devices = [_device(problem, row, s) for s, row in enumerate(rows)]
    twice = next((d for d in devices if devices.count(d) > 1), None)
    if twice is not None:
        raise UnsoundSplit(f"two parts are on {problem.devices[twice].name}: each device has one stage")
    parts = [_operators(origin.model, row, s) for s, row in enumerate(rows)]
    counts = Counter(i for members in origin.members for i in members)
    assignment = [_home(problem, v, counts, parts, devices) for v in range(problem.graph.n)]
    _check_copies(problem, assignment, parts, devices)
    _check_reads(origin.model, rows, parts)
    return Split(tuple(assignment))


def _rows(manifest: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    rows = manifest.get(key)
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise UsageError(f"the manifest has no list of {key}")
    for s, row in enumerate(rows):
        if not isinstance(row.get("operators"), list) or not all(
            isinstance(operator, str) for operator in row["operators"]
        ):
            raise UsageError(f"{key}[{s}] of the manifest has no list of operators")
        if not isinstance(row.get("reads"), dict):
            raise UsageError(f"{key}[{s}] of the manifest does not say what it reads")
    return rows


def _device(problem: Problem, row: Mapping[str, Any], s: int) -> int:
    name = row.get("device")
    if not isinstance(name, str) or name not in problem.device_index:
        names = problem.device_index
        raise UnsoundSplit(f"part {s} is on {name!r}, which is no device of the spec{did_you_mean(str(name), names)}")
    return problem.device_index[name]


def _operators(model: Model, row: Mapping[str, Any], s: int) -> frozenset[int]:
    numbers: set[int] = set()
    for name in row["operators"]:
        if name not in model.index:
            raise UnsoundSplit(f"part {s} has {name!r}, no operator of the model{did_you_mean(name, model.index)}")
        if model.index[name] in numbers:
            raise UnsoundSplit(f"operator {name} is doubled: part {s} has it twice")
        numbers.add(model.index[name])
    return frozenset(numbers)


def _home(
    problem: Problem, v: int, counts: Mapping[int, int], parts: Sequence[frozenset[int]], devices: Sequence[int]
) -> int:
    """Return the device that has all operators of a node; *counts* says how many nodes compute each of them.

    Raises:
        UnsoundSplit: none has, or several have what is not computed anew.
    """
    origin = origin_of(problem)
    members, model = frozenset(origin.members[v]), origin.model
    lost = sorted(members - frozenset().union(*parts))
    if lost:
        raise UnsoundSplit(f"operator {model.operators[lost[0]].name} is lost: no part has it")
    holders = [s for s, part in enumerate(parts) if members <= part]
    for i in sorted(i for i in members if counts[i] == 1):
        places = [s for s, part in enumerate(parts) if i in part]
        if len(places) > 1:
            listed = " and ".join(map(str, places))
            raise UnsoundSplit(f"operator {model.operators[i].name} is doubled: parts {listed} have it")
    if not holders:
        name = problem.graph.names[v]
        raise UnsoundSplit(
            f"node {name} of the spec is torn: its operators are in several parts, and none has them all"
        )
    return devices[holders[0]]


def _check_copies(
    problem: Problem, assignment: Sequence[int], parts: Sequence[frozenset[int]], devices: Sequence[int]
) -> None:
    """Refuse a part that has an operator which no node on its device computes."""
    origin = origin_of(problem)
    for s, part in enumerate(parts):
        nodes = [v for v, device in enumerate(assignment) if device == devices[s]]
        more = sorted(part - {i for v in nodes for i in origin.members[v]})
        if more:
            raise UnsoundSplit(f"operator {origin.model.operators[more[0]].name} is doubled: part {s} has it as well")


def _check_reads(model: Model, rows: Sequence[Mapping[str, Any]], parts: Sequence[frozenset[int]]) -> None:
    """Refuse parts whose operators do not read what the manifest says: one has been moved."""
    for s, (row, reads) in enumerate(zip(rows, reads_of(model, [sorted(part) for part in parts]), strict=True)):
        late = next((name for name, source in reads.items() if source is not None and source > s), None)
        if late is not None:
            raise UnsoundSplit(f"part {s} reads {late!r}, which part {reads[late]} makes, a later one")
        if row["reads"] != reads:
            odd = sorted(set(row["reads"]) ^ set(reads)) or [
                name for name, source in reads.items() if row["reads"][name] != source
            ]
            raise UnsoundSplit(
                f"an operator has been moved: part {s} with these operators reads {odd[0]!r} "
                f"{'as well' if odd[0] in reads else 'no longer'}, other than the manifest says"
            )


def rows_of(problem: Problem, parts: Sequence[ModelPart]) -> list[dict[str, Any]]:
    """Return what manifests say of each part: device, nodes, operators, and what it reads of which part."""
    model = origin_of(problem).model
    reads = reads_of(model, [part.operators for part in parts])
    return [
        {
            "device": problem.devices[part.device].name,
            "nodes": [problem.graph.names[v] for v in part.nodes],
            "operators": [model.operators[i].name for i in part.operators],
            "reads": reads[s],
        }
        for s, part in enumerate(parts)
    ]
