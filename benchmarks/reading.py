"""Reading of specs, in seconds of processor time: 10,000 lines, 100,000 nodes and edges by loops and by blocks, pins.

    python benchmarks/reading.py

Each is read by a process of its own; the columns are the parser alone, the whole of ``load``, and the peak of memory.
"""

from __future__ import annotations

import random
import subprocess
import sys

REST = "device gpu[4] (memory = 16 GiB)\ninterconnect shared (bandwidth = 8 GiB/s)\nminimize bottleneck\n"
MEASURE = """
import resource, sys
from time import process_time
from mtpp_dsl.language.lowering.lower import load
from mtpp_dsl.language.syntax.parser import parse
from mtpp_dsl.core.text.source import Source
text = sys.stdin.read()
parse(Source("warm", ""))
began = process_time()
parse(Source("spec", text))
parsed = process_time()
load(text)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"{parsed - began:8.2f} s {process_time() - parsed:8.2f} s {peak:6.0f} MiB")
"""


def lines(number: int) -> str:
    """Return a spec of *number* lines: half of them nodes, half edges."""
    draw = random.Random(0)
    half = number // 2
    nodes = [f"  node n{i} (work = {draw.randint(1, 99)} ms, output = {draw.randint(1, 64)} MiB)" for i in range(half)]
    edges = [f"  edge n{draw.randrange(i)} -> n{i}" for i in range(1, half)]
    return "\n".join(["graph {", *nodes, *edges, "}", REST])


def loop(number: int) -> str:
    """Return a spec of a chain of *number* nodes."""
    return f"""graph {{
  node a[i in 0..{number - 1}] (work = (1 + mod(i, 7)) * 1 ms, output = 1 MiB)
  edge a[i] -> a[i + 1] for i in 0..{number - 2}
}}
{REST}"""


def blocks(number: int) -> str:
    """Return a spec of a chain of blocks of ten nodes each, *number* nodes in all."""
    return f"""block layer(i) {{
  node norm (work = 1 ms, output = 1 MiB)
  node head[h in 0..<8] (work = (1 + mod(i + h, 7)) * 1 ms, output = 1 MiB, memory = 2 * output)
  node out (work = 2 ms, output = 1 MiB)
  edge norm -> head -> out
  input in = norm
  output out_port = out
}}
graph {{
  use layer[i in 0..<{number // 10}]
  edge layer[i].out_port -> layer[i + 1].in for i in 0..<{number // 10 - 1}
}}
{REST}"""


def pins(number: int) -> str:
    """Return a spec with *number* constraints."""
    return loop(number) + "".join(f"constraint pin a[{i}] on gpu[{i % 4}]\n" for i in range(number))


def main() -> None:
    """Print a line per spec."""
    print(f"{'what':36} {'parse':>10} {'load':>10} {'peak':>10}")
    for what, text in (
        ("10,000 lines", lines(10_000)),
        ("a loop of 100,000 nodes and edges", loop(100_000)),
        ("100,000 nodes of blocks", blocks(100_000)),
        *((f"{number:,} pins", pins(number)) for number in (2_000, 4_000, 8_000)),
    ):
        done = subprocess.run([sys.executable, "-c", MEASURE], input=text, capture_output=True, text=True, check=True)
        print(f"{what:36} {done.stdout.rstrip()}", flush=True)


if __name__ == "__main__":
    main()
