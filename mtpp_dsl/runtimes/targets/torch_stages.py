"""Stages as Python: a file that builds them from the user's own model, with torch alone, and its manifest."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from mtpp_dsl.core.contracts.targets import Files, Split, Stamp
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.text.visible import escaped
from mtpp_dsl.exchange.importers import torch_names
from mtpp_dsl.runtimes.execution import stage_file
from mtpp_dsl.runtimes.execution.plan_parts import origin_of, stages_of
from mtpp_dsl.runtimes.execution.torch_signature import signature_of
from mtpp_dsl.runtimes.targets.model_parts import manifest_of, restricted, rows_of, split_of

__all__ = ["TorchStages"]

FORMAT = "mtpp-torch-stages"
RUNTIME = "torch"
HEAD = '''"""Stages of a model for a pipeline of torch, one for each device. Needs torch alone.

{stamp}

In a process of its own for each stage, after torch.distributed.init_process_group:

    stages = build(make_model())                       # the model as it was imported, with its weights
    stage = pipeline_stage(stages, rank, device)       # a torch.distributed.pipelining.PipelineStage
    schedule = ScheduleGPipe(stage, n_microbatches)    # the inputs of the first stage are the model's tensors
    schedule.step(ids) if rank == 0 else schedule.step()

In one process: run_stages(stages, (ids,)). What each stage has: python stages.py package.module:make_model
"""
'''
TAIL = '''

MANIFEST = Path(__file__).with_suffix(".json")


def build(model: Any, manifest: Path = MANIFEST) -> list[Stage]:
    """Return the stages of *model* that the manifest beside this file describes.

    Raises:
        SplitError: it is not the model that was imported, or its stages cannot run one after the other.
    """
    plan = json.loads(manifest.read_text(encoding="utf-8"))
    stages = plan["stages"]
    graph = exported(model.eval(), plan["inputs"], plan["symbols"])
    return split_graph(graph, [stage["operators"] for stage in stages], [stage["device"] for stage in stages])


def main() -> None:
    """Print what each stage has, of the model that ``package.module:callable`` makes."""
    module, _, name = sys.argv[1].partition(":")
    sys.path.insert(0, "")
    for number, stage in enumerate(build(getattr(import_module(module), name)())):
        size = sum(weight.numel() * weight.element_size() for weight in stage.module.parameters())
        print(f"stage {number} on {stage.device}: {size:,} B of weights", end="; ")
        print(f"takes {', '.join(stage.receives)}; gives {', '.join(stage.sends)}")


if __name__ == "__main__":
    main()
'''
TAIL_IMPORTS = "import json\nimport sys\nfrom importlib import import_module\nfrom pathlib import Path\n"


class TorchStages:
    """A Python file that builds each stage as a module of torch, from the model that was imported.

    Stages may be cut anywhere, as long as they do not wait for each other in a circle.
    """

    name = "torch-stages"
    summary = "torch.distributed.pipelining: stages.py, which builds the stages, and a manifest"

    def restrict(self, problem: Problem) -> Problem:
        """Return the problem with stages that do not wait for each other in a circle."""
        signature_of(origin_of(problem).model)
        return restricted(problem, self.name, RUNTIME)

    def export(self, problem: Problem, plan: Plan, stamp: Stamp) -> Files:
        """Return ``stages.py`` and ``stages.json``."""
        stages = stages_of(problem, plan)
        signature = signature_of(origin_of(problem).model)
        manifest = {
            "format": FORMAT,
            "version": 1,
            **stamp.to_json(),
            "inputs": [dict(one_input) for one_input in signature.inputs],
            "symbols": {name: list(ends) for name, ends in signature.symbols.items()},
            "stages": rows_of(problem, stages),
        }
        text = escaped(json.dumps(manifest, indent=1, ensure_ascii=False))
        return {"stages.py": stages_text(stamp), "stages.json": f"{text}\n"}

    def read(self, source: Path | str, problem: Problem) -> Split:
        """Return the split of a manifest; the Python file beside it is not run."""
        manifest, _ = manifest_of(source, FORMAT, "stages.json")
        return split_of(problem, manifest, "stages")


def stages_text(stamp: Stamp) -> str:
    """Return the text of ``stages.py``: our own code that needs nothing of mtpp, and what the stamp says."""
    modules = (torch_names, stage_file)
    lines = (line.replace("\\", "/").replace('"""', "'''") for line in stamp.lines())
    head = HEAD.replace("{stamp}", "\n".join(lines))
    bodies = "\n\n".join(_body(module) for module in modules)
    return f"{head}\n{_imports(modules)}\n\n{bodies}\n{TAIL}"


def _body(module: ModuleType) -> str:
    """Return the text of a module without its docstring, imports and ``__all__``."""
    text = inspect.getsource(module)
    lines = text.splitlines()
    tree = ast.parse(text)
    for node in tree.body:
        words = node is tree.body[0] and isinstance(node, ast.Expr)
        names = isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"
        if words or names or isinstance(node, (ast.Import, ast.ImportFrom)):
            for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[number] = ""
    return "\n".join(lines).strip("\n")


def _imports(modules: Sequence[ModuleType]) -> str:
    """Return the imports of modules together, without those of mtpp."""
    plain: set[str] = set()
    named: dict[str, set[str]] = {}
    trees = [ast.parse(inspect.getsource(module)) for module in modules]
    for tree in [*trees, ast.parse(TAIL_IMPORTS)]:
        for node in tree.body:
            if isinstance(node, ast.Import):
                plain.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.module.startswith("mtpp"):
                named.setdefault(node.module, set()).update(alias.name for alias in node.names)
    future = named.pop("__future__", set())
    lines = [f"from __future__ import {', '.join(sorted(future))}", ""] if future else []
    lines += [f"import {name}" for name in sorted(plain)]
    lines += [f"from {name} import {', '.join(sorted(names))}" for name, names in sorted(named.items())]
    return "\n".join(lines)
