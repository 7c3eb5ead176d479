"""``import plan``: where an earlier answer has the nodes, of which ``moved(v)`` speaks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mtpp_dsl.core.base.files import read_json
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.language.lowering.lower_graph import resolve_path
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.options import Options
from mtpp_dsl.language.values.scope import Complaint, SpecScope

__all__ = ["read_old_plan"]


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
    scope.need("nodes", "devices")
    found: dict[int, int | None] = {}
    gone: dict[str, None] = {}
    others = []
    for node, name in assignment.items():
        ref, device = scope.node(node), scope.device(name)
        if ref is None:
            others.append(node)
            continue
        found[ref.index] = None if device is None else device.index
        if device is None:
            gone[name] = None
    assert scope.graph is not None
    if not found:
        raise Complaint(f"{path} has a plan of other nodes: none of them is in this graph", span, code="MTPP-E714")
    new = [name for v, name in enumerate(scope.graph.names) if v not in found]
    for names, what in (
        (others, "places nodes that the graph does not have; they count for nothing"),
        (new, "does not place all nodes; those that it leaves out count as not moved"),
        (list(gone), "has nodes on devices that there are not; they count as moved"),
    ):
        if names:
            more = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
            scope.warn(f"{path} {what}: {names[0]}{more}", span, "MTPP-W701")
            break
    return found


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
