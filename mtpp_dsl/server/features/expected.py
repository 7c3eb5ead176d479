"""What may stand between brackets, in expressions, behind numbers and in strings."""

from __future__ import annotations

from collections.abc import Iterator

from mtpp_dsl import registry
from mtpp_dsl.base.units import COMPUTE, NONE, POWER, RATE, SIZE, TIME, UNITS, WORK
from mtpp_dsl.language import meanings
from mtpp_dsl.language.meanings_of_options import meaning_of_option
from mtpp_dsl.language.vocabulary import BUILT_IN, NUMBERS, choices_of, functions, options_of, signature_of
from mtpp_dsl.server.features import known
from mtpp_dsl.server.features.candidate import KINDS, Candidate, Kind
from mtpp_dsl.server.features.context import Context
from mtpp_dsl.server.features.included import library_types
from mtpp_dsl.server.reading import Reading

__all__ = ["expressions", "in_brackets", "strings", "units"]

_OF_FORM = {
    "time": (TIME,),
    "size": (SIZE,),
    "bandwidth": (RATE,),
    "power": (POWER,),
    "FLOP": (WORK,),
    "FLOP/s": (COMPUTE,),
    "share": (NONE,),
}
_USUAL = ("ms", "us", "s", "GiB", "MiB", "GB", "MB", "GB/s", "GiB/s", "FLOP", "TFLOP/s", "W", "USD/h", "%")


def in_brackets(reading: Reading, context: Context) -> Iterator[Candidate]:
    """Yield options, their values, or what an expression may hold."""
    frame, option = context.frame, context.option
    if frame.kind == "options" and not option:
        yield from _options(reading, context)
        phases = reading.index.declared.kinds.get("phase")
        if not (phases and context.keyword in ("minimize", "maximize") and context.before == "("):
            return
    if option:
        special = list(_values(reading, context, option))
        yield from special
        if special and (option in ("switch", "under", "dtype", "weight_type") or choices_of(context.owner, option)):
            return
    expected = context.expected
    if (expected is None or "NAME" in expected) and (context.marks or expected is not None):
        yield from expressions(reading, context)


def _options(reading: Reading, context: Context) -> Iterator[Candidate]:
    """Yield the options that are not given yet."""
    owner = context.owner
    names: tuple[str, ...] = options_of(owner)
    if owner.startswith("block "):
        block = reading.index.declared.blocks.get(owner.removeprefix("block "))
        names = () if block is None else tuple(param.text for param in block.params)
    for number, name in enumerate(names):
        if name in context.given:
            continue
        meaning = meaning_of_option(owner, name)
        choices = choices_of(owner, name)
        value = f"${{1|{','.join(choices)}|}}" if choices and len(choices) < 20 else "$1"
        detail = "" if meaning is None else meaning.form
        rank = 0 if number < 10 else 1
        yield Candidate(name, Kind.Property, rank, detail or "option", meaning, f"{name} = {value}", f"{name} = ")


def _values(reading: Reading, context: Context, option: str) -> Iterator[Candidate]:
    """Yield the words that the value of an option may be."""
    owner = context.owner
    meaning = meaning_of_option(owner, option)
    if context.before != "=":
        if not (option == "type" or (owner == "node" and context.frame.sign == "{")):
            return
    else:
        for word in choices_of(owner, option):
            yield Candidate(word, Kind.EnumMember, 0, option, meaning)
    declared = reading.index.declared
    kind = owner.partition(" ")[0]
    if option == "type" and kind in ("device", "type"):
        yield from (Candidate(name, Kind.Struct, 0, "type") for name in sorted(declared.kinds.get("type", ())))
        yield from library_types(reading, context)
    elif option in ("switch", "under"):
        yield from (Candidate(name, Kind.Module, 0, "switch") for name in sorted(declared.kinds.get("switch", ())))
    elif option in ("dtype", "weight_type") and kind in ("node", "file"):
        yield from (Candidate(word, Kind.EnumMember, 1, "type of numbers", None, "", f'"{word}"') for word in NUMBERS)
    elif kind == "node" and context.frame.sign == "{" and option in ("time", "work", "output"):
        sorts = ("device", "type") if option == "time" else ("phase",)
        for sort in sorts:
            for name in sorted(declared.kinds.get(sort, ())):
                yield Candidate(name, KINDS[sort], 0, sort, None, f"{name}: $1", f"{name}: ")


def expressions(reading: Reading, context: Context) -> Iterator[Candidate]:
    """Yield what an expression may begin with: names of the spec, options of the item, functions."""
    owner = context.owner
    for each in known.names(reading, context):
        rank = {"variable": 1, "param": 2, "let": 2, "def": 2}.get(each.kind, 3)
        snippet = f"{each.name}($1)" if each.kind == "def" else ""
        yield Candidate(each.name, KINDS[each.kind], rank, each.detail, None, snippet)
    if context.option and owner in ("node", "device", "type"):
        for name in options_of(owner):
            if name in context.given and name != context.option:
                yield Candidate(name, Kind.Property, 2, "option of the same item", meaning_of_option(owner, name))
    for name in functions():
        snippet = f"{name}($1)"
        yield Candidate(name, Kind.Function, 4, signature_of(name), meanings.FUNCTIONS.get(name), snippet)
    for name in BUILT_IN:
        yield Candidate(name, Kind.Keyword, 4, "", meanings.WORDS.get(name) or meanings.OBJECTIVES.get(name))
    for word in ("if", "not", "for", "forall"):
        if context.expected is not None and word.upper() in context.expected:
            yield Candidate(word, Kind.Keyword, 5, "keyword", meanings.WORDS[word])


def units(context: Context) -> Iterator[Candidate]:
    """Yield units, those first that fit the option whose value is written."""
    meaning = meaning_of_option(context.owner, context.option) if context.option else None
    form = "" if meaning is None else meaning.form
    if context.keyword == "time" and not context.option:
        form = "time"
    wanted = {
        dimension for word, found in _OF_FORM.items() if word in form.replace(",", "").split() for dimension in found
    }
    if "money" in form:
        wanted |= {dimension for unit, (_, dimension) in UNITS.items() if unit[:3] in ("USD", "EUR")}
    if context.option == "speed":
        wanted |= {COMPUTE}
    for unit, (factor, dimension) in UNITS.items():
        if unit == "µs":
            continue
        fits = dimension in wanted
        if wanted and not fits and not context.prefix:
            continue
        rank = (0 if fits else 2) + (unit not in _USUAL)
        base = f"{factor} {dimension.unit}".strip() if factor != 1 else dimension.unit
        yield Candidate(unit, Kind.Unit, rank, f"{dimension}, {base}" if base != unit else str(dimension))


def strings(reading: Reading, context: Context, wanted: str) -> Iterator[Candidate]:
    """Yield what a string may be: kinds of nodes, names that must be quoted, runtimes."""
    graph = reading.scope.graph
    if context.option in ("kind", "unsupported") or (
        context.before == "==" and "kind" in [m.text for m in context.marks]
    ):
        kinds = sorted(set(graph.kinds)) if graph is not None and graph.n < 100_000 else []
        yield from (Candidate(kind, Kind.Value, 0, "kind") for kind in kinds[: known.MAX_NAMES] if kind)
    elif context.keyword == "target":
        yield from (Candidate(word, Kind.EnumMember, 0, "runtime") for word in registry.available(registry.TARGETS))
    elif context.option in ("dtype", "weight_type"):
        yield from (Candidate(word, Kind.EnumMember, 0, "type of numbers") for word in NUMBERS)
    elif (kind := wanted) or context.frame.kind == "call":
        for sort in (kind,) if kind else ("node", "device"):
            for each in known.members(reading, context, sort):
                if '"' not in each.name and "\\" not in each.name:
                    yield Candidate(each.name, KINDS[sort], 0, each.detail)
