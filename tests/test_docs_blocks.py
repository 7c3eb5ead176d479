"""No fenced block of a page escapes the tests: what is not run by tests/test_docs.py is read here.

* ``sh``, and ``text`` that begins with ``$``, show what takes too long, or needs what is not here, such as a cluster:
  the commands and options of mtpp, the extras that pip installs and the targets of make are there;
* ``py`` is a program for packages that are not here, and is parsed;
* ``toml``, ``json`` and ``yaml`` are read; classes that a ``pyproject.toml`` names are on the page;
* other ``text`` is for the eye, and no command of mtpp hides in it.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
import shlex
import tomllib
from typing import Any

import pytest

from tests.pages import PAGES, ROOT, Block, blocks

RUN = {"console", "mtpp", "python"}
"""What tests/test_docs.py does."""
OTHERS = {
    "cd",
    "code",
    "dask",
    "export",
    "git",
    "make",
    "pip",
    "sh",
    "pygmentize",
    "viprchk",
    "python",
    "sbatch",
    "source",
    "srun",
    "vllm",
}
"""Commands of others that pages may show."""
SHOWN = [block for page in PAGES for block in blocks(page) if block.language not in RUN and "output" not in block.words]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_block_is_missed(page: Any) -> None:
    """Every fence begins a line, names a language that a test knows, and is closed."""
    lines = page.read_text(encoding="utf-8").splitlines()
    fences = [line for line in lines if re.match(r"\s*(```|~~~)", line)]
    found = list(blocks(page))
    assert len(fences) == 2 * len(found), "a fence has no language, is indented, or is not closed"
    assert {block.language for block in found} <= RUN | set(READ)


def of_kind(*languages: str) -> Any:
    chosen = [block for block in SHOWN if block.language in languages]
    assert chosen, f"no page has a block of {languages}"
    return pytest.mark.parametrize("block", chosen, ids=lambda block: block.place)


def commands(block: Block) -> list[str]:
    """Return the commands of a block: all lines of ``sh``, those of ``text`` that begin with ``$``."""
    lines = re.sub(r"\\\n\s*", "", block.text).splitlines()
    if block.language == "text":
        return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    return [line for line in lines if line.strip() and not line.startswith("#")]


def read_commands(block: Block) -> None:
    """Read the commands as a shell and mtpp would, and do nothing of them."""
    for line in commands(block):
        words = [word.removesuffix(";") for word in shlex.split(line, comments=True)]
        words = words[next((i for i, word in enumerate(words) if "=" not in word), 0) :]
        if words[0] == "mtpp":
            read_call(words[1:])
        else:
            assert words[0] in OTHERS, f"{block.place}: {line}"
        if words[0] == "make":
            assert re.search(rf"^[a-z -]*\b{words[1]}[a-z -]*:", (ROOT / "Makefile").read_text(), re.MULTILINE)
        if words[0] == "pip":
            project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
            extras = {extra for found in re.findall(r"mtpp-dsl\[([^\]]+)\]", line) for extra in found.split(",")}
            assert extras <= set(project["optional-dependencies"]), f"{block.place}: {line}"


def read_call(words: list[str]) -> None:
    """Read the arguments of a call of mtpp.

    Raises:
        click.UsageError: there is no such command or option, or a value is missing.
    """
    import typer

    app = importlib.import_module("mtpp_dsl.cli.app").app
    command = typer.main.get_command(app)
    context = command.context_class(command, info_name="mtpp")
    while hasattr(command, "resolve_command"):
        command.parse_args(context, list(words))  # mtpp bench takes a sweep in place of a command
        name, command, words = command.resolve_command(context, [*context._protected_args, *context.args])
        context = command.context_class(command, info_name=name, parent=context)
    command.make_parser(context).parse_args(words)


def read_toml(block: Block) -> None:
    """Read it; what a pyproject.toml registers is a class of a file of the page."""
    table = tomllib.loads(block.text)
    files = {other.file: other.text for other in blocks(block.page) if other.language == "python"}
    entries = table.get("project", {}).get("entry-points", {})
    for group, plugins in entries.items():
        assert group in vars(importlib.import_module("mtpp_dsl.registry")).values(), f"{block.place}: {group}"
        for value in plugins.values():
            module, _, name = value.partition(":")
            assert re.search(rf"^(class|def) {name}\b", files[f"{module}.py"], re.MULTILINE), f"{block.place}: {value}"


def read_json(block: Block) -> None:
    """Read it: a whole value, or members of an object."""
    text = block.text.replace("…", "")
    try:
        json.loads(text)
    except json.JSONDecodeError:
        json.loads("{" + text + "}")


def read_yaml(block: Block) -> None:
    pytest.importorskip("yaml").safe_load(block.text)


def read_text(block: Block) -> None:
    """Read the commands of what was run elsewhere; a block that is for the eye has none."""
    read_commands(block)
    if block.page.name != "errors.md":  # that of its own is compared by tests/core/text
        assert not re.search(r"^mtpp [a-z]+ ", block.text, re.MULTILINE), "a command that is not run is a block of sh"


READ = {
    "sh": read_commands,
    "bash": read_commands,
    "text": read_text,
    "toml": read_toml,
    "json": read_json,
    "yaml": read_yaml,
    "py": lambda block: ast.parse(block.text),
}


@of_kind(*READ)
def test_it_reads(block: Block) -> None:
    """What a page shows and no test runs is at least what it says it is."""
    READ[block.language](block)


@pytest.mark.parametrize(
    ("language", "text", "found"),
    [
        ("sh", "mtpp slove x.mtpp", "No such command"),
        ("sh", "mtpp solve x.mtpp --no-such-option", "No such option"),
        ("text", "$ mtpp bench run.toml --onyl x", "No such option"),
        ("sh", "pip install 'mtpp-dsl[nothing]'", "mtpp-dsl"),
        ("sh", "rm -r x", "rm -r x"),
        ("toml", "a = ", "Invalid value"),
        ("json", "{a}", "Expecting"),
        ("yaml", "a: [1", "expected"),
        ("py", "def", "invalid syntax"),
        ("text", "mtpp solve x", "a block of sh"),
    ],
)
def test_mistakes_are_found(language: str, text: str, found: str) -> None:
    """Each of these would be a mistake on a page."""
    with pytest.raises(Exception, match=found):
        READ[language](Block(language, (), text + "\n", ROOT / "README.md", 1))
