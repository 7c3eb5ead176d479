"""Models of several phases as one: operators of one name are one operator with amounts for each phase."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import SequenceMatcher
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from typing import Any

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.parts import Amount, Operator, Symbol, Tensor, Weight
from mtpp_dsl.exchange.model.sizes import Size

AMOUNTS = ("flop", "read", "write", "saved", "cache")


def joined(models: Mapping[str, Model]) -> Model:
    """Return one model of several phases on the same weights.

    The calls of each module are aligned: those of a later phase that are the same operations in the same order as in
    the first are the same operators, and the others get names of their own. A tensor that different operators read in
    different phases stands there once for each of these phases. Weights are joined by name.

    Raises:
        UsageError: a weight differs; the phases run modules in different orders.
    """
    models = _aligned(models)
    weights, numbers = _weights(models)
    order = _order(models)
    at = {name: number for number, name in enumerate(order)}
    operators = [_operator(name, models, numbers) for name in order]
    tensors, outputs = _tensors(models, at)
    first = next(iter(models.values()))
    return replace(
        first,
        operators=tuple(operators),
        tensors=tuple(tensors),
        weights=tuple(weights),
        outputs=outputs,
        symbols=_symbols(models),
        phases=tuple(models),
        source=replace(first.source, arguments={**first.source.arguments, "phases": ",".join(models)}),
        warnings=_warnings(models),
    )


def one_phase(model: Model, phase: str) -> Model:
    """Return a model of several phases in one: what runs in others alone does nothing, and keeps its weights."""

    def own(amount: Amount | None) -> Amount | None:
        return amount.get(phase, 0) if isinstance(amount, Mapping) else amount

    operators = []
    for one in model.operators:
        amounts: dict[str, Any] = {what: own(getattr(one, what)) for what in (*AMOUNTS, "weight_read")}
        operators.append(replace(one, **amounts))
    tensors = tuple(replace(one, bytes=_plain(own(one.bytes) or 0)) for one in model.tensors)
    source = replace(model.source, arguments={**model.source.arguments, "phases": phase})
    return replace(model, operators=tuple(operators), tensors=tensors, phases=(), source=source)


def _aligned(models: Mapping[str, Model]) -> dict[str, Model]:
    """Return the models with the names of the first one's operators where theirs are the same."""
    (head, first), *others = models.items()
    aligned = {head: first}
    taken = {operator.name for operator in first.operators}
    own = _by_path(first)
    for phase, model in others:
        names: dict[int, str] = {}
        for path, numbers in _by_path(model).items():
            ours = own.get(path, [])
            a = [first.operators[number].op for number in ours]
            b = [model.operators[number].op for number in numbers]
            for block in SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks():
                for step in range(block.size):
                    names[numbers[block.b + step]] = first.operators[ours[block.a + step]].name
        renamed = []
        for number, operator in enumerate(model.operators):
            name = names.get(number)
            if name is None:
                name = operator.name
                while name in taken:
                    name = f"{name}_{phase}"
                taken.add(name)
            renamed.append(replace(operator, name=name))
        aligned[phase] = replace(model, operators=tuple(renamed))
    return aligned


def _by_path(model: Model) -> dict[str, list[int]]:
    """Return the numbers of the operators of each module path."""
    numbers: dict[str, list[int]] = {}
    for number, operator in enumerate(model.operators):
        numbers.setdefault(operator.path, []).append(number)
    return numbers


def _weights(models: Mapping[str, Model]) -> tuple[list[Weight], dict[str, dict[int, int]]]:
    """Return the weights of all phases, and for each phase the number in that list of each of its own."""
    weights: dict[str, Weight] = {}
    for phase, model in models.items():
        for weight in model.weights:
            if weights.setdefault(weight.name, weight) != weight:
                raise UsageError(f"the weight {weight.name!r} is another one in phase {phase!r}")
    places = {name: number for number, name in enumerate(weights)}
    numbers = {
        phase: {number: places[weight.name] for number, weight in enumerate(model.weights)}
        for phase, model in models.items()
    }
    return list(weights.values()), numbers


def _order(models: Mapping[str, Model]) -> list[str]:
    """Return the names of all operators in an order in which each phase can run, near that of the phases.

    Raises:
        UsageError: there is none.
    """
    before: dict[str, set[str]] = {}
    rank: dict[str, float] = {}
    for model in models.values():
        for number, operator in enumerate(model.operators):
            before.setdefault(operator.name, set())
            rank.setdefault(operator.name, number / model.n)
        for a, b in model.edges:
            before[model.operators[b].name].add(model.operators[a].name)
    sorter = TopologicalSorter(before)
    try:
        sorter.prepare()
    except CycleError as error:
        names = " before ".join(map(str, error.args[1][:4]))
        raise UsageError(f"the phases run operators of one name in different orders: {names}") from error
    ordered: list[str] = []
    waiting: list[tuple[float, str]] = []
    while sorter.is_active():
        for name in sorter.get_ready():
            heappush(waiting, (rank[name], name))
        _, name = heappop(waiting)
        ordered.append(name)
        sorter.done(name)
    return ordered


def _operator(name: str, models: Mapping[str, Model], numbers: Mapping[str, Mapping[int, int]]) -> Operator:
    """Return the operator of a name with its amounts in each phase that has it."""
    there = {phase: model.operators[model.index[name]] for phase, model in models.items() if name in model.index}
    first = next(iter(there.values()))
    amounts: dict[str, Any] = {}
    for what in AMOUNTS:
        sizes = {phase: getattr(one, what) for phase, one in there.items()}
        amounts[what] = None if None in sizes.values() else _amount(sizes, len(models))
    weights = sorted({numbers[phase][number] for phase, one in there.items() for number in one.weights})
    read = {phase: None if one.weight_read is None else _plain(one.weight_read) for phase, one in there.items()}
    if all(size is None for size in read.values()) and len(there) == len(models):
        amounts["weight_read"] = None
    else:
        whole = {
            phase: sum(models[phase].weights[number].bytes for number in one.weights) for phase, one in there.items()
        }
        amounts["weight_read"] = _amount(
            {phase: whole[phase] if size is None else size for phase, size in read.items()}, len(models)
        )
    again = all(one.recomputable for one in there.values())
    return replace(first, weights=tuple(weights), recomputable=again, **amounts)


def _amount(sizes: Mapping[str, Size], phases: int) -> Amount:
    """Return sizes by phase: one size where all are the same, and without those that are zero."""
    if len(sizes) == phases and len(set(sizes.values())) == 1:
        return next(iter(sizes.values()))
    return {phase: size for phase, size in sizes.items() if size != 0}


def _tensors(models: Mapping[str, Model], at: Mapping[str, int]) -> tuple[list[Tensor], tuple[int, ...]]:
    """Return the tensors of all phases: one for those of the same producer, place and readers."""
    groups: dict[tuple[Any, ...], dict[str, Tensor]] = {}
    given: list[tuple[Any, ...]] = []
    for phase, model in models.items():
        seen: dict[int | None, int] = {}
        for number, tensor in enumerate(model.tensors):
            producer = None if tensor.producer is None else at[model.operators[tensor.producer].name]
            readers = tuple(sorted(at[model.operators[reader].name] for reader in tensor.readers))
            place: object = seen.get(producer, 0) if producer is not None else tensor.name
            seen[producer] = seen.get(producer, 0) + 1
            key = (producer, place, readers)
            groups.setdefault(key, {})[phase] = tensor
            if number in model.outputs:
                given.append(key)
    tensors: list[Tensor] = []
    names = set[str]()
    numbers: dict[tuple[Any, ...], int] = {}
    for key, there in groups.items():
        first = next(iter(there.values()))
        name, phase = first.name, next(iter(there))
        name = name if name not in names else f"{name} ({phase})"
        while name in names:
            name += "'"
        names.add(name)
        numbers[key] = len(tensors)
        sizes = _amount({phase: _plain(tensor.bytes) for phase, tensor in there.items()}, len(models))
        tensors.append(replace(first, name=name, producer=key[0], readers=key[2], bytes=sizes))
    return tensors, tuple(dict.fromkeys(numbers[key] for key in given))


def _plain(amount: Amount) -> Size:
    assert isinstance(amount, (int, float, str))
    return amount


def _symbols(models: Mapping[str, Model]) -> dict[str, Symbol]:
    """Return the symbols of all phases, each with the values that it may have in all of them."""
    symbols: dict[str, Symbol] = {}
    for model in models.values():
        for name, symbol in model.symbols.items():
            other = symbols.get(name, symbol)
            most = [one for one in (symbol.most, other.most) if one is not None]
            least, room = max(symbol.least, other.least), symbol.at_least or other.at_least
            symbols[name] = replace(other, least=least, most=min(most) if most else None, at_least=room)
    return symbols


def _warnings(models: Mapping[str, Model]) -> tuple[str, ...]:
    """Return the warnings of all phases: those of one phase alone say which."""
    phases_of: dict[str, list[str]] = {}
    for phase, model in models.items():
        for warning in model.warnings:
            phases_of.setdefault(warning, []).append(phase)
    return tuple(
        text if len(phases) == len(models) else f"{', '.join(phases)}: {text}" for text, phases in phases_of.items()
    )
