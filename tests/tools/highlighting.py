"""Write the words and the TextMate grammar that highlighters use anew, from the grammar of the language.

python -m tests.tools.highlighting
"""

from __future__ import annotations

import json
from pathlib import Path

from mtpp_dsl.language.words.colours import textmate_grammar, vocabulary
from tests.tree import ROOT

FILES = ROOT / "mtpp_dsl" / "language" / "words"


def contents() -> dict[Path, str]:
    """Return the text of each generated file."""
    words = vocabulary()
    found = {"mtpp.tmLanguage.json": textmate_grammar(words), "words.json": words.words()}
    return {FILES / name: json.dumps(data, indent=1, ensure_ascii=False) + "\n" for name, data in found.items()}


if __name__ == "__main__":
    for path, text in contents().items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))
