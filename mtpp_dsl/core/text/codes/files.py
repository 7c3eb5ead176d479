"""Codes E701 to E799 and W701 to W799: params, includes, scenarios and other files; from E901 on: limits of size."""

from __future__ import annotations

from mtpp_dsl.core.text.codes.code import Code

FILES: tuple[Code, ...] = (
    Code(
        "MTPP-E701",
        "A file cannot be read",
        "A file that the spec names does not exist, or has other contents than expected. Paths are relative to the "
        "file that names them; mtpp also looks for includes in the folders of `-I` and of `MTPP_PATH`.",
        'include "nowhere.mtpp"',
        "Correct the path, or say where the file is with `-I DIR`.",
    ),
    Code(
        "MTPP-E702",
        "An included file is not a spec",
        "The file does not begin with a statement of the language, so it is probably another file.",
        'include "data.json"',
        "Include a `.mtpp` file; graphs are read by `graph from`, tables by `param t: table from`.",
        files={"data.json": "{}"},
    ),
    Code(
        "MTPP-E703",
        "Files include each other",
        "A file includes itself, directly or through others.",
        'include "other.mtpp"',
        "Move what both need into a third file, and include it from both.",
        files={"other.mtpp": 'include "other.mtpp"\n'},
    ),
    Code(
        "MTPP-E704",
        "A param has no value",
        "It has no default, and none was given.",
        "param k: int",
        "Give it with -D k=4, or write a default: param k: int = 4.",
    ),
    Code(
        "MTPP-E705",
        "A param has a value of another type",
        "The type stands behind the colon of the param.",
        "param k: int = 1.5",
        "Write a value of the type, or change the type.",
    ),
    Code(
        "MTPP-E706",
        "A param is outside of its domain",
        "The domain behind 'in' lists the values that the param may have.",
        "param k: int = 9 in 1..4",
        "Choose one of the values of the domain, or widen it.",
    ),
    Code(
        "MTPP-E707",
        "There is no such param",
        "A value was given from outside, with -D or from Python, to a param that the spec does not have.",
        "param k: int = 2\ndevice tpu[k]",
        "Use the name of a param of the spec.",
        given={"l": "4"},
    ),
    Code(
        "MTPP-E709",
        "A file of data is malformed",
        "A line of a table, or of a file of times, does not fit its first line. The message names the line.",
        'times from "times.csv"',
        "Correct the file: docs/language.md says what the columns are.",
        files={"times.csv": "node,device,batch,time\nstart,gpu[0],1\n"},
    ),
    Code(
        "MTPP-E710",
        "There is no such scenario",
        "A scenario was chosen, with --scenario or from Python, that the spec does not have.",
        "param k: int = 2\nscenario night { param k = 4 }",
        "Use the name of a scenario of the spec; the message lists them.",
        scenario="nigth",
    ),
    Code(
        "MTPP-E711",
        "An assertion does not hold",
        "The condition of an assert statement is false with the values that the params have now.",
        'param k: int = 9\nassert k <= 8, "the rack has 8 places"',
        "Change the values as the message says, or the assertion.",
    ),
    Code(
        "MTPP-E712",
        "A param is defined by itself",
        "The default or the domain of a param needs its own value, directly or through other params and lets.",
        "param k: int = half\nlet half = k / 2",
        "Give one of them a value that needs none of the others.",
    ),
    Code(
        "MTPP-E713",
        "A statement that counts once is repeated",
        "A graph, an import, an include and an interconnect are given once, so a loop cannot repeat them.",
        "interconnect shared (bandwidth = 8 GiB/s) for i in 0..3",
        "Write if and a condition, or nothing.",
    ),
    Code(
        "MTPP-E714",
        "An earlier plan cannot be used",
        "The file of import plan does not exist, has no plan, or has the plan of other nodes.",
        'import plan "old.json"',
        "Give an answer that mtpp solve --json wrote for this graph, or an object {node: device}.",
        files={"old.json": '{"assignment": {"other": "gpu[0]"}}\n'},
    ),
    Code(
        "MTPP-E715",
        "A profile is of another model",
        "The profile has no times of the operators of the graph, or was made with other sizes.",
        'times from "profile.json"',
        "Measure the model of this graph, at its sizes: mtpp profile.",
        files={
            "profile.json": '{"format": "mtpp-profile", "version": 1, "device": "accelerator", '
            '"operators": {"other": "x"}, "signatures": {"x": {"op": "matmul", "median": 0.001}}}\n'
        },
    ),
    Code(
        "MTPP-W701",
        "An earlier plan is of another problem",
        "It has other nodes or other devices than the spec. The message says what moved(v) is then.",
        'import plan "old.json"',
        "Nothing, if the model or the machines have changed since then.",
        files={"old.json": '{"start": "gpu[0]", "other": "gpu[0]"}\n'},
    ),
)


LIMITS: tuple[Code, ...] = (
    Code(
        "MTPP-E901",
        "A limit of size is exceeded",
        "Reading a spec always ends, and stays within memory: characters, words, brackets in brackets, nodes, edges, "
        "devices and steps of loops have limits, far above what a sensible spec needs. The message says which.",
        "device gpu[1_000_000]",
        "Look for a loop or a size that is larger than meant; read a large graph from a file.",
    ),
)
