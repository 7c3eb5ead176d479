"""Tables as text: for a terminal, as Markdown, as LaTeX (booktabs) and as CSV."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Sequence

from rich.cells import cell_len
from rich.text import Text

from mtpp_dsl.core.text.visible import visible
from mtpp_dsl.show.report.columns import wrapped
from mtpp_dsl.sweeps.tables.tables import Table, TableCell

_GAP = 2
_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "[": "{[}",
    "]": "{]}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "−": r"$-$",
    "×": r"$\times$",
    "±": r"$\pm$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "…": r"\ldots{}",
    "µ": r"\textmu{}",
    "μ": r"\textmu{}",
    "\u00a0": "~",
}
_MARKDOWN = re.compile(r"(^>|[\\`*_\[\]<|])")


def table_lines(table: Table, width: int | None = 80) -> list[Text]:
    """Return the lines of a table for a terminal.

    Columns that do not fit beside each other come below, in further blocks that repeat the names of the rows. A name
    longer than the terminal is left to it.

    Args:
        table: what is shown.
        width: of the terminal; None for any.
    """
    cells = [[TableCell(name) for name in table.head], *table.rows]
    widths = [max(cell_len(visible(row[c].text)) for row in cells) for c in range(len(table.head))]
    lines = [*wrapped(Text(visible(table.title), "bold"), width), Text("")] if table.title else []
    for number, block in enumerate(_blocks(widths, width)):
        if number:
            lines.append(Text(""))
        lines += [_line(row, [0, *block], widths, head=not r) for r, row in enumerate(cells)]
    lines.append(Text(""))
    for note in table.notes:
        lines += wrapped(Text(visible(note), "dim"), width, hanging=_GAP)
    return lines


def _blocks(widths: Sequence[int], width: int | None) -> list[list[int]]:
    """Return the columns that stand side by side, block by block."""
    blocks: list[list[int]] = [[]]
    used = widths[0]
    for c in range(1, len(widths)):
        if width is not None and blocks[-1] and used + _GAP + widths[c] > width:
            blocks.append([])
            used = widths[0]
        blocks[-1].append(c)
        used += _GAP + widths[c]
    return blocks


def _line(row: Sequence[TableCell], columns: Sequence[int], widths: Sequence[int], *, head: bool) -> Text:
    line = Text(no_wrap=True)
    for c in columns:
        text = visible(row[c].text)
        style = "bold" if head or row[c].best else ""
        room = " " * (widths[c] - cell_len(text))
        line.append(f"{' ' * _GAP if c else ''}{'' if c == 0 else room}")
        line.append(text, style)
        line.append(room if c == 0 else "")
    line.rstrip()
    return line


def markdown_escaped(text: str) -> str:
    r"""Return text that Markdown shows as it is, in one line; what stands between backticks stays code.

    >>> markdown_escaped("a|b_c"), markdown_escaped("`auto`, 60 s")
    ('a\\|b\\_c', '`auto`, 60 s')
    """
    text = " ".join(visible(text).split())
    if text.count("`") % 2 == 0:
        return "`".join(
            part.replace("|", r"\|") if number % 2 else _MARKDOWN.sub(r"\\\1", part)
            for number, part in enumerate(text.split("`"))
        )
    return _MARKDOWN.sub(r"\\\1", text)


def to_markdown(table: Table) -> str:
    """Return a table as Markdown, with the notes below it."""
    rows = [[markdown_escaped(name) for name in table.head], ["---"] * len(table.head)]
    rows += [
        [f"**{markdown_escaped(cell.text)}**" if cell.best else markdown_escaped(cell.text) for cell in row]
        for row in table.rows
    ]
    parts = [f"### {markdown_escaped(table.title)}\n\n"] if table.title else []
    parts += [f"| {' | '.join(row)} |\n" for row in rows]
    parts += ["\n", *(f"* {markdown_escaped(note)}\n" for note in table.notes)] if table.notes else []
    return "".join(parts)


def latex_escaped(text: str) -> str:
    r"""Return text that LaTeX typesets as it is, with the packages that :func:`to_latex` names.

    Characters beyond Latin-1, or unseen, that have no command here are written by their number, such as U+4E2D.

    >>> latex_escaped("a_b & 5 %")
    'a\\_b \\& 5 \\%'
    """
    text = " ".join(visible(text).split())
    known = (
        _LATEX.get(char) or (char if ord(char) < 0x100 and char.isprintable() else f"U+{ord(char):04X}")
        for char in text
    )
    return re.sub("-(?=-)", "-{}", "".join(known))


def to_latex(table: Table) -> str:
    """Return a table as LaTeX: a ``table`` with rules of booktabs, and the notes below it."""
    lines = [
        r"% needs \usepackage[T1]{fontenc}, \usepackage{textcomp} and \usepackage{booktabs}",
        r"\begin{table}",
        r"  \centering",
    ]
    if table.title:
        lines.append(rf"  \caption{{{latex_escaped(table.title)}}}")
    lines += [
        rf"  \begin{{tabular}}{{l{'r' * (len(table.head) - 1)}}}",
        r"    \toprule",
        rf"    {_latex_row([latex_escaped(name) for name in table.head])}",
        r"    \midrule",
    ]
    for row in table.rows:
        texts = [rf"\textbf{{{latex_escaped(cell.text)}}}" if cell.best else latex_escaped(cell.text) for cell in row]
        lines.append(f"    {_latex_row(texts)}")
    lines += [r"    \bottomrule", r"  \end{tabular}"]
    if table.notes:
        notes = " ".join(latex_escaped(note) for note in table.notes)
        lines += ["", r"  \smallskip", rf"  \parbox{{\linewidth}}{{\footnotesize {notes}}}"]
    return "\n".join([*lines, r"\end{table}", ""])


def _latex_row(texts: Sequence[str]) -> str:
    return rf"{' & '.join(texts)} \\"


def to_csv(table: Table) -> str:
    """Return a table as CSV: figures in base units with all digits, spread and counts in columns of their own.

    A cell without a figure is empty in its column, and its reason stands in the column ``… reasons``.
    """
    spread = [column.spread for column in table.columns]
    head = [table.head[0] or "name"]
    for name, wide in zip(table.head[1:], spread, strict=True):
        head += [name, *([f"{name} least", f"{name} largest"] if wide else [])]
        head += [f"{name} figures", f"{name} runs", f"{name} reasons"]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    for row in table.rows:
        cells = [row[0].text]
        for cell, wide in zip(row[1:], spread, strict=True):
            cells += _csv_cells(cell, wide)
        writer.writerow(cells)
    return out.getvalue()


def _csv_cells(cell: TableCell, wide: bool) -> list[str]:
    figure = cell.figure
    if figure is None:
        return [cell.text] + [""] * (5 if wide else 3)
    values = [figure.value, *((figure.low, figure.high) if wide else ())]
    reasons = ", ".join(f"{reason} {count}" for reason, count in figure.reasons)
    numbers = ["" if math.isnan(value) else repr(float(value)) for value in values]
    return [*numbers, str(figure.counted), str(figure.runs), reasons]


FORMATS: dict[str, Callable[[Table], str]] = {"csv": to_csv, "latex": to_latex, "markdown": to_markdown}
"""The forms that files have; a terminal has lines."""
