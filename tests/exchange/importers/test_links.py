"""Tables of links, as statements: both forms, what merges, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtpp_dsl.cli.run import run
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.text.source import Source
from mtpp_dsl.exchange.importers.links import links_of_table
from mtpp_dsl.language.syntax.layout import format_spec

LIST = "from,to,bandwidth (GB/s),latency (us)\n"


def table(folder: Path, text: str) -> Path:
    path = folder / "wires.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_list_of_links(tmp_path: Path) -> None:
    """Equal directions become one link both ways; empty cells are left out; odd names become strings."""
    text = LIST + 'gpu[0],gpu[1],25,1\n\ngpu[1],gpu[0],25,1\ngpu[0],"my ""host""",3.5e1,\n gpu[1] , nic , ,2\n'
    found = links_of_table(table(tmp_path, text))
    assert found == (
        "# Links of wires.csv.\n"
        "link gpu[0] <-> gpu[1]        (bandwidth = 25 GB/s, latency = 1 us)\n"
        'link gpu[0] ->  "my \\"host\\"" (bandwidth = 3.5e1 GB/s)\n'
        "link gpu[1] ->  nic           (latency = 2 us)\n"
    )
    assert format_spec(Source("x", found))  # it parses


def test_square_table(tmp_path: Path) -> None:
    """A cell is the bandwidth from its row to its column."""
    text = ",gpu[0],gpu[1],cpu\ngpu[0],900,25,5\ngpu[1],24,,5\ncpu,5,5,\n"
    assert links_of_table(table(tmp_path, text), "GB/s") == (
        "# Links of wires.csv.\n"
        "link gpu[0] ->  gpu[1] (bandwidth = 25 GB/s)\n"
        "link gpu[0] <-> cpu    (bandwidth = 5 GB/s)\n"
        "link gpu[1] ->  gpu[0] (bandwidth = 24 GB/s)\n"
        "link gpu[1] <-> cpu    (bandwidth = 5 GB/s)\n"
    )


def test_both_ways_and_plain_numbers(tmp_path: Path) -> None:
    """With the option a row holds both ways; without units numbers stay plain."""
    path = table(tmp_path, "to,from,bandwidth\nb,a,3\n")
    assert links_of_table(path, both_ways=True).endswith("link a <-> b (bandwidth = 3)\n")
    assert links_of_table(path).endswith("link a -> b (bandwidth = 3)\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no column from"),
        ("from,to\na,b\n", "no column bandwidth"),
        ("from,to,bandwith\na,b,1\n", "did you mean 'bandwidth'"),
        ("from,to,bandwidth,bandwidth\n", "there twice"),
        ("from,to,bandwidth (GB)\n", "'GB' is no unit of a bandwidth, such as GB/s"),
        ("from (m),to,bandwidth\n", "no unit of a name"),
        ("from,to,bandwidth (GB/s),latency\n", "write latency"),
        (LIST, "has no links"),
        (LIST + "a,b\n", "wires.csv:2: the row has 2 of the 4 columns"),
        (LIST + "a,b,0,\n", "more than zero"),
        (LIST + "a,b,-1,\n", "is no bandwidth"),
        (LIST + "a,b,nan,\n", "is no bandwidth"),
        (LIST + "a,b,1e999,\n", "too large"),
        (LIST + "a,b,1) device c (speed = 2,\n", "is no bandwidth"),
        (LIST + "a,a,1,\n", "two different devices"),
        (LIST + "a,b,1,\na,b,2,\n", "there twice"),
        (LIST + '"a\nb",c,1,\n', "wires.csv:3"),
        (LIST + "a\x1b[31m,c,1,\n", "is no name of a device"),
        (LIST + f"{'a' * 300},c,1,\n", "is no name of a device"),
        (LIST + '"a,b,1,\n' * 3, "wires.csv:"),
        (",a,b\na,0,1\nc,1,0\n", "the first row has no c"),
        (",a,b\na,0\n", "the row has 2 cells"),
    ],
)
def test_what_is_no_table_is_refused(text: str, message: str, tmp_path: Path) -> None:
    """A wrong table is refused with its line and what would do; nothing in a cell becomes a statement."""
    with pytest.raises(UsageError, match=message):
        links_of_table(table(tmp_path, text))


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints the statements, or writes them."""
    path = table(tmp_path, LIST + "a,b,1,\n")
    assert run(["import", "links", str(path)]) == 0
    assert capsys.readouterr().out == "# Links of wires.csv.\nlink a -> b (bandwidth = 1 GB/s)\n"
    assert run(["import", "links", str(path), "--unit", "GB", "-o", str(tmp_path / "x.mtpp")]) == 2
    assert "no unit of a bandwidth" in capsys.readouterr().err
