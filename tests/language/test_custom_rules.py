"""Constraints of plug-ins in specs: written, checked, formatted and lowered as those of the language."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mtpp_dsl
from mtpp_dsl.core import registry
from mtpp_dsl.core.errors import PluginError, SpecError, UsageError
from mtpp_dsl.core.problem.custom import CustomConstraint, Option, Statement
from mtpp_dsl.core.text.source import Diagnostic, Source
from mtpp_dsl.language.lowering.lower import load
from mtpp_dsl.language.syntax.layout import format_spec
from mtpp_dsl.language.syntax.parser import parse
from tests.customs import Remainders

SPEC = """
graph {
  node a (work = 2 ms, params = 1 MiB)
  node b[i in 0..2] (work = 3 ms)
  edge a -> b[0] -> b[1] -> b[2]
}
device gpu[3] (memory = 1 GiB)
interconnect shared (bandwidth = 8 GiB/s)
minimize bottleneck
"""


@dataclass(frozen=True, kw_only=True)
class Every(CustomConstraint):
    """One option of every kind."""

    keyword = "every"
    options: ClassVar = {
        "limit": Option("time", default=0.25),
        "room": Option("size"),
        "share": Option("number", default=0.5),
        "mode": Option("word", default="soft", choices=("soft", "hard")),
        "note": Option("text", default=""),
        "count": Option("whole", required=True, least=1),
    }
    keeps_memory = True
    sets: tuple[tuple[int, ...], ...] = ()
    values: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def lower(cls, statement: Statement) -> Every:
        if statement.options["share"] > 1:
            raise UsageError("a share is at most one")
        values = tuple(sorted(statement.options.items()))
        return cls(sets=statement.sets, devices=statement.devices, values=values, origin=statement.origin)

    def violations(self, problem: Any, plan: Any) -> list[str]:
        return []


@dataclass(frozen=True, kw_only=True)
class Unlike(Remainders):
    """A class whose keyword is not the name of its entry point."""

    keyword = "other"


class Loose(Remainders):
    """A class that is no dataclass."""

    keyword = "loose"


@dataclass(frozen=True, kw_only=True)
class Failing(Remainders):
    """A class whose lower() fails."""

    keyword = "failing"

    @classmethod
    def lower(cls, statement: Statement) -> Failing:
        raise KeyError("nothing")


POINTS = {
    "remainders": "tests.customs:Remainders",
    "every": f"{__name__}:Every",
    "unlike": f"{__name__}:Unlike",
    "loose": f"{__name__}:Loose",
    "failing": f"{__name__}:Failing",
    "function": f"{__name__}:parse",
    "absent": f"{__name__}:Absent",
}


@pytest.fixture(scope="module", autouse=True)
def _installed() -> Iterator[None]:
    """Let a package with these constraints be installed."""
    patch = pytest.MonkeyPatch()
    points = [EntryPoint(name, value, registry.CONSTRAINTS) for name, value in POINTS.items()]
    patch.setattr(registry, "entry_points", lambda group: points if group == registry.CONSTRAINTS else [])
    registry.available.cache_clear()
    yield
    patch.undo()
    registry.available.cache_clear()


def customs(text: str) -> list[Any]:
    """Return the constraints of plug-ins of a spec."""
    return list(load(SPEC + text + "\n").of(CustomConstraint))


def errors(text: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(SpecError) as caught:
        load(SPEC + text + "\n")
    return caught.value.diagnostics


@pytest.mark.parametrize(
    ("text", "nodes", "devices", "most"),
    [
        ("remainders", None, None, 1),
        ("remainders (at_most = 2)", None, None, 2),
        ("remainders a, b[1]", (0, 2), None, 1),
        ("remainders b on gpu[2], gpu[0] (at_most = 2 + 1)", (1, 2, 3), (0, 2), 3),
        ("remainders { v in nodes if work(v) > 2 ms } on gpu", (1, 2, 3), (0, 1, 2), 1),
        ('remainders "b[0]", [a]\n  on gpu (at_most = 1,)', (0, 1), (0, 1, 2), 1),
    ],
)
def test_statements(text: str, nodes: object, devices: object, most: int) -> None:
    """Members are nodes, those after 'on' devices; options have their defaults."""
    (found,) = customs(f"constraint {text}")
    assert (found.nodes, found.devices, found.at_most) == (nodes, devices, most)
    assert found == Remainders(nodes=found.nodes, devices=found.devices, at_most=most)
    assert found.origin.endswith(":10")


def test_comprehension() -> None:
    """One constraint for each step; equal ones count once."""
    found = customs("constraint remainders b[i], a on gpu[i] (at_most = i + 1) for i in 0..2 if i < 2")
    assert [(x.nodes, x.devices, x.at_most) for x in found] == [((0, 1), (0,), 1), ((0, 2), (1,), 2)]


def test_options_of_every_kind() -> None:
    """Times and sizes are in the problem's own units; words are written bare or as strings."""
    text = 'constraint every b, a (limit = 3 ms, room = 2 KiB, share = 25 %, mode = hard, note = "x", count = 2)'
    (found,) = customs(text)
    assert dict(found.values) == {
        "limit": 0.003, "room": 2048.0, "share": 0.25, "mode": "hard", "note": "x", "count": 2
    }  # fmt: skip
    assert found.sets == ((1, 2, 3), (0,))
    (plain,) = customs("constraint every (count = 3)")
    assert dict(plain.values) == {"limit": 0.25, "room": None, "share": 0.5, "mode": "soft", "note": "", "count": 3}


@pytest.mark.parametrize(
    ("text", "place", "told"),
    [
        ("remanders", "remanders", "there is no constraint 'remanders'; did you mean 'remainders'?"),
        ("remanders a on gpu (x = 3)", "remanders", "there is no constraint 'remanders'; did you mean 'remainders'?"),
        ("acylic", "acylic", "there is no constraint 'acylic'; did you mean 'acyclic'?"),
        ("remainders (atmost = 2)", "atmost", "constraint remainders has no option 'atmost'; did you mean 'at_most'?"),
        ("remainders (at_most = 0)", "0", "at_most must be at least 1; this is 0"),
        ("remainders (at_most = 1.5)", "1.5", "at_most must be a whole number"),
        ("remainders gpu", "gpu", "a node is wanted here, not a device"),
        ("remainders on a", "a", "a device is wanted here, not a node"),
        ("remainders c", "c", "nothing is called 'c'"),
        ("every", "constraint every", "constraint every needs the option 'count': write (count = …)"),
        ("every (count = 1, limit = 3)", "3", "limit must be a time; this is a number without a unit"),
        ("every (count = 1, limit = 3 KiB)", "3 KiB", "limit must be a time; this is a size"),
        ("every (count = 1, mode = sof)", "sof", "mode is one of soft, hard; did you mean 'soft'?"),
        ("every (count = 1, share = 2)", "constraint every (count = 1, share = 2)", "a share is at most one"),
        ("remainders (at_most = 1", "(", "'(' is not closed"),
        ("load(gpu[0]) <= 3 ms", "load", "an inequality has a label before it: write 'constraint limit: load(…) <="),
    ],
)
def test_errors(text: str, place: str, told: str) -> None:
    """Each is shown in its place, with what is near."""
    found = errors(f"constraint {text}")[0]
    assert told in found.message
    assert found.span is not None
    assert found.span.text == place


def test_what_there_is() -> None:
    """The words of plug-ins are listed with those of the language, without importing any."""
    assert "; of plug-ins: remainders, every," in errors("constraint xyzzy")[0].notes[0]


def test_all_errors_in_one_run() -> None:
    """An unknown word beside a malformed statement is found in the same run, and so are two unknown ones."""
    messages = [d.message for d in errors("constraint remanders\ndevice d (memory 3)\nconstraint kinds (a = 2)")]
    assert [m.partition(";")[0] for m in messages] == [
        "there is no constraint 'remanders'",
        "an option is written 'name = value'",
        "there is no constraint 'kinds'",
    ]
    assert len(errors("constraint remanders constraint kinds")) == 2


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("unlike", "constraint 'unlike' (.*:Unlike) has the keyword 'other': give its entry point the same name"),
        ("loose", "constraint 'loose' (.*:Loose) is no frozen dataclass"),
        (
            "function",
            "constraint 'function' (.*:parse) is no class derived from mtpp_dsl.core.problem.custom.CustomConstraint",
        ),
        ("absent", "constraint 'absent' (.*:Absent) cannot be imported"),
        ("failing", r"lower() of constraint 'failing' failed: KeyError('nothing')"),
    ],
)
def test_plug_ins_that_break_the_contract(word: str, told: str) -> None:
    """What is wrong is said of the plug-in."""
    pattern = told.replace("(.*", "\0").replace("(", r"\(").replace(")", r"\)").replace("\0", r"\(.*")
    with pytest.raises(PluginError, match=pattern):
        customs(f"constraint {word}")


def test_memory_that_it_is_about() -> None:
    """A constraint about memory keeps mtpp from saying that nothing is; another one does not."""
    assert any("no constraint uses it" in warning for warning in load(SPEC + "constraint remainders\n").warnings)
    assert not load(SPEC + "constraint every (count = 1)\n").warnings


def test_layout() -> None:
    """One layout, in which a list of members is no subscript."""
    text = "constraint remainders   a,b[ 1 ]on gpu( at_most=1 )\nconstraint remainders[a,b]  (at_most = 2)\n"
    assert format_spec(Source("x", text)) == (
        "constraint remainders a, b[1] on gpu (at_most = 1)\nconstraint remainders [a, b] (at_most = 2)\n"
    )


NAMES = st.sampled_from(["a", "b", "b[1]", '"b[0]"', "[a, b]", "{ v in nodes if work(v) > 1 ms }", "f(a)"])
DEVICES = st.sampled_from(["gpu", "gpu[1]", "[gpu]", "on(1)"])
OPTIONS = st.sampled_from(["x = 2", "y = per_batch", 'z = "w"', "t = 3 ms", "u = [1, 2]", "v = 1 - 2"])


@given(
    st.lists(NAMES, max_size=3),
    st.lists(DEVICES, max_size=2),
    st.lists(OPTIONS, max_size=3),
    st.booleans(),
    st.sampled_from(["", " ", "\n   ", " # why\n "]),
)
def test_round_trip(nodes: list[str], devices: list[str], options: list[str], loop: bool, gap: str) -> None:
    """Formatted, a statement means the same, and formatted again it stays as it is."""
    text = f"constraint remainders{' ' if nodes else ''}{f'{gap},{gap}'.join(nodes)}"
    text += f" on{gap or ' '}{', '.join(devices)}" if devices else ""
    text += f"{gap}({f',{gap}'.join(options)}{gap})" if options else ""
    text += f"{gap or ' '}for i in 0..2 if i > 1" if loop else ""
    once = format_spec(Source("x", text + "\nminimize bottleneck\n"))
    assert parse(Source("x", once)) == parse(Source("x", text + "\nminimize bottleneck\n"))
    assert format_spec(Source("x", once)) == once


def test_builder() -> None:
    """The builder takes it as any other constraint."""
    builder = mtpp_dsl.Builder().node("a", work=1).node("b", work=1).edge("a", "b").device("d", count=2)
    problem = builder.interconnect("shared", bandwidth=1).minimize("bottleneck").constraint("remainders a on d").build()
    assert list(problem.constraints) == [Remainders(nodes=(0,), devices=(0, 1))]
    assert "constraint remainders a on d" in builder.text()
