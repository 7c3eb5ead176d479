"""Codes E701 to E799, and W701 to W799: params, includes, imports, tables, scenarios and other files."""

from __future__ import annotations

from mtpp_dsl.text.codes.code import Code

__all__ = ["FILES"]

FILES: tuple[Code, ...] = (
    Code(
        "MTPP-E701",
        "A file cannot be read",
        "A file that the spec names is not there, or is not what it should be. Paths are relative to the file that "
        "names them; includes are also looked for in the folders of `-I` and of `MTPP_PATH`.",
        'include "nowhere.mtpp"',
        "Correct the path, or say where the file is with `-I DIR`.",
    ),
    Code(
        "MTPP-E702",
        "An included file is no spec",
        "The file does not begin with a statement of the language, so it is probably another file.",
        'include "data.json"',
        "Include a `.mtpp` file; graphs are read by `graph from`, tables by `param t: table from`.",
        files={"data.json": "{}"},
    ),
    Code(
        "MTPP-E703",
        "Files include each other",
        "A file includes itself, directly or by way of others.",
        'include "other.mtpp"',
        "Move what both need into a third file, and include it from both.",
        files={"other.mtpp": 'include "other.mtpp"\n'},
    ),
)
