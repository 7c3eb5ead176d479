"""``graph`` and ``import`` statements: items, files and generators to a graph, and earlier plans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from mtpp_dsl.core.base.exact_numbers import plain_number
from mtpp_dsl.core.base.files import note_hash, read_json
from mtpp_dsl.core.base.spec_limits import check_graph
from mtpp_dsl.core.errors import MtppError, OptionError, UsageError, did_you_mean
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.exchange.formats.reading import read as read_graph_file
from mtpp_dsl.exchange.formats.workload import Workload
from mtpp_dsl.exchange.generators.generate import generate
from mtpp_dsl.exchange.model.choices import OPTIONS
from mtpp_dsl.language.lowering.graph_items import GraphItems
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.complaints import Complaint, Findings
from mtpp_dsl.language.values.expressions import evaluate
from mtpp_dsl.language.values.options import Options
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.values import Quantity, describe


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
        workload = read_graph_file(where, name, _of_model(given))
        note_hash(where)  # the format of a plug-in may have read it by other means
        check_graph(workload.graph.n, workload.graph.m, str(path.value))
        return workload if path.is_name else _from(workload, str(path.value))
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
    values: dict[str, object] = {}
    for name in given.options:
        if name in OPTIONS:
            values[name] = given.word(name, OPTIONS[name]) if OPTIONS[name] else given.label(name)
        elif name != "format":
            values[name] = given.whole(name)
    return values


def _from(workload: Workload, path: str) -> Workload:
    """Return a workload whose graph says that its model was read from *path*, as the spec gives it."""
    graph = workload.graph
    if graph.origin is None:
        return workload
    origin = replace(graph.origin, path=path)
    phases = tuple(replace(phase, graph=replace(phase.graph, origin=origin)) for phase in graph.phases)
    return replace(workload, graph=replace(graph, origin=origin, phases=phases))


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


def read_old_plan(statement: tree.ImportPlan, folder: Path, scope: SpecScope) -> Mapping[int, int | None]:
    """Return the device of each node in an earlier answer, or in a plan alone; None for a device that is gone.

    Nodes that the answer does not have are left out, and so are its nodes that the spec does not have; both are warned
    of.

    Raises:
        Complaint: the file cannot be read, holds no plan, or none of this graph.
    """
    Options(statement.options, (), "import plan", scope)
    path, span = resolve_path(statement.path, folder, scope), statement.path.span
    try:
        assignment = _assignment(read_json(path), str(path))
    except UsageError as error:
        raise Complaint(str(error), span, code="MTPP-E714") from None
    scope.remarks.need("nodes", "devices")
    places: dict[int, int | None] = {}
    gone: dict[str, None] = {}
    others = []
    for node, name in assignment.items():
        ref, device = scope.node(node), scope.device(name)
        if ref is None:
            others.append(node)
            continue
        places[ref.index] = None if device is None else device.index
        if device is None:
            gone[name] = None
    assert scope.graph is not None
    if not places:
        raise Complaint(f"{path} has a plan of other nodes: none of them is in this graph", span, code="MTPP-E714")
    new = [name for v, name in enumerate(scope.graph.names) if v not in places]
    for names, what in (
        (others, "places nodes that the graph does not have; they count for nothing"),
        (new, "does not place all nodes; those that it leaves out count as not moved"),
        (list(gone), "has nodes on devices that there are not; they count as moved"),
    ):
        if names:
            more = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
            scope.remarks.warn(f"{path} {what}: {names[0]}{more}", span, "MTPP-W701")
            break
    return places


def _assignment(data: object, name: str) -> Mapping[str, str]:
    """Return the device of each node by name, of an answer, its ``plan``, or a bare ``{node: device}``.

    Raises:
        UsageError: there is none.
    """
    plan = data
    for key in ("plan", "assignment"):
        if isinstance(plan, Mapping) and not isinstance(plan.get(key, ""), str):
            plan = plan[key]
    if not isinstance(plan, Mapping) or not plan:
        raise UsageError(f"{name} holds no plan: an answer of mtpp does, or an object {{node: device}}")
    if isinstance(plan.get("front"), list):
        raise UsageError(f"{name} is a front of several answers; take one of them")
    odd = next((node for node, device in plan.items() if not isinstance(device, str)), None)
    if odd is not None:
        raise UsageError(f"{name} does not have node {odd!r} on one device; an earlier plan places each node once")
    return plan
