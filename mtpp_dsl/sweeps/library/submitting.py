"""Answers that somebody submits to a library: a file of ``mtpp solve --json``, or a plan alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mtpp_dsl.core.base.files import read_json
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.text.visible import visible
from mtpp_dsl.solving.answers.shape import check_shape
from mtpp_dsl.sweeps.library.collection import Library
from mtpp_dsl.sweeps.library.improving import offered
from mtpp_dsl.sweeps.library.store import Finder, RecordChange


def submit(library: Library, path: Path, names: Sequence[str] | None = None) -> RecordChange:
    """Check a submitted file from scratch, and write what is better of it.

    A bound counts if its certificate proves it here; one without a certificate is only claimed, and is left out. So is
    what stands beside a plan alone.

    Args:
        library: that it is submitted to.
        path: of a JSON answer, which names its spec, or of a plan alone.
        names: of problems that it may be an answer to; one, for a plan alone. None looks at all.

    Raises:
        UsageError: the file is no answer to one of these problems.
        VerificationError: it says what is not so.
    """
    data = read_json(path)
    if not isinstance(data, dict):
        raise UsageError(f"{path} is no JSON answer of mtpp, and no plan")
    answer = "schema" in data and not isinstance(data["schema"], str)
    if answer:
        check_shape(data, str(path))
        if data.get("target") is not None:
            raise UsageError(f"{path} is an answer under the limits of a runtime: the problems have none")
    name = _problem_of(library, path, data, names) if answer else _only(path, names)
    who = f"{visible(data['method'])} (submitted)" if answer else "submitted"
    if not answer and isinstance(data.get("bound"), dict):  # a claim whose form has not been checked
        data = {part: given for part, given in data.items() if part != "bound"}
    seconds = data["time"].get("total") if answer else None
    version = data["versions"].get("mtpp-dsl", "") if answer else ""
    finder = Finder(who, version, data["seed"] if answer else None, seconds, datetime.now(UTC).date().isoformat())
    return offered(library, name, data, finder, proofs=False)


def _only(path: Path, names: Sequence[str] | None) -> str:
    if names is None or len(names) != 1:
        raise UsageError(f"{path} is a plan alone: say with --only which one problem it is for")
    return names[0]


def _problem_of(library: Library, path: Path, data: Mapping[str, Any], names: Sequence[str] | None) -> str:
    """Return the name of the problem that an answer is to: of the same spec, params and scenario."""
    source = data["spec"]
    matching = []
    for name in library.runs if names is None else names:
        run = library.runs[name]
        if source.get("path") is not None and Path(source["path"]).name != Path(run.spec).name:
            continue
        origin = library.problem(name).origin
        same = origin.sha256 == source["sha256"] and (origin.scenario or None) == source.get("scenario")
        if same and _params(source["params"]) == _params(origin.params) and _files(source) == _files(vars(origin)):
            matching.append(name)
    if len(matching) > 1:
        raise UsageError(f"{path} is an answer to {matching[0]} as to {matching[1]}: name one of them with --only")
    if not matching:
        which = "problems" if names is None else "problems that --only names,"
        raise UsageError(f"{path} is an answer to none of the {which} as they are: spec, params or files differ")
    return matching[0]


def _params(params: Mapping[str, object]) -> dict[str, object]:
    """Return values of params, of paths their last part: files may lie elsewhere."""
    return {name: Path(value).name if isinstance(value, str) else value for name, value in params.items()}


def _files(source: Mapping[str, Any]) -> list[str]:
    return sorted((source.get("files") or {}).values())
