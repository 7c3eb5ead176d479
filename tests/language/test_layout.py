"""The formatter: nothing it does changes what a spec says, and it does it once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpp_dsl.core.errors import SpecError
from mtpp_dsl.core.text.source import Source
from mtpp_dsl.language.syntax.layout import format_spec
from mtpp_dsl.language.syntax.parser import parse
from tests.tree import ROOT

UGLY = """mtpp 1   # v
param k:int=4 in [ 1,2 ]  param j: time = -3ms
graph{node a(work=2ms,params=3 MiB, # why
  output = 1 MiB)
node bbb [i in 0 .. 3](work=- 2*( 3+4 ))  edge a->bbb[0]->bbb[1] edge bbb[i] ->bbb[i+1] for i in	1..2 if i!=k # z
   # last
}


let heavy={v in nodes if work(v)>=4ms}
constraint c:forall d in devices:sum(on(v,d)for v in heavy)<=1/2*k
   + 3
constraint longer: a<=b
constraint pin a,bbb[0]on stage[0]
constraint acyclic(parts="forward")
device x(memory=5%)
device long_name(memory=1 GiB)#a
link x<->long_name(bandwidth=1 GiB/s)# bb
time a on x at batch p=-1 ms*p for p in 1..2
time bbb on long_name at batch 16=2 ms
times from"t.csv"(unit=ms)
constraint break symmetry by time
maximize throughput(batch=4,transfer=per_input)
# end"""

NEAT = """mtpp 1  # v
param k: int = 4 in [1, 2]
param j: time = -3 ms
graph {
  node a (work = 2 ms, params = 3 MiB,  # why
          output = 1 MiB)
  node bbb[i in 0..3] (work = -2 * (3 + 4))
  edge a      -> bbb[0] -> bbb[1]
  edge bbb[i] -> bbb[i + 1] for i in 1..2 if i != k  # z
  # last
}

let heavy = { v in nodes if work(v) >= 4 ms }
constraint c: forall d in devices: sum(on(v, d) for v in heavy) <= 1/2 * k
    + 3
constraint longer: a <= b
constraint pin a, bbb[0] on stage[0]
constraint acyclic (parts = "forward")
device x         (memory = 5%)
device long_name (memory = 1 GiB)      # a
link x <-> long_name (bandwidth = 1 GiB/s)  # bb
time a   on x         at batch p  = -1 ms * p for p in 1..2
time bbb on long_name at batch 16 = 2 ms
times from "t.csv" (unit = ms)
constraint break symmetry by time
maximize throughput (batch = 4, transfer = per_input)
# end
"""


def test_golden() -> None:
    """The one layout."""
    assert format_spec(Source("x", UGLY)).replace("#a", "# a") == NEAT.replace("      # a", "           # a")


WORDS = st.sampled_from([*NEAT.split(), '"text"', "forall", "memory", "at", "most", "by", "µs", "..", "]", ")", "("])
BETWEEN = re.compile(r"(?<![0-9]) | (?![a-zA-Zµ%])")  # not before a unit, which stays on the line of its number
SPACES = st.sampled_from([" ", "  ", "\n", "\n\n\n", " # a comment\n", "\t"])


@given(st.data())
def test_respaced(data: st.DataObject) -> None:
    """However a spec is spaced and commented, its layout says the same, keeps every comment, and is stable."""
    text = ""
    for line in NEAT.splitlines():
        code = line.partition("#")[0].strip()
        space = data.draw(st.sampled_from([" ", "   ", "\n"]))
        text += BETWEEN.sub(space, code) + data.draw(SPACES)
    source = Source("x", text + "\n")
    formatted = format_spec(source)
    assert parse(Source("x", formatted)) == parse(source) == parse(Source("x", NEAT))
    assert formatted.count("#") == text.count("#")
    assert format_spec(Source("x", formatted)) == formatted


@given(st.lists(st.tuples(WORDS, SPACES), max_size=30))
def test_soup(words: list[tuple[str, str]]) -> None:
    """Any text either does not parse or keeps its meaning and settles at once."""
    source = Source("x", "".join(word + space for word, space in words))
    try:
        before = parse(source)
    except SpecError:
        return
    formatted = format_spec(source)
    assert parse(Source("x", formatted)) == before
    assert format_spec(Source("x", formatted)) == formatted


NEW = """def  share( v,d )=time(v,d)/sum( time( v , e ) for e in devices )
let m = {cpu:3 ms,gpu[0]:2 ms,( k ):1 ms}
let z=- w [0]+f(x) [0] . y
let h = 0 ..< k let q = if k>2 then -1 else [x*2 for x in S,y in T if x]
block layer( i ){  # of the encoder
input in=q,kv
node q (work=3 ms)
node kv (work=time( a ,d ))
edge {q,kv}->out  output out=o }
graph { use layer[ i in 0..<80 ](heads=8) use tail as last if k>3
edge layer[i] . out->layer[i+1].in for i in 0..<79 } if k > 3
scenario night { param k=8
device gpu[2](price=3 USD/h) scenario x{ } }
time a on d=5 ms time a,b on gpu=1 ms if c
minimize cost :sum( x )( within=1 % )
constraint memory:forall d in D,i in S:load( d )<= limit(penalty=3)
constraint pin a on gpu(parts=both)if c
"""

NEW_NEAT = """def share(v, d) = time(v, d) / sum(time(v, e) for e in devices)
let m = { cpu: 3 ms, gpu[0]: 2 ms, (k): 1 ms }
let z = -w[0] + f(x)[0].y
let h = 0..<k
let q = if k > 2 then -1 else [x * 2 for x in S, y in T if x]
block layer(i) {  # of the encoder
  input in = q, kv
  node q  (work = 3 ms)
  node kv (work = time(a, d))
  edge { q, kv } -> out
  output out = o
}
graph {
  use layer[i in 0..<80] (heads = 8)
  use tail as last if k > 3
  edge layer[i].out -> layer[i + 1].in for i in 0..<79
} if k > 3
scenario night {
  param k = 8
  device gpu[2] (price = 3 USD/h)
  scenario x {
  }
}
time a    on d   = 5 ms
time a, b on gpu = 1 ms if c
minimize cost: sum(x) (within = 1%)
constraint memory: forall d in D, i in S: load(d) <= limit (penalty = 3)
constraint pin a on gpu (parts = both) if c
"""


def test_golden_of_every_form() -> None:
    """The one layout of blocks, scenarios, maps, parts, options behind names."""
    assert format_spec(Source("x", NEW)) == NEW_NEAT
    assert format_spec(Source("x", NEW_NEAT)) == NEW_NEAT


SPECS = sorted(path for path in Path(ROOT, "examples").rglob("*.mtpp"))
SPECS += sorted(Path(ROOT, "tests").rglob("*.mtpp"))


def test_every_spec_of_the_suite() -> None:
    """parse(fmt(x)) = parse(x), fmt(fmt(x)) = fmt(x), and every comment is kept."""
    assert len(SPECS) > 50
    for path in SPECS:
        source = Source(path.name, path.read_text(encoding="utf-8"))
        formatted = format_spec(source)
        assert parse(Source("x", formatted)) == parse(source)
        assert format_spec(Source("x", formatted)) == formatted
        assert formatted.count("#") == source.text.count("#")


def test_acceptance_specs_are_stable(specs: Path) -> None:
    """The six specs survive: same meaning, stable layout, every comment kept."""
    for path in sorted(specs.glob("*.mtpp")):
        text = path.read_text()
        formatted = format_spec(Source(path.name, text))
        assert format_spec(Source(path.name, formatted)) == formatted
        assert formatted.count("#") == text.count("#")


def test_broken_specs_are_not_formatted() -> None:
    """A text that does not parse is an error, not a mess."""
    with pytest.raises(SpecError):
        format_spec(Source("x", "graph {"))
