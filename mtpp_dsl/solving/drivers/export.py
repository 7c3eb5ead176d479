"""Plans as files of runtimes: from a result or from an answer that was written down."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.base.writing import check_writable, write_bytes
from mtpp_dsl.core.contracts.targets import Files, Stamp, Target, target_called
from mtpp_dsl.core.errors import PluginError, UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.problem.variants import free_of
from mtpp_dsl.solving.answers.again import read_again

__all__ = ["export", "write_files"]


def export(
    answer: str | os.PathLike[str] | Result,
    to: str,
    path: str | os.PathLike[str] | None = None,
    *,
    spec: Path | None = None,
    model: str | None = None,
) -> Files:
    """Return the files that make a runtime run the plan of an answer, and write them if *path* says where.

    Args:
        answer: a result, or the file of an answer, whose spec and data files are read again.
        to: the name of a target: a form such as "layers", or a runtime such as "vllm".
        path: a file, beside which further ones go, or a folder for all of them.
        spec: where the spec of the answer is now.
        model: the file or the ``module:callable`` of the model, for targets that need it.

    Returns:
        Contents by file name, the one that the runtime reads first.

    Raises:
        UsageError: there is no plan, its spec has changed, or the runtime cannot run it; says which constraint to add.
        PluginError: there is no such target.
    """
    target = target_called(to)
    if isinstance(answer, Result):
        if answer.plan is None or answer.problem is None:
            raise UsageError("this result has no plan, or does not know its problem: write result.of(problem)")
        problem, plan, name = answer.problem, answer.plan, ""
        data: Mapping[str, Any] = answer.to_dict()
    else:
        again = read_again(answer, spec)
        problem, plan, data, name = *again, os.fspath(answer)
    files = target.export(problem, plan, stamp_of(problem, data, name, model))
    _check_limits(target, problem, plan)
    if not files or any(Path(file).name != file for file in files):
        raise PluginError(f"target {to!r} makes no file, or one whose name has a folder in it")
    if path is not None:
        write_files(files, Path(path))
    return files


def stamp_of(problem: Problem, answer: Mapping[str, Any], name: str, model: str | None) -> Stamp:
    """Return what files say of where they come from."""
    origin = problem.graph.origin
    source = None if origin is None else origin.model.source
    bound = answer["bound"]
    return Stamp(
        spec=problem.origin.path or "",
        devices=tuple(device.name for device in problem.devices),
        value=answer["objective"]["value"],
        bound=None if bound is None else bound["value"],
        objective=problem.objective.called,
        unit=problem.objective.unit(problem.time_unit),
        target="" if problem.target is None else problem.target.name,
        model=model,
        model_name="" if source is None else source.name,
        model_sha256="" if source is None else source.sha256,
        answer=name,
    )


def _check_limits(target: Target, problem: Problem, plan: Plan) -> None:
    """Refuse a plan that breaks a constraint that the target stands for.

    Raises:
        UsageError: so it is.
    """
    broken = verify(target.restrict(free_of(problem)), plan)
    if broken:
        violations = "".join(f"\n  {violation}" for violation in broken[:5])
        raise UsageError(
            f"{target.name} cannot run this plan: it breaks what --for {target.name} adds as constraints; solve with "
            f"that, or add them:{violations}"
        )


def write_files(files: Files, path: Path) -> list[Path]:
    """Write files, and return where: the first to *path*, a second beside it, or all of them into a folder.

    Of several files, a *path* that is not there yet and has no ending such as .json is a folder.

    Raises:
        UsageError: there are more than two, and *path* is a file; or a place cannot be written.
        OSError: one cannot be written.
    """
    names = list(files)
    named = bool(path.suffix) or not Path(names[0]).suffix or len(names) == 1
    if path.is_dir() or os.fspath(path).endswith(os.sep) or len(names) > 2 or not (named or path.exists()):
        if path.exists() and not path.is_dir():
            raise UsageError(f"there are {len(names)} files to write, and {path} is one: name a folder")
        path.mkdir(parents=True, exist_ok=True)
        places = [path / name for name in names]
    else:
        rest = [path.with_name(f"{path.stem}.{name.partition('.')[2]}") for name in names[1:]]
        places = [path, *rest]
    check_writable(*places)
    for name, place in zip(names, places, strict=True):
        content = files[name]
        if callable(content):
            _write_stream(content, place)
        else:
            write_bytes(place, content.encode() if isinstance(content, str) else content)
    return places


def _write_stream(write: Any, place: Path) -> None:
    """Write a file by what writes it; whoever reads it finds the old content or the new."""
    with tempfile.NamedTemporaryFile(dir=place.parent, prefix=".mtpp-", delete=False) as file:
        temporary = Path(file.name)
        try:
            write(file)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    temporary.chmod(0o644)
    temporary.replace(place)
