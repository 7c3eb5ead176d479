"""``phase`` statements, and values that an option gives each phase."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mtpp_dsl.core.base.units import NONE, Dimension
from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.phases import phased_graph
from mtpp_dsl.core.text.source import Span
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.arithmetic import Mismatch
from mtpp_dsl.language.values.complaints import Complaint
from mtpp_dsl.language.values.decisions import phase_name
from mtpp_dsl.language.values.declaring import check_word
from mtpp_dsl.language.values.expressions import Locals, evaluate
from mtpp_dsl.language.values.options import Options
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.values import MapValue, Quantity, shown


def declare_phases(statements: Iterable[tree.PhaseStatement], scope: SpecScope) -> None:
    """Make the phases of a spec known to *scope*, in their order, with how often each runs for one input.

    Raises:
        Complaint: a phase twice, a name that means something else, or a weight that is no number more than zero.
    """
    places: dict[str, Span] = {}
    for statement in statements:
        for phase in statement.phases:
            check_word(phase.name)
            name = phase.name.text
            if name in places:
                raise Complaint(
                    f"phase {name!r} is already declared at {places[name].place}",
                    phase.name.span,
                    code="MTPP-E102",
                    second=(places[name], "first declared here"),
                )
            if name in scope.params or name in scope.lets:
                raise Complaint(
                    f"{name!r} is both a phase and a param or let; rename one", phase.name.span, code="MTPP-E104"
                )
            places[name] = phase.name.span
            options = Options(phase.options, ("weight",), "a phase", scope)
            weight = options.quantity("weight", (NONE,))
            if weight is not None and not weight.value > 0:
                raise Complaint(
                    f"a weight is how often the phase runs for one input, more than zero; this is {shown(weight)}",
                    options.span("weight"),
                    code="MTPP-E214",
                )
            scope.phases[name] = 1.0 if weight is None else float(weight.value)


def check_phase_names(statements: Iterable[tree.PhaseStatement], scope: SpecScope) -> None:
    """Hold that no node or device is called as a phase.

    Raises:
        Complaint: one is.
    """
    for statement in statements:
        for phase in statement.phases:
            if scope.kind_called(phase.name.text):
                what = scope.kind_called(phase.name.text)
                raise Complaint(
                    f"{phase.name.text!r} is both a phase and {what}; rename one", phase.name.span, code="MTPP-E104"
                )


def phase_of(node: tree.Expression, scope: SpecScope, local: Locals) -> str:
    """Return the name of the phase that an expression means.

    Raises:
        Complaint: it is invalid.
    """
    value = evaluate(node, scope, local)
    try:
        return phase_name(scope, value)
    except Mismatch as error:
        raise Complaint(str(error), node.span, code="MTPP-E101") from None


def per_phase(options: Options, name: str, dimensions: Sequence[Dimension]) -> dict[str, Quantity] | None:
    """Return what an option gives each phase, as in ``work = {prefill: 3 ms, decode: 1 ms}``; None for a number.

    Raises:
        Complaint: a phase that is not there or is left out, or a value that makes no sense.
    """
    if not options.scope.phases or name not in options:
        return None
    value = options.value(name)
    if not isinstance(value, MapValue):
        return None
    phases, span = options.scope.phases, options.span(name)
    for key in value.entries:
        if key not in phases:
            text = key if isinstance(key, str) else shown(key)
            hint = did_you_mean(text, phases)
            raise Complaint(f"there is no phase {text!r}{hint}; there are {', '.join(phases)}", span, code="MTPP-E101")
    absent = next((phase for phase in phases if phase not in value.entries), None)
    if absent is not None:
        raise Complaint(f"{name} has no value for phase {absent}; write 0 for none", span, code="MTPP-E108")
    return {phase: options.checked(name, value.entries[phase], dimensions) for phase in phases}


def in_phases(graph: Graph, scope: SpecScope, span: Span | None) -> Graph:
    """Return *graph* with the phases of the spec, all of which it is the same in, unless it has phases already.

    Where a file brought a graph with phases, the spec may say how often each runs; it need not name them.

    Raises:
        Complaint: it cannot have any, or it has others.
    """
    own = {phase.name: phase for phase in graph.phases}
    if own and not scope.phases:
        scope.phases.update({name: phase.weight for name, phase in own.items()})
    if own and set(own) != set(scope.phases):
        raise Complaint(
            f"the graph has the phases {', '.join(own)}, and the spec {', '.join(scope.phases)}", span, code="MTPP-E303"
        )
    if own and any(own[name].weight != weight for name, weight in scope.phases.items()):
        return phased_graph({name: phase.graph for name, phase in own.items()}, scope.phases)
    if not scope.phases or own or not graph.n:
        return graph
    alone = replace(graph, batch_times={})
    try:
        return phased_graph(dict.fromkeys(scope.phases, alone), scope.phases)
    except UsageError as error:
        raise Complaint(str(error), span, code="MTPP-E303") from None
