"""What others have written never commands the terminal: control characters are shown, names in JSON stay true."""

from __future__ import annotations

import ast
import io
import json
from pathlib import Path

import pytest
from rich.text import Text

from mtpp_dsl.cli.run import run
from mtpp_dsl.cli.screen import console, say
from mtpp_dsl.core.errors import SpecError
from mtpp_dsl.core.text.source import MAX_EXCERPT, Diagnostic, Source, Span
from mtpp_dsl.core.text.visible import escaped, visible
from mtpp_dsl.language.lowering.lower import load
from mtpp_dsl.solving.answers.json import dumps
from tests.tree import ROOT

EVIL = "\x1b[2J\x00\x9b31m\u202e\u200b\x7f"
REST = "interconnect shared (bandwidth = 1)\nminimize bottleneck\n"
SPEC = f'graph {{ node "a{EVIL}" (work = 1) }}\ndevice d\n{REST}'


def harmless(text: str) -> bool:
    """Return whether a terminal shows all of a text and obeys nothing in it."""
    return visible(text) == text


@pytest.fixture
def answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[Path, str]:
    """Solve the spec of that node; return the JSON and what was printed."""
    spec = tmp_path / "evil.mtpp"
    spec.write_text(SPEC)
    assert run(["solve", str(spec), "--json", str(tmp_path / "answer.json"), "-v", "--method", "single-device"]) == 0
    done = capsys.readouterr()
    return tmp_path / "answer.json", done.out + done.err


def test_answers(answer: tuple[Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table shows such a name with a sign for each of its characters; the JSON has the name itself, escaped."""
    path, printed = answer
    assert harmless(printed)
    assert visible(f"a{EVIL}") in printed
    assert harmless(path.read_text(encoding="utf-8"))
    assert json.loads(path.read_text(encoding="utf-8"))["plan"]["assignment"] == {f"a{EVIL}": "d"}
    assert run(["verify", str(tmp_path / "evil.mtpp"), str(path)]) == 0
    assert run(["check", str(tmp_path / "evil.mtpp")]) == 0
    assert run(["solve", str(tmp_path / "evil.mtpp"), "--json", "-", "-q"]) == 0
    assert harmless(capsys.readouterr().out)


@pytest.mark.parametrize(
    "text",
    [
        f"graph {{ node a (work = {EVIL}1) }}",
        f'graph {{ node a (kind = "{EVIL}", work = 1 s) node b (work = 1) }}\ndevice d\n{REST}',
        f'include "{EVIL}.mtpp"',
        f'graph from "{EVIL[:2]}.json"\ndevice d\n{REST}',
        f'{SPEC}constraint pin "b{EVIL}" on d',
        f"# {EVIL}\nconstraint acylic # {EVIL}",
    ],
)
def test_errors(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Messages and excerpts show a sign for each such character, so that carets stay where they belong."""
    spec = tmp_path / "x.mtpp"
    spec.write_text(text)
    assert run(["check", str(spec)]) == 2
    message = capsys.readouterr().err
    assert harmless(message)
    assert ": error" in message or message.startswith("error")


def test_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Values of -D, paths and unknown commands are shown as well."""
    spec = tmp_path / "x.mtpp"
    spec.write_text(SPEC)
    for arguments in (
        ["check", str(spec), "-D", f"{EVIL[:2]}=1"],
        ["check", str(tmp_path / "\x1b[2J\u202e.mtpp")],
        ["fmt", "--check", str(tmp_path / "\x1b[2J.mtpp")],
        ["solve", str(spec), "--method", "\x1b[2J"],
        ["verify", str(spec), "\x1b[2J"],
        ["\x1b[2J"],
        ["solve", str(spec), "--threads", "\x1b[2J"],
    ):
        assert run(arguments) == 2
        done = capsys.readouterr()
        assert harmless(done.out + done.err), arguments


def test_fmt_names_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The names of formatted files are shown, whatever is in them."""
    spec = tmp_path / "\x1b[2J\u202e.mtpp"
    spec.write_text("mtpp   1")
    assert run(["fmt", "--check", str(spec)]) == 1
    assert "␛[2J\ufffd.mtpp" in capsys.readouterr().err


def test_styles_of_our_own_pass() -> None:
    """On a terminal our own styles are sent; what text brings is shown beside them."""
    screen = console()
    screen._force_terminal = True
    screen._color_system = None
    screen.file = io.StringIO()
    screen.print(Text("a\x1b[31mb\u202e", style="bold"))
    assert screen.file.getvalue().replace("\x1b[1m", "").replace("\x1b[0m", "") == "a␛[31mb\ufffd\n"


def test_say(capsys: pytest.CaptureFixture[str]) -> None:
    """Lines of one message stay lines."""
    say("a\r\nb\tc\x07")
    assert capsys.readouterr().out == "a␍\nb\tc␇\n"


def test_escaped_json() -> None:
    """Law: escaping changes the text of JSON, never what it says."""
    text = "".join(map(chr, [*range(0x20, 0x100), *range(0x2000, 0x2070), 0xE0001, 0x1F600, 0xFEFF]))
    assert json.loads(escaped(json.dumps(text, ensure_ascii=False))) == text
    assert harmless(dumps({"a": text}))


def test_every_command_prints_by_the_screen() -> None:
    """No command prints by itself: what it prints would not be looked at."""
    for path in sorted(Path(ROOT, "mtpp_dsl", "cli").glob("*.py")):
        calls = [
            node.func for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)
        ]
        names = {call.id for call in calls if isinstance(call, ast.Name)}
        assert "print" not in names or path.name == "screen.py"


def test_long_lines_are_shortened_around_the_caret() -> None:
    """Of a long line the part around the caret is shown, and of a long name its ends."""
    text = "let x = 1  # " + "y" * 3000 + " error " + "z" * 3000
    source = Source("s.mtpp", text)
    start = text.index("error")
    message = str(Diagnostic(f"there is no {'n' * 10**6}", Span(source, start, start + 5)))
    _, line, carets = message.splitlines()
    assert len(message) < 600
    assert len(line) == len("    1 | ") + MAX_EXCERPT
    assert line[carets.index("^") : carets.rindex("^") + 1] == "error"
    assert line[8] == line[-1] == "…"
    for at in (0, 1, len(text) - 1):
        _, line, carets = str(Diagnostic("m", Span(source, at, at + 1))).splitlines()
        assert line[carets.index("^")] == text[at]
    whole = str(Diagnostic("m", Span(source, 0, len(text)))).splitlines()[2]
    assert len(whole) <= len("    1 | ") + MAX_EXCERPT


SECRETS = "zx81:x:0:0:zx81:/zx81:/bin/bash\ndaemon:x:1:1::/usr/sbin:/usr/sbin/nologin\n"


@pytest.mark.parametrize(
    "statement",
    [
        'include "{}"',
        'import "{}"',
        'import "{}" (format = moirai)',
        'graph from "{}" (format = msr)',
        'graph {{ node a (work = 1) }} times from "{}"',
    ],
)
def test_files_that_are_no_specs_are_not_shown(statement: str, tmp_path: Path) -> None:
    """What a spec names may be any file of the machine: its lines are not printed where it is none of ours."""
    for name, text in (("passwd", SECRETS), ("key.csv", '"secret" nologin\nzx81'), ("a.json", "zx81 nologin")):
        (tmp_path / name).write_text(text)
        spec = tmp_path / "spec.mtpp"
        spec.write_text(f"{statement.format(name)}\ndevice d\n{REST}")
        with pytest.raises(SpecError) as caught:
            load(spec)
        assert "zx81" not in str(caught.value)
        assert "nologin" not in str(caught.value)
        assert name in str(caught.value)


def test_included_specs_are_shown(tmp_path: Path) -> None:
    """Errors of an included spec show its lines, whatever its file is called."""
    for name in ("part.mtpp", "part.inc"):
        (tmp_path / name).write_text("device d (memory 3)\n")
        spec = tmp_path / "spec.mtpp"
        spec.write_text(f'include "{name}"\n{SPEC}')
        with pytest.raises(SpecError, match=r"device d \(memory 3\)"):
            load(spec)
