"""Write the table of recent models in docs/models.md anew: ``python -m tests.tools.recent_models``.

Its numbers are those of the real modules of transformers, run on a CPU; tests hold imports and modules against them.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.exchange.importers.recent import HEAD, KINDS, measured, table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "models.md"

if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    rows = table({kind: measured(kind) for kind in KINDS})
    PAGE.write_text(re.sub(re.escape(HEAD) + r"\n(\|.*\n)*", lambda _: rows + "\n", text), encoding="utf-8")
