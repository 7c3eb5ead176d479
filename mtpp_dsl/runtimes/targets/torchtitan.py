"""torchtitan's ``module_fqns_per_model_part``: the names of the modules of each stage, set in a module of Python."""

from __future__ import annotations

import ast
import itertools
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mtpp_dsl.core.contracts.targets import Files, Split, Stamp, UnsoundSplit, text_of
from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph_origin import GraphOrigin
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.text.visible import coded
from mtpp_dsl.runtimes.targets.graph_modules import Module, modules_of
from mtpp_dsl.runtimes.targets.layer_counts import comment
from mtpp_dsl.runtimes.targets.stages import StageItems, Stages, check_stages

MAX_TEXT = 2**22
FIELD = "module_fqns_per_model_part"
DEGREE = "pipeline_parallel_degree"
OUTSIDE = {"embedding": "tok_embeddings", "norm": "norm", "head": "lm_head"}
"""What torchtitan calls the modules of its decoders that are in no layer, by their roles."""
OLDER = {"output": "lm_head"}
"""Names of before torchtitan 0.3."""
_OWN = re.compile(r"[^.]+(\.[0-9]+)?")
"""A name that torchtitan finds: of a child of the model, or of a member of one that is a list."""


class TorchTitan(Stages):
    """torchtitan's list of modules for each stage; embedding, norm and head may be stages of their own.

    Modules without weights, such as rotary tables, are in no list: they are with the module before them. A model that
    calls its modules otherwise than torchtitan does has the names of torchtitan's decoders; torchtitan would leave out
    whatever it does not find, without a message.
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
        groups: list[tuple[str, list[Module], list[int]]] = []
        ahead: list[int] = []
        last: int | None = None
        for module in modules_of(problem.graph):
            if not module.weighs:
                (groups[-1][2] if groups else ahead).extend(module.nodes)
            elif module.layer is not None and module.layer == last:
                groups[-1][1].append(module)
                groups[-1][2].extend(module.nodes)
            else:
                name = module.path if module.layer is None else f"layer {module.layer}"
                groups.append((name, [module], [*module.nodes, *ahead]))
                ahead = []
            last = module.layer if module.weighs else last
        origin = problem.graph.origin
        own = all(_OWN.fullmatch(module.path) for _, modules, _ in groups for module in modules)
        if origin is None or own:
            return groups
        taken: set[str] = set()
        return [(name, [_renamed(modules, origin, taken)], nodes) for name, modules, nodes in groups]

    def items(self, problem: Problem) -> StageItems:
        """Return the modules; parts of one layer are one item."""
        groups = self._grouped(problem)
        return StageItems(tuple(name for name, _, _ in groups), tuple(tuple(sorted(nodes)) for _, _, nodes in groups))

    def export(self, problem: Problem, plan: Plan, stamp: Stamp) -> Files:
        """Return a module that sets the split in a configuration of torchtitan, which is Python since 0.3."""
        self.counts(problem, plan)
        parts: list[list[str]] = [[] for _ in range(problem.k)]
        for module in (module for _, modules, _ in self._grouped(problem) for module in modules):
            parts[plan.assignment[module.nodes[0]]].append(module.path)
        rows = "".join(f"        [{', '.join(map(_quoted, part))}],\n" for part in parts)
        shown = [f"part {s}: {problem.devices[s].name}" for s in range(problem.k)]
        return {
            "torchtitan_split.py": comment(stamp, *shown)
            + f"""

def split(config):
    \"\"\"Set the split in a configuration of torchtitan: return split(llama3_8b()) in a function of your own.\"\"\"
    config.parallelism.{DEGREE} = {problem.k}
    config.parallelism.{FIELD} = [
{rows}    ]
    return config
"""
        }

    def read(self, source: Path | str, problem: Problem) -> Split:
        """Return the split of a module of Python, of a configuration in TOML (before 0.3), or of the list alone."""
        parts = _parts_in(text_of(source, MAX_TEXT))
        check_stages(len(parts), problem.k)
        groups = self._grouped(problem)
        modules = [module for _, own, _ in groups for module in own]
        known = {module.path: module for module in modules}
        parts = [[name if name in known else OLDER.get(name, name) for name in part] for part in parts]
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


def _renamed(modules: list[Module], origin: GraphOrigin, taken: set[str]) -> Module:
    """Return the modules of one item as the one that torchtitan has in their place, which is *taken* from then on.

    Raises:
        UsageError: it has none, or it is another one's.
    """
    first, number = modules[0], modules[0].layer
    nodes = tuple(v for module in modules for v in module.nodes)
    if number is not None:
        return replace(first, path=f"layers.{number}", nodes=nodes)
    roles = {origin.roles[v] for v in nodes} - {""}
    path = OUTSIDE.get(roles.pop()) if len(roles) == 1 else None
    if path is None or path in taken:
        raise UsageError(
            f"torchtitan has no module for {first.path!r}: beside their layers, its decoders have {_listed(OUTSIDE)}"
        )
    taken.add(path)
    return replace(first, path=path, nodes=nodes)


def _listed(names: Mapping[str, str]) -> str:
    *first, last = names.values()
    return f"{', '.join(first)} and {last}"


def _quoted(path: str) -> str:
    """Return a name as Python writes it, with the codes of characters that are not seen."""
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
    try:
        data = _of_toml(text)
        if data is None:
            data = _of_python(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        raise UsageError(
            f'there is no {FIELD}: [["tok_embeddings", "layers.0"], ["layers.1", "norm", "lm_head"]]'
        ) from None
    right = isinstance(data, list) and all(
        isinstance(part, list) and all(isinstance(name, str) for name in part) for part in data
    )
    if not right:
        raise UsageError(f"{FIELD} is a list, with a list of names of modules for each part")
    parts: list[list[str]] = data
    return parts


def _of_toml(text: str) -> Any:
    """Return what the list is in a configuration of before 0.3; None where the text is none."""
    try:
        data: Any = tomllib.loads(text)
    except (ValueError, RecursionError):
        return None
    data = data.get("parallelism", data)
    return data.get(FIELD) if isinstance(data, dict) else None


def _of_python(text: str) -> Any:
    """Return what the list is in a text of Python, of which nothing is run: the list alone, or what is set.

    Raises:
        ValueError, SyntaxError: there is none, or more than one.
    """
    tree = ast.parse(text.strip())
    if len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr) and not isinstance(tree.body[0].value, ast.Call):
        return ast.literal_eval(tree.body[0].value)
    (value_set,) = (value for node in ast.walk(tree) for value in _set_by(node))
    return ast.literal_eval(value_set)


def _set_by(node: ast.AST) -> Iterable[ast.expr]:
    """Yield what a part of a program gives the field: ``… = value``, or ``f(… = value)``."""
    if isinstance(node, ast.keyword) and node.arg == FIELD:
        yield node.value
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            if FIELD in (getattr(target, "attr", None), getattr(target, "id", None)):
                yield node.value
