"""``graph`` statements to a :class:`~mtpp_dsl.core.problem.graph.Graph`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from mtpp_dsl.core.base.exact import plain_number
from mtpp_dsl.core.base.files import note_hash
from mtpp_dsl.core.base.spec_limits import check_graph
from mtpp_dsl.core.errors import MtppError, OptionError, did_you_mean
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.exchange.formats.reading import read as read_graph_file
from mtpp_dsl.exchange.formats.workload import Workload
from mtpp_dsl.exchange.generators.generate import generate
from mtpp_dsl.exchange.model.choices import OPTIONS
from mtpp_dsl.language.lowering.graph_items import GraphItems
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.expressions import evaluate
from mtpp_dsl.language.values.findings import Findings
from mtpp_dsl.language.values.options import Options
from mtpp_dsl.language.values.scope import Complaint, SpecScope
from mtpp_dsl.language.values.values import Quantity, describe

__all__ = ["lower_graph", "read_file", "resolve_path"]


def lower_graph(
    statement: tree.GraphBlock | tree.GraphFile | tree.GraphGenerator,
    folder: Path,
    scope: SpecScope,
    findings: Findings,
    blocks: Mapping[str, tree.BlockStatement],
) -> Workload:
    """Return the graph that a statement describes; complaints about its items go to *findings*.

    Raises:
        Complaint: about the statement as a whole.
    """
    match statement:
        case tree.GraphBlock():
            return Workload(GraphItems(scope, findings, blocks).graph(statement))
        case tree.GraphFile():
            return read_file(statement.path, statement.options, folder, scope)
        case tree.GraphGenerator():
            return Workload(_generate(statement, scope))


def read_file(path: tree.Path, options: tuple[tree.Option, ...], folder: Path, scope: SpecScope) -> Workload:
    """Read a workload from a file, for ``graph from`` and ``import``."""
    from mtpp_dsl.core import registry

    given = Options(options, ("format", *(option.name.text for option in options)), "a file", scope)
    name = given.word("format", list(registry.available(registry.FORMATS)))
    where = resolve_path(path, folder, scope)
    try:
        found = read_graph_file(where, name, _of_model(given))
        note_hash(where)  # the format of a plug-in may have read it by other means
        check_graph(found.graph.n, found.graph.m, str(path.value))
        return found if path.is_name else _from(found, str(path.value))
    except OptionError as error:
        if error.option not in given:
            raise Complaint(str(error), path.span, code="MTPP-E701") from None
        if error.unknown:
            raise Complaint(str(error), given.options[error.option].name.span, code="MTPP-E105") from None
        code = "MTPP-E110" if error.option in OPTIONS else "MTPP-E214"
        raise Complaint(str(error), given.span(error.option), code=code) from None
    except MtppError as error:
        raise Complaint(str(error), path.span, code="MTPP-E701") from None


def _of_model(given: Options) -> dict[str, object]:
    """Return the options that files of models take, all but the format: words, and whole numbers for symbols."""
    found: dict[str, object] = {}
    for name in given.options:
        if name in OPTIONS:
            found[name] = given.word(name, OPTIONS[name]) if OPTIONS[name] else given.label(name)
        elif name != "format":
            found[name] = given.whole(name)
    return found


def _from(found: Workload, path: str) -> Workload:
    """Return a workload whose graph says that its model was read from *path*, as the spec gives it."""
    graph = found.graph
    if graph.origin is None:
        return found
    origin = replace(graph.origin, path=path)
    phases = tuple(replace(phase, graph=replace(phase.graph, origin=origin)) for phase in graph.phases)
    return replace(found, graph=replace(graph, origin=origin, phases=phases))


def resolve_path(path: tree.Path, folder: Path, scope: SpecScope) -> Path:
    """Return where a path points: relative ones start from the folder of the file that names them."""
    if not path.is_name:
        return folder / path.value
    if path.value not in scope.params:
        raise Complaint(
            f"there is no param {path.value!r}{did_you_mean(path.value, scope.params)}",
            path.span,
            ["a path is a string, or a param of type path"],
            code="MTPP-E101",
        )
    value = scope.params[path.value]
    if isinstance(value, Path):
        return value  # relative to where the param got its value, not to where it is used
    if isinstance(value, str):
        return folder / value
    raise Complaint(f"param {path.value!r} is {describe(value)}, not a path", path.span, code="MTPP-E210")


def _generate(statement: tree.GraphGenerator, scope: SpecScope) -> Graph:
    parameters: dict[str, object] = {}
    for option in statement.options:
        if option.name.text in parameters:
            raise Complaint(f"option {option.name.text!r} is given twice", option.name.span, code="MTPP-E106")
        value = evaluate(option.value, scope)
        if isinstance(value, Quantity):
            parameters[option.name.text] = plain_number(value.value)
        elif isinstance(value, (str, bool)):
            parameters[option.name.text] = value
        else:
            raise Complaint(
                f"a generator takes numbers, strings, true and false, not {describe(value)}",
                option.span,
                code="MTPP-E210",
            )
    try:
        graph = generate(statement.name.text, **parameters)
        check_graph(graph.n, graph.m)
        return graph
    except MtppError as error:
        raise Complaint(str(error), statement.name.span, code="MTPP-E306") from None
