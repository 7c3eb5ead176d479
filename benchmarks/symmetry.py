"""Breaking the symmetry of equal devices: what each way reaches in equal time, as Table 5.2 of ghannane2023.

Every run is a process of its own and starts from the same plan, which a search without symmetry finds first.

    python benchmarks/symmetry.py                                    examples/cases/gpt3.mtpp, a minute each
    python benchmarks/symmetry.py --seconds 600 --method batched --solver cp-sat --seed 1
    python benchmarks/symmetry.py --spec examples/cases/gpt3_node.mtpp --first 0     without a plan to start from
    python benchmarks/symmetry.py --method milp-split --first 0 -D shards=1
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

SPEC = Path(__file__).resolve().parents[1] / "examples" / "cases" / "gpt3.mtpp"
RULE = "constraint break symmetry"
WAYS = {
    "no symmetry": "",
    "all, by batches": f"{RULE} by batches",
    "all, by tasks": f"{RULE} by tasks",
    "all, by time": f"{RULE} by time",
    "between nodes, by time": f"{RULE} by time (scope = between)",
    "within nodes, by time": f"{RULE} by time (scope = within)",
}


def variant(spec: Path, rule: str, folder: Path) -> Path:
    """Copy *spec* and its neighbours, which it may include, with *rule* in the place of their own; return the copy."""
    for path in spec.parent.glob("*.mtpp"):
        lines = path.read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if not line.startswith(RULE)]
        (folder / path.name).write_text("\n".join([*kept, rule if path == spec else "", ""]), encoding="utf-8")
    return folder / spec.name


def solve(spec: Path, arguments: list[str], seconds: float) -> dict[str, object]:
    """Return the JSON answer of ``mtpp solve``, with how it ended where there is none."""
    command = [sys.executable, "-m", "mtpp_dsl", "solve", str(spec), "--json", "-", "-q", *arguments]
    done = subprocess.run([*command, "--time-limit", f"{seconds}s"], capture_output=True, text=True, check=False)
    if not done.stdout:
        return {"termination": (done.stderr.strip().splitlines() or ["?"])[-1]}
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def value(answer: dict[str, object], field: str) -> str:
    """Return the objective's value, or the bound's, for a table."""
    found = answer.get(field)
    number = found.get("value") if isinstance(found, dict) else None
    return "none" if number is None else f"{number:.5g}"


def main() -> None:
    """Run every way and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spec", type=Path, default=SPEC, help="its own 'constraint break symmetry' is replaced")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each run")
    parser.add_argument("--first", type=float, default=20.0, help="seconds of annealing for the plan to start from")
    parser.add_argument("--method", default="batched")
    parser.add_argument("--solver", default=None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-D", dest="params", action="append", default=[], help="name=value of the spec")
    options = parser.parse_args()
    common = ["--seed", str(options.seed)] + [word for param in options.params for word in ("-D", param)]
    asked = ["--method", options.method, *(["--solver", options.solver] if options.solver else []), *common]
    print("| way | throughput | bound | seconds |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        start = Path(folder, "start.json")
        if options.first:
            found = solve(variant(options.spec, "", Path(folder)), ["--method", "annealing", *common], options.first)
            if found.get("plan"):
                start.write_text(json.dumps(found), encoding="utf-8")
                asked += ["--start", str(start)]
            print(f"| the start | {value(found, 'objective')} | {value(found, 'bound')} | {options.first:g} |")
        for way, rule in WAYS.items():
            began = perf_counter()
            answer = solve(variant(options.spec, rule, Path(folder)), asked, options.seconds)
            took = perf_counter() - began
            print(f"| {way} | {value(answer, 'objective')} | {value(answer, 'bound')} | {took:.0f} |", flush=True)


if __name__ == "__main__":
    main()
