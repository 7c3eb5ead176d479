"""The documentation holds: specs check, commands print what is shown, Python runs, links lead somewhere.

Words after the language of a fenced block say what the block is:

* a file name: the block is the content of that file, which the blocks after it use; one below ``examples`` is there;
* ``mtpp``: a whole spec, which checks and is formatted; ``part``: statements that do so with the graph, devices,
  interconnect and objective of the first spec of the page, as far as they have none; ``fragment``: statements, which
  parse and are formatted; ``wrong``: none of these, it shows a mistake;
* ``console``: after each ``$ mtpp …``, lines that it prints, in this order (others may stand between them, and seconds
  and versions may differ); it ends with code 0 unless ``$ echo $?`` shows another. In the README, which strangers
  paste, lines that are left out are shown as a line ``…``;
* ``python``: runs; a ``text output`` block after it shows lines that it prints; ``cell``: it is a cell of a notebook,
  which fails if it is ``wrong``;
* ``data``, ``scip``: only where the published workloads are, or that solver is;
* ``hf``: only where transformers is, and in long runs: it takes minutes.
"""

from __future__ import annotations

import io
import os
import re
import shlex
from collections.abc import Callable
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import mtpp_dsl
from mtpp_dsl.cli.run import run
from mtpp_dsl.core.base.spec_limits import MAX_DEVICES, MAX_EDGES, MAX_LINKED, MAX_NODES, MAX_STEPS, MAX_TABLE
from mtpp_dsl.core.base.units import UNITS
from mtpp_dsl.core.constraints import Memory
from mtpp_dsl.core.contracts.scopes import Scope
from mtpp_dsl.core.registry import BACKENDS, BUILTIN, EXECUTORS, FORMATS, GENERATORS, TARGETS
from mtpp_dsl.core.text.source import Source
from mtpp_dsl.exchange.generators.generate import signature
from mtpp_dsl.language.lowering.graph_items import NODE_OPTIONS
from mtpp_dsl.language.lowering.lower_devices import DEVICE_OPTIONS
from mtpp_dsl.language.syntax.keywords import RULES, STATEMENTS
from mtpp_dsl.language.syntax.layout import format_spec
from mtpp_dsl.language.syntax.parser import MAX_DEPTH, MAX_ERRORS, MAX_WORDS
from mtpp_dsl.language.values.functions import AGGREGATES, FUNCTIONS
from mtpp_dsl.language.values.params import _TEXT_TYPES, _TYPES
from mtpp_dsl.solving.answers.json import schema
from mtpp_dsl.solving.api import find_method
from tests.amount import stride
from tests.pages import DOCS, FENCE, PAGES, ROOT, Block, anchors, blocks, links
from tests.tools import rooms, tables
from tests.tools.picture import PICTURE, words
from tests.tools.situations import SITUATIONS, Situation
from tests.tree import files

REFERENCE = "methods/reference.md"
FAMILIES = [f"methods/{page.name}" for page in sorted((DOCS / "methods").glob("*.md")) if page.name != "reference.md"]
EXAMPLES = sorted((ROOT / "examples").glob("*.mtpp"))
LONG_PAGES = ("adding-a-solver.md", "explain.md", "gallery.md", "sweeps.md")
"""What these tell a reader to do takes longest, and is done in make test-all alone."""
CASES = sorted((ROOT / "examples" / "cases").glob("*.mtpp"))
OUTSIDE = re.compile(r"https://[a-z0-9-]+(\.[a-z0-9-]+)+(/[\w./~%+-]*)?(\?[\w=&%.-]+)?(#[\w./-]+)?")

SPARE = {
    r"^(graph|import) ": "graph {",
    r"^(device|import) ": "device ",
    r"^(interconnect|link|import) ": "interconnect ",
    r"^(minimize|maximize) ": "minimize ",
}
"""What a spec needs, by what shows that it is there: how the statements begin that stand in where it is not."""


def completed(block: Block) -> str:
    """Return statements with those of the first spec of their page that a spec needs and these lack."""
    first = next(other for other in blocks(block.page) if other.language == "mtpp" and not other.words[:1])
    statements = re.split(r"^(?=[a-z])", first.text, flags=re.MULTILINE)
    spare = [begin for there, begin in SPARE.items() if not re.search(there, block.text, re.MULTILINE)]
    return block.text + "".join(statement for statement in statements if statement.startswith(tuple(spare)))


def masked(text: str) -> list[str]:
    """Return the lines of a text, without the seconds and versions that differ from run to run."""
    lines = [re.sub(r"\b\d+(\.\d+)? s\b|(?<=highs )[\d.]+", "*", " ".join(line.split())) for line in text.splitlines()]
    return [line for line in lines if line not in ("", "…")]


def assert_shown(shown: str, printed: str, place: str) -> None:
    """Every shown line is printed, in this order."""
    left = iter(masked(printed))
    for line in masked(shown):
        assert line in left, f"{place}: not printed (here): {line}\n\n{printed}"


def assert_all_shown(shown: str, printed: str, place: str) -> None:
    """Every printed line is shown, or a line ``…`` stands for it."""
    parts = ["\n".join(masked(part)) for part in re.split(r"^…$", shown, flags=re.MULTILINE)]
    pattern = r"(.*\n)*".join(re.escape(f"{part}\n") if part else "" for part in parts)
    assert re.fullmatch(pattern, "\n".join([*masked(printed), ""])), f"{place}: not all is shown:\n\n{printed}"


class Reader:
    """Does what a page says, in a folder of its own."""

    def __init__(self, folder: Path, data: Path) -> None:
        (folder / "examples").symlink_to(ROOT / "examples")
        (folder / "dnn-partitioning").symlink_to(data / "dnn-partitioning")
        self.there = {
            "data": (data / "dnn-partitioning").is_dir(),
            "scip": find_spec("pyscipopt") is not None,
            "hf": find_spec("transformers") is not None and stride(2) == 1,
        }
        self.names: dict[str, object] = {}
        self.shell: Any = None
        self.printed = ""

    def read(self, block: Block) -> None:
        if not all(self.there.get(word, True) for word in block.words):
            return
        if block.file is not None:
            path = Path(block.file)
            if path.parts[0] == "examples":
                assert path.read_text(encoding="utf-8") == block.text, f"{block.place}: {path} is another"
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text, encoding="utf-8")
        match block.language:
            case "mtpp" if "wrong" not in block.words:
                self.spec(block)
            case "console":
                self.console(block)
            case "python" if "cell" in block.words:
                self.cell(block)
            case "python" if block.file is None:
                self.python(block)
            case "text" if "output" in block.words:
                assert_shown(block.text, self.printed, block.place)

    def spec(self, block: Block) -> None:
        assert format_spec(Source(block.place, block.text)) == block.text, f"{block.place}: mtpp fmt would change this"
        if "part" in block.words:
            mtpp_dsl.load(completed(block))
        elif "fragment" not in block.words:
            mtpp_dsl.load(block.text if block.file is None else Path(block.file))

    def console(self, block: Block) -> None:
        steps = [step.partition("\n") for step in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]]
        code = 0
        for i, (command, _, shown) in enumerate(steps):
            place = f"{block.place}: {command}"
            if command == "echo $?":
                assert shown.split() == [str(code)], f"{place}: it is {code}"
            elif command.startswith("mtpp "):
                code = self.printing(partial(run, shlex.split(command)[1:]))
                asked = i + 1 < len(steps) and steps[i + 1][0] == "echo $?"
                assert asked or code == 0, f"{place}: ended with {code}\n{self.printed}"
                (assert_all_shown if block.page.name == "README.md" else assert_shown)(shown, self.printed, place)
            elif command.startswith("make "):
                assert re.search(
                    rf"^[a-z -]*\b{command.split()[1]}[a-z -]*:", (ROOT / "Makefile").read_text(), re.MULTILINE
                ), place

    def python(self, block: Block) -> None:
        code = compile("\n" * block.line + block.text, str(block.page), "exec")
        self.printing(partial(exec, code, self.names))

    def cell(self, block: Block) -> None:
        if self.shell is None:
            self.shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell(user_ns=self.names)
        done: list[Any] = []
        self.printing(lambda: done.append(self.shell.run_cell(block.text)))
        assert done[0].success == ("wrong" not in block.words), f"{block.place}: {self.printed}"

    def printing(self, action: Callable[[], int | None]) -> int:
        out = io.StringIO()
        with redirect_stdout(out), redirect_stderr(out):
            code = action()
        self.printed = out.getvalue()
        return code or 0


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.long) if page.name in LONG_PAGES else page for page in PAGES],
    ids=lambda page: page.name,
)
def test_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that a page tells a reader to do works, in the order in which it tells it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    reader = Reader(tmp_path, Path(os.environ.get("MTPP_DATA", ROOT.parent / "shared" / "data")))
    for block in blocks(page):
        reader.read(block)


def test_the_readme_can_be_pasted() -> None:
    """No block of the README is a part of something; what takes long to run is that of a page which long runs try."""
    way = {block.file: block.text for block in blocks(DOCS / "from-model-to-runtime.md") if block.file}
    for block in blocks(ROOT / "README.md"):
        assert block.language in ("console", "mtpp", "python") or block.file or "output" in block.words, block.place
        assert not {"fragment", "part", "wrong"} & set(block.words), block.place
        assert block.file not in way or block.text == way[block.file], block.place


@pytest.mark.parametrize(
    ("shown", "whole"),
    [("a\nb\nc", True), ("a\n…\nc", True), ("…\nc", True), ("a\n…", True), ("a\nc", False), ("b\n…", False)],
)
def test_what_is_left_out_is_told(shown: str, whole: bool) -> None:
    with nullcontext() if whole else pytest.raises(AssertionError, match="not all is shown"):
        assert_all_shown(shown, "a\nb\nc\n", "")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links(page: Path) -> None:
    """Links between the pages lead to a file, and to a heading in it; those outside are well formed."""
    for target in links(page):
        if "://" in target:
            assert OUTSIDE.fullmatch(target), f"{page.name}: {target}"
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name) if name else page
        assert path.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors(path), f"{page.name}: {target}"


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_case(case: Path) -> None:
    """Every case study, too large for a test to solve, is a sound spec of a batch in four chunks that auto takes."""
    problem = mtpp_dsl.load(case)
    assert find_method("auto").accepts(problem) is None
    assert problem.batching.count == 4


@pytest.mark.parametrize("example", [*EXAMPLES, *CASES], ids=lambda path: path.stem)
def test_example_is_formatted(example: Path) -> None:
    """mtpp fmt would change nothing."""
    text = example.read_text(encoding="utf-8")
    assert format_spec(Source(str(example), text)) == text


def test_picture() -> None:
    """The picture shows what the first solve prints (python -m tests.tools.picture draws it again)."""
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        assert run(["solve", str(ROOT / "examples" / "quickstart.mtpp")]) == 0
    shown = masked(words(PICTURE.read_text(encoding="utf-8")))[0]
    for line in masked(out.getvalue())[1:]:
        for part in re.split(r"\s*[█▒·]+\s*", line):
            assert part in shown, part


def read(*pages: str) -> str:
    """Return the text of pages of the documentation."""
    return "\n".join((DOCS / page).read_text(encoding="utf-8") for page in pages)


def code_words(page: str) -> set[str]:
    """Return every word that a page sets as code."""
    text = read(page)
    code = FENCE.findall(text) + [("", inline) for inline in re.findall(r"`([^`\n]+)`", text)]
    return {word for _, part in code for word in re.findall(r"[\wµ%]+(?:/(?:s|h|kWh)\b)?", part)}


@pytest.mark.parametrize(
    ("what", "known"),
    {
        "functions": [*FUNCTIONS, *AGGREGATES],
        "statements": [*STATEMENTS, "node", "edge"],
        "constraints": RULES,
        "options of nodes": NODE_OPTIONS,
        "options of devices": DEVICE_OPTIONS,
        "types of params": [*_TYPES, *_TEXT_TYPES, "bool"],
        "formats": [*BUILTIN[FORMATS]],
        "generators": [*BUILTIN[GENERATORS]],
        "words": ["nodes", "devices", "bottleneck", "makespan", "throughput", "true", "false", "forall", "for", "if"],
    }.items(),
)
def test_reference_is_complete(what: str, known: list[str]) -> None:
    """The language reference names everything that the language has."""
    missing = sorted(set(known) - code_words("language.md"))
    assert not missing, f"docs/language.md lacks {what}: {', '.join(missing)}"


CONSTRAINTS = {
    "acyclic": "acyclic",
    "contiguous": "contiguous",
    "memory": "memory",
    "colocate": "colocate a, b",
    "colocate by": "colocate by kind",
    "separate": "separate a, b",
    "pin": "pin a on d[0]",
    "forbid": "forbid a on d[0]",
    "label": "few: on(a, d[0]) + on(b, d[1]) <= 1",
    "subgraphs": "subgraphs at most 2",
    "exclusive": "exclusive links",
    "batch": "batch in [1, 2]",
    "repeat": "repeat up to 2",
    "replicate": "replicate d up to 2",
    "break": "break symmetry by tasks",
}
SPEC = """
graph {{
  node a (work = 1, kind = "x")
  node b (work = 1, kind = "x")
}}
device d[2] (memory = 9)
interconnect {} (bandwidth = 1)
minimize bottleneck
constraint {}
"""
ASKED = [("Constraints", word, "shared", rule) for word, rule in CONSTRAINTS.items()]
ASKED += [("Interconnects", kind, kind, "pin a on d[0]") for kind in ("shared", "host", "links")]
PLANNERS = ("exact", "ideals", "slicegraph", "annealing", "batched")


@pytest.mark.parametrize(("section", "first", "interconnect", "rule"), ASKED)
def test_who_honours_what(section: str, first: str, interconnect: str, rule: str) -> None:
    """The tables of interconnects and constraints name the methods that give plans under each, and no others."""
    table = (DOCS / "language.md").read_text(encoding="utf-8").partition(f"\n## {section}\n")[2]
    row = next(line for line in table.splitlines() if re.match(rf"\| `?{first}\b", line))
    batched = first in ("batch", "repeat")
    spec = SPEC.format("links" if batched else interconnect, rule)
    if batched:
        spec = spec.replace("minimize bottleneck", "maximize throughput (batch = 2)")
    problem = mtpp_dsl.load(spec)
    able = {name for name in PLANNERS if find_method(name).accepts(problem) is None}
    assert {name for name in PLANNERS if f"`{name}`" in row.split("|")[-2]} == able
    assert (find_method("auto").accepts(problem) is None) == bool(able)


@pytest.mark.parametrize("first", ["acyclic", "memory", "colocate", "separate", "pin", "forbid", "label"])
def test_who_honours_what_on_links(first: str) -> None:
    """The table of constraints says of a method that refuses one of bottlenecks on links where it takes it."""
    table = (DOCS / "language.md").read_text(encoding="utf-8").partition("\n## Constraints\n")[2]
    row = next(line for line in table.splitlines() if re.match(rf"\| `?{first}\b", line)).split("|")[-2]
    problem = mtpp_dsl.load(SPEC.format("links", CONSTRAINTS[first]))
    for name in ("exact", "ideals", "annealing"):
        if f"`{name}`" in row:
            refused = find_method(name).accepts(problem) is not None
            assert (f"`{name}` on `shared` and `host`" in row) == refused, name


@pytest.mark.parametrize("name", BUILTIN[GENERATORS])
def test_generators_are_described(name: str) -> None:
    """Every parameter of a generator is listed with its default."""
    table = (DOCS / "language.md").read_text(encoding="utf-8").partition("\n### Generators\n")[2]
    row = next(line for line in table.splitlines() if line.startswith(f"| `{name}`"))
    for parameter in signature(name):
        default = parameter.default
        words: dict[object, str] = {None: "", True: " true", False: " false"}
        number = isinstance(default, (int, float)) and not isinstance(default, bool)
        shown = f" {default:g}" if number else f' "{default}"' if isinstance(default, str) else words[default]
        assert f"`{parameter.name}`{shown}" in row, parameter


def test_reference_has_every_unit() -> None:
    """Units are written out, or as a prefix in the table and a unit behind it."""
    said = code_words("language.md")
    prefixes = ("", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi")
    for unit in UNITS:
        base = next(
            (base for base in ("FLOP/s", "FLOP", "bit/s", "bit", "B/s", "B", "Wh", "W", "J") if unit.endswith(base)),
            None,
        )
        prefix = unit.removesuffix(base or "")
        assert unit in said or (base in said and prefix in prefixes and prefix in said), unit
    undefined = {f"{p}{b}" for p in prefixes for b in ("B", "bit", "FLOP")} & said - set(UNITS)
    assert not undefined


def test_reference_has_the_limits() -> None:
    """The limits stated are those of the code."""
    text = (DOCS / "language.md").read_text(encoding="utf-8")
    for limit in (
        MAX_NODES,
        MAX_EDGES,
        MAX_DEVICES,
        MAX_LINKED,
        MAX_STEPS,
        MAX_TABLE,
        MAX_WORDS,
        MAX_DEPTH,
        MAX_ERRORS,
    ):
        assert f"{limit:,}" in text


def test_methods_and_fields_are_described() -> None:
    """Every method is in the reference and on a page of its family; solvers and fields of the answer have pages too."""
    others = (FORMATS, GENERATORS, BACKENDS, TARGETS, EXECUTORS)
    names = {name for group in BUILTIN for name in BUILTIN[group] if group not in others}
    for pages in ([REFERENCE], FAMILIES):
        assert not names - words_in_code(read(*pages, "answers.md", "solvers.md"))
    assert not set(BUILTIN[TARGETS]) - words_in_code(read("targets.md"))
    assert not set(BUILTIN[BACKENDS]) - words_in_code(read("solvers.md"))
    assert not set(BUILTIN[EXECUTORS]) - words_in_code(read("clusters.md", "adding-an-executor.md"))
    assert not set(schema()["properties"]) - code_words("answers.md")


def words_in_code(text: str) -> set[str]:
    """Return the words set as code on their own, hyphens and all."""
    return set(re.findall(r"(?<!`)`([a-z0-9]+(?:-[a-z0-9]+)*)`(?!`)", text))


def test_floor_plan() -> None:
    """The page of the architecture names every package that somebody may look for, and none that is not there."""
    text = read("architecture.md")
    told = set(re.findall(r"`((?:mtpp_dsl|models|solvers|grammars)/[\w/]*)`", text))
    there = {str(path.parent.relative_to(ROOT)) + "/" for path in files() if path.name == "__init__.py"}
    assert told <= there
    inner = {
        "solvers/algorithms/homes/",
        "solvers/algorithms/chains/",
        "solvers/algorithms/frontier/",
        "solvers/algorithms/slicing/",
        "solvers/algorithms/windows/",
        "solvers/schedule/state/",
    }  # used, not sought
    assert there - told <= inner | {"mtpp_dsl/", "solvers/"}


def test_picture_of_the_rooms() -> None:
    """It shows who imports whom: ``python -m tests.tools.rooms`` draws it anew."""
    assert rooms.PICTURE.read_text(encoding="utf-8") == rooms.drawn()


@pytest.mark.parametrize("page", tables.PAGES)
def test_tables_of_methods(page: str) -> None:
    """They say what the scopes of the methods say: ``python -m tests.tools.tables`` makes them anew."""
    text = read(page)
    assert tables.filled(text) == text


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.words[:30])
def test_situations(situation: Situation) -> None:
    """Each method of a row accepts the spec of the row, and gives what its column says."""
    problem = mtpp_dsl.load(situation.spec)
    wanted = {"soon": ("plan", "plan and bound"), "best": ("plan", "plan and bound"), "proof": ("plan and bound",)}
    for column, gives in (wanted | {"bound": ("bound",)}).items():
        for name in getattr(situation, column):
            method = find_method(name)
            assert method.accepts(problem) is None, f"{name} for {situation.words}"
            assert method.gives in gives
    assert find_method("auto").accepts(problem) is None


def test_tables_tell_methods_apart() -> None:
    """A scope that keeps a constraint has its mark, one that does not has none."""
    pipeline = next(problems for problems in tables.PROBLEMS if problems.objective == "bottleneck")
    scope = Scope(objectives=("bottleneck",), interconnects=("shared",), constraints=(Memory,), unequal=True)
    marks = {word: test(scope) for word, test in tables.relevant(pipeline)}
    assert marks["`memory`"]
    assert marks["unequal devices"]
    assert not marks["`pin`"]
    assert not marks["`overflow = stream`"]
    assert "`batch`" not in marks


def test_glossary_has_sources() -> None:
    """Every word of the glossary has a definition and a source, and stands there once."""
    text = read("glossary.md")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| **")
    ]
    assert len(rows) > 50
    assert all(len(row) == 3 and all(row) for row in rows)
    assert len({row[0] for row in rows}) == len(rows)
