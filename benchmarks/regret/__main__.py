"""Record how far ``auto`` is behind the best of its parts, and write the page about it."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.regret import figures, page, recording, sample
from mtpp_dsl.solving.finding import method_names
from mtpp_dsl.sweeps.library.collection import Library, find_library
from mtpp_dsl.sweeps.store.store import Store

HERE = Path(__file__).parent
STEPS = {
    "draw": "draw the sample anew",
    "methods": "run every single method",
    "auto": "run auto",
    "take": "write the figures of a database into results/, beside those of other runs",
    "page": "write docs/regret.md",
}


def main() -> None:
    """Do what the command line asks for."""
    parser = _parser()
    asked = parser.parse_args()
    if asked.only and asked.what != "methods":
        parser.error(f"--only chooses among single methods; {asked.what} has none")
    if asked.what == "page":
        page.OUTPUT.write_text(page.text(), encoding="utf-8")
        return
    library = Library.open(find_library("mtpplib"))
    for path in library.left_out:
        print(f"left out: the problems of {path.name}, as the published files are not here (set MTPP_DATA)")
    if asked.what == "draw":
        sample.write(sample.draw(library.records.read().values()))
        return
    drawn = [one for one in sample.read()[asked.skip : asked.count] if one.name in library.runs]
    name = page.METHODS if asked.what == "methods" else asked.label
    with Store.open(asked.db / f"{name}.sqlite") as store:
        if asked.what == "take":
            figures.write(store.rows(), [one.name for one in drawn], figures.FOLDER / f"{name}.csv")
        elif asked.what == "methods":
            names = asked.only or sorted(set(method_names()) - set(recording.LEFT_OUT))
            recording.of_methods(library, store, drawn, names)
        else:
            recording.of_auto(
                library, store, drawn, limits=asked.limits, cold=asked.cold, busy=asked.busy, threads=asked.threads
            )


def _parser() -> argparse.ArgumentParser:
    steps = "\n".join(f"  {name:10} {what}" for name, what in STEPS.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.regret",
        description=f"{__doc__}\n\nwhat to do:\n{steps}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=STEPS)
    parser.add_argument("--count", type=int, default=sample.COUNT, metavar="N", help="only the first N problems")
    parser.add_argument("--skip", type=int, default=0, metavar="N", help="leave out the first N of these")
    parser.add_argument("--only", nargs="+", metavar="METHOD", help="run these methods alone")
    parser.add_argument("--db", type=Path, default=HERE, metavar="FOLDER", help="where the databases are (here)")
    parser.add_argument("--label", default=page.NOW, help="name of the database of auto, such as a revision (auto)")
    parser.add_argument("--limits", type=float, nargs="+", default=recording.LIMITS, help="of auto, in s (1 5 20)")
    parser.add_argument("--cold", action="store_true", help="begin each run of auto without compiled code")
    parser.add_argument("--busy", type=int, default=0, metavar="N", help="keep N more processes busy meanwhile")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="of each run of auto (1)")
    return parser


if __name__ == "__main__":
    main()
