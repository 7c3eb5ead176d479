"""The TextMate grammar, read by the code of VS Code, gives each piece the kind that Pygments gives it."""

import json

from mtpp_dsl.language.words.pygments_lexer import MtppLexer, _token
from tests.editor.setup.test_highlighting import SPECS
from tests.editor.setup.tools import node
from tests.tools.highlighting import FILES
from tests.tree import ROOT


def test_vs_code_and_pygments_agree():
    printed = node(ROOT / "tests/editor/setup/textmate.js", FILES / "mtpp.tmLanguage.json", *SPECS, packages=True)
    for path, lines in zip(SPECS, json.loads(printed), strict=True):
        text = path.read_text(encoding="utf-8")
        ours = {}
        for offset, kind, piece in MtppLexer().get_tokens_unprocessed(text):
            ours |= {offset + i: kind for i, character in enumerate(piece) if not character.isspace()}
        start, checked = 0, 0
        for line, pieces in zip(text.split("\n"), lines, strict=True):
            for begin, end, scope in pieces:
                for at in range(begin, min(end, len(line))):
                    if not line[at].isspace():
                        assert ours[start + at] == _token(scope), (path.name, line, line[begin:end], scope)
                        checked += 1
            start += len(line) + 1
        assert checked == len(ours)
