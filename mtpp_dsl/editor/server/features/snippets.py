"""Make what an editor writes for the word that begins a statement or an item, with places to fill in."""

from __future__ import annotations

from collections.abc import Mapping

from mtpp_dsl.core.problem.objective import OBJECTIVES, Objective
from mtpp_dsl.language.lowering.lower_devices import INTERCONNECTS
from mtpp_dsl.language.words.vocabulary import PARAM_TYPES

_MINIMIZED = ",".join(name for name in OBJECTIVES if Objective(name).sense == "minimize")

STATEMENTS: Mapping[str, str] = {
    "mtpp": "mtpp 1",
    "param": f"param ${{1:name}}: ${{2|{','.join(PARAM_TYPES)}|}} = ${{3:1}}",
    "let": "let ${1:name} = ${2:1}",
    "def": "def ${1:name}(${2:x}) = ${3:x}",
    "assert": 'assert ${1:true}, "${2:message}"',
    "include": 'include "$1"',
    "import": 'import "$1"',
    "graph": "graph {\n  $0\n}",
    "block": "block ${1:name}(${2:i}) {\n  $0\n}",
    "type": "type ${1:name} ($2)",
    "device": "device ${1:name} ($2)",
    "switch": "switch ${1:name} ($2)",
    "interconnect": f"interconnect ${{1|{','.join(INTERCONNECTS)}|}} ($2)",
    "link": "link ${1:a} <-> ${2:b} ($3)",
    "phase": "phase ${1:name}",
    "time": "time ${1:node} on ${2:device} = ${3:1 ms}",
    "times": 'times from "$1"',
    "minimize": f"minimize ${{1|{_MINIMIZED}|}}",
    "maximize": "maximize throughput",
    "constraint": "constraint ${1:acyclic}",
    "target": "target ${1:name}",
    "scenario": "scenario ${1:name} {\n  $0\n}",
}
"""By the word that begins the statement."""

ITEMS: Mapping[str, str] = {
    "node": "node ${1:name} (${2:work = 1 ms})",
    "edge": "edge ${1:a} -> ${2:b}",
    "use": "use ${1:block}",
    "input": "input ${1:x} = ${2:node}",
    "output": "output ${1:y} = ${2:node}",
    "assert": STATEMENTS["assert"],
}
"""By the word that begins the item of a graph or a block."""

RULES: Mapping[str, str] = {
    "pin": "pin ${1:node} on ${2:device}",
    "forbid": "forbid ${1:node} on ${2:device}",
    "subgraphs": "subgraphs at most ${1:2}",
    "cache": "cache uniform (block = ${1:16})",
    "exclusive": "exclusive links",
    "batch": "batch in [${1:1, 2, 4}]",
    "repeat": "repeat up to ${1:2}",
    "replicate": "replicate ${1:device} up to ${2:2}",
    "shard": "shard ${1:device} by [${2:1, 2}]",
    "copies": "copies up to ${1:2}",
    "robust": "robust up to ${1:2}",
    "break": "break symmetry by ${1|tasks,batches,time|}",
}
"""By the rule of a constraint, where more must follow."""
