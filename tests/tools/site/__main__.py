"""Build the site into build/site, without a network."""

from __future__ import annotations

import sys

from tests.tools.site.build import SITE, Faulty, build
from tests.tools.site.pages import ROOT

if __name__ == "__main__":
    try:
        build(SITE)
    except Faulty as error:
        sys.exit(str(error))
    print(f"open {SITE.relative_to(ROOT)}/index.html")
