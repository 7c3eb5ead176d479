"""Build the site into build/site, without a network."""

from __future__ import annotations

import os
import sys

from tests.tools.site.build import SITE, build

if __name__ == "__main__":
    os.environ.setdefault("NO_MKDOCS_2_WARNING", "1")
    build(SITE)
    print(f"open {SITE.relative_to(SITE.parents[1])}/index.html")
    sys.exit()
