"""Write the tables of the grammar anew, so that no call has to read the grammar.

python -m tests.tools.grammar_tables
"""

from __future__ import annotations

import json

from lark import Lark

from mtpp_dsl.language.syntax.grammar_data import FILE, PACKAGE, STARTS, of_lark
from tests.tree import ROOT

PLACE = ROOT / "grammars" / FILE


def contents() -> str:
    """Return the text of the file: a line for each item of each list."""
    lark = Lark.open_from_package(PACKAGE, "mtpp.lark", parser="lalr", start=list(STARTS), maybe_placeholders=True)
    data = of_lark(lark)._asdict()
    symbols = sorted({name for row in data["actions"] for name in row})
    data["symbols"] = symbols
    number = {name: i for i, name in enumerate(symbols)}
    data["actions"] = [[value for name, to in row.items() for value in (number[name], to)] for row in data["actions"]]
    fields = []
    for name, value in data.items():
        if name in ("terminals", "rules", "actions", "lexers"):
            rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in value)
            fields.append(f'"{name}": [\n{rows}\n]')
        else:
            fields.append(f'"{name}": {json.dumps(value)}')
    return "{\n" + ",\n".join(fields) + "\n}\n"


if __name__ == "__main__":
    PLACE.write_text(contents(), encoding="utf-8")
    print(PLACE.relative_to(ROOT))
