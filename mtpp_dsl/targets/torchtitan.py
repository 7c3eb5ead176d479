"""torchtitan's ``module_fqns_per_model_part``: the names of the modules of each stage."""

from __future__ import annotations

import ast
import itertools
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mtpp_dsl.contracts import Files, Split, Stamp, UnsoundSplit, text_of
from mtpp_dsl.errors import UsageError, did_you_mean
from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.problem import Problem
from mtpp_dsl.targets.layers import comment, without_comments
from mtpp_dsl.targets.modules import Module, modules_of
from mtpp_dsl.targets.stages import Items, Stages, check_stages
from mtpp_dsl.text.source import shortened
from mtpp_dsl.text.visible import coded

__all__ = ["TorchTitan"]

MAX_TEXT = 2**22
FIELD = "module_fqns_per_model_part"


class TorchTitan(Stages):
    """torchtitan's list of modules for each stage; embedding, norm and head may be stages of their own.

    Modules without weights, such as rotary tables, are in no list: they are with the module before them.
    """

    name = "torchtitan"
    summary = "torchtitan: module_fqns_per_model_part"
    runtime = "torchtitan"
    unit = "module"

    def _grouped(self, problem: Problem) -> list[tuple[str, list[Module], list[int]]]:
        """Return the items: a name, the modules that lists name, and all nodes, those without weights among them.

        Parts of one layer are one item. What has no weights is with the module before it, at the beginning with the
        first one after it.
        """
        found: list[tuple[str, list[Module], list[int]]] = []
        ahead: list[int] = []
        last: int | None = None
        for module in modules_of(problem.graph):
            if not module.weighs:
                (found[-1][2] if found else ahead).extend(module.nodes)
            elif module.layer is not None and module.layer == last:
                found[-1][1].append(module)
                found[-1][2].extend(module.nodes)
            else:
                name = module.path if module.layer is None else f"layer {module.layer}"
                found.append((name, [module], [*module.nodes, *ahead]))
                ahead = []
            last = module.layer if module.weighs else last
        return found

    def items(self, problem: Problem) -> Items:
        """Return the modules; parts of one layer are one item."""
        found = self._grouped(problem)
        return Items(tuple(name for name, _, _ in found), tuple(tuple(sorted(nodes)) for _, _, nodes in found))

    def export(self, problem: Problem, plan: Plan, stamp: Stamp) -> Files:
        """Return the section of a job's configuration."""
        self.counts(problem, plan)
        parts: list[list[str]] = [[] for _ in range(problem.k)]
        for module in (module for _, modules, _ in self._grouped(problem) for module in modules):
            parts[plan.assignment[module.nodes[0]]].append(module.path)
        rows = "".join(f"  [{', '.join(map(_quoted, part))}],\n" for part in parts)
        shown = [f"part {s}: {problem.devices[s].name}" for s in range(problem.k)]
        return {
            "torchtitan.toml": comment(stamp, *shown)
            + f"[parallelism]\npipeline_parallel_degree = {problem.k}\n{FIELD} = [\n{rows}]\n"
        }

    def read(self, source: Path | str, problem: Problem) -> Split:
        """Return the split of a configuration in TOML, or of the list alone, as JSON or as Python writes it."""
        parts = _parts_in(text_of(source, MAX_TEXT))
        check_stages(len(parts), problem.k)
        groups = self._grouped(problem)
        modules = [module for _, own, _ in groups for module in own]
        known = {module.path: module for module in modules}
        stage: dict[str, int] = {}
        for s, part in enumerate(parts):
            for name in part:
                if name not in known:
                    raise UnsoundSplit(f"there is no module {name!r}{did_you_mean(name, known)}")
                if name in stage:
                    raise UnsoundSplit(f"module {name!r} is doubled: it is in part {stage[name]} and in part {s}")
                stage[name] = s
        lost = [path for path in known if path not in stage]
        if lost:
            raise UnsoundSplit(f"module {lost[0]!r} is lost: it is in no part")
        _check_order(modules, stage, parts)
        if [] in parts:
            raise UnsoundSplit(f"part {parts.index([])} has no module; torchtitan needs one in each")
        homes = [stage[own[0].path] for _, own, _ in groups]
        return self.items(problem).assigned([homes.count(s) for s in range(problem.k)], range(problem.k))


def _quoted(path: str) -> str:
    """Return a name as TOML, with the codes of characters that are not seen.

    Raises:
        UsageError: it has half of a pair of surrogates, which TOML cannot say.
    """
    if not path.isascii() and any("\ud800" <= char <= "\udfff" for char in path):
        raise UsageError(f"TOML cannot say the name {shortened(ascii(path))}: it has half of a pair of surrogates")
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + coded(escaped) + '"'


def _check_order(modules: list[Module], stage: Mapping[str, int], parts: list[list[str]]) -> None:
    """Refuse modules in another order than the graph's, and layers that are in two parts.

    Raises:
        UnsoundSplit: so it is.
    """
    for one, other in itertools.pairwise(modules):
        same = one.layer is not None and one.layer == other.layer
        if stage[one.path] > stage[other.path] or (same and stage[one.path] != stage[other.path]):
            what = "split over two parts" if same else "swapped"
            raise UnsoundSplit(
                f"{one.path!r} and {other.path!r} are {what}: they are in parts {stage[one.path]} and "
                f"{stage[other.path]}"
            )
    rank = {module.path: place for place, module in enumerate(modules)}
    for s, part in enumerate(parts):
        odd = next((a for a, b in itertools.pairwise(part) if rank[a] > rank[b]), None)
        if odd is not None:
            raise UnsoundSplit(f"part {s} does not list its modules in their order: {odd!r} is swapped")


def _parts_in(text: str) -> list[list[str]]:
    """Return the lists of names in a text.

    Raises:
        UsageError: there are none.
    """
    data: Any = None
    bare = text.strip()
    try:
        if without_comments(bare).strip().startswith("["):
            inner = without_comments(bare).strip()
            data = tomllib.loads(text) if inner.startswith("[parallelism") else ast.literal_eval(inner)
        else:
            data = tomllib.loads(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        raise UsageError(
            f'there is no {FIELD}: [["tok_embeddings", "layers.0"], ["layers.1", "norm", "output"]]'
        ) from None
    if isinstance(data, dict):
        data = data.get("parallelism", data)
        data = data.get(FIELD) if isinstance(data, dict) else None
    right = isinstance(data, list) and all(
        isinstance(part, list) and all(isinstance(name, str) for name in part) for part in data
    )
    if not right:
        raise UsageError(f"{FIELD} is a list, with a list of names of modules for each part")
    found: list[list[str]] = data
    return found
