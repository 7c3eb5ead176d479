"""Messages for malformed text.

``EXAMPLES`` pairs each message with snippets that must cause it: the parser matches the state it
fails in against theirs, and the tests loop over the same table.
"""

from __future__ import annotations

__all__ = ["EXAMPLES", "RULES", "STATEMENTS", "TERMINALS"]

STATEMENTS = (
    "mtpp",
    "param",
    "let",
    "include",
    "import",
    "graph",
    "device",
    "interconnect",
    "link",
    "time",
    "times",
    "minimize",
    "maximize",
    "constraint",
)
"""Words that begin a statement."""

RULES = (
    "acyclic",
    "contiguous",
    "memory",
    "colocate",
    "separate",
    "pin",
    "forbid",
    "subgraphs",
    "exclusive",
    "batch",
    "replicate",
    "break",
)
"""First words of the constraints that have a name of their own."""

EXAMPLES: dict[str, list[str]] = {
    "an option is written 'name = value'": [
        "device d (memory 3)",
        "device d (memory : 3)",
        "device d (memory)",
        "device d (memory, speed = 2)",
    ],
    "an option needs a value after '='": [
        "device d (memory = )",
        "device d (memory = , speed = 2)",
    ],
    "options are separated by commas": [
        "device d (memory = 3 speed = 2)",
        "device d (memory = a speed = 2)",
    ],
    "an option is set with '=', not '=='": ["device d (memory == 3)"],
    "'(' is not closed": [
        "device d (memory = 3",
        "device d (",
        "device d (memory = (3 + 4",
        "constraint c: sum(on(a, b)",
    ],
    "'[' is not closed": ["device d[3", "let a = [1, 2", "let a = b[1", "graph { edge a[1 -> b }"],
    "'{' is not closed": ["let a = { v in nodes", "let a = { 1, 2", "graph { node a"],
    "an edge is written 'edge a -> b'": ["graph { edge a }", "graph { edge a b }", "graph { edge a - b }"],
    "an edge needs a node after '->'": ["graph { edge a -> }"],
    "an edge points one way: write 'edge a -> b'": ["graph { edge a <-> b }"],
    "a link is written 'link a <-> b' or 'link a -> b'": ["link a", "link a b", "link a (latency = 3)"],
    "only 'node' and 'edge' stand in a graph": ["graph { a -> b }", "graph { foo }", "graph { (work = 1) }"],
    "a graph is written 'graph { … }', 'graph from \"file\"' or 'graph from generator name'": [
        "graph",
        "graph a",
        "graph (a = 1)",
    ],
    "a declaration needs a name": [
        "device",
        "device (memory = 3)",
        "device [3]",
        "param = 3",
        "let = 3",
        "graph { node }",
    ],
    "a constraint needs a rule or a label": ["constraint", "constraint : 1 <= 2"],
    "a labelled constraint needs an inequality after ':'": ["constraint c:", "constraint c: forall d in devices:"],
    "'forall' is written 'forall d in devices:'": [
        "constraint c: forall d: load(d) <= 3",
        "constraint c: forall",
    ],
    "'let' is written 'let name = value'": ["let a", "let a 3", "let a : 3"],
    "a 'let' needs a value after '='": ["let a ="],
    "'param' is written 'param name: type = value in domain'": ["param a 3", "param a :", "param a : =", "param a: 3"],
    "a param needs a value after '='": ["param a =", "param a: int ="],
    "'include' and 'import' need a path": ["include", "include a", "import", "import (format = msr)", "graph from"],
    "'on' needs a device after it": ["constraint pin a on", "constraint memory on"],
    "'pin' and 'forbid' are written 'pin a on d'": ["constraint pin a", "constraint forbid a", "constraint pin a, b"],
    "a constraint on nodes needs nodes": [
        "constraint pin",
        "constraint separate",
        "constraint colocate",
        "constraint pin on d",
    ],
    "'colocate by' needs an attribute, such as 'color'": ["constraint colocate by"],
    "'subgraphs' is written 'subgraphs at most 2 on d'": [
        "constraint subgraphs",
        "constraint subgraphs 2",
        "constraint subgraphs at 2",
    ],
    "'exclusive' is written 'exclusive links'": ["constraint exclusive", "constraint exclusive d"],
    "'batch' is written 'batch in [1, 2]'": ["constraint batch", "constraint batch [1, 2]"],
    "'replicate' is written 'replicate d up to 2'": ["constraint replicate d", "constraint replicate d up 2"],
    "'break symmetry' is written 'break symmetry by tasks'": ["constraint break", "constraint break symmetry"],
    "a comprehension is written 'for i in 0..3'": [
        "graph { edge a -> b for i }",
        "graph { edge a -> b for }",
        "constraint c: sum(a for v) <= 1",
        "graph { edge a -> b for i = 0..3 }",
    ],
    "a condition is missing after 'if'": ["graph { edge a -> b for i in c if }", "let a = { v in nodes if }"],
    "a value is missing after an operator": [
        "let a = 1 +",
        "let a = 1 *",
        "let a = -",
        "constraint c: a <=",
        "let a = 1..",
        "let a = b and",
        "let a = not",
    ],
    "compare with '==', '=' is for options and definitions": ["constraint c: a = b"],
    "there is no such statement; statements begin with a keyword": ["foo", "3", "nodes a", "]", "foo = 3"],
    "'time' is written 'time a on d at batch 4 = 5 ms'": [
        "time",
        "time on d at batch 4 = 5 ms",
        "time a",
        "time a at batch 4 = 5 ms",
        "time a on d",
        "time a on d = 5 ms",
        "time a on d at 4 = 5 ms",
        "time a on d batch 4 = 5 ms",
        "time a on d at batch = 5 ms",
        "time a on d at batch 4",
        "time a on d at batch 4 5 ms",
        "time a on d at batch 4 =",
    ],
    "'times' is written 'times from \"profile.csv\"'": ["times", 'times "profile.csv"', "times from", "times a on d"],
    "an objective is written 'minimize bottleneck'": ["minimize", "minimize 3", "maximize (batch = 3)"],
    "an interconnect is written 'interconnect shared (bandwidth = …)'": [
        "interconnect",
        "interconnect (bandwidth = 3)",
    ],
    "the version is written 'mtpp 1'": ["mtpp", "mtpp one"],
}

TERMINALS = {
    "NAME": "a name",
    "OWNER": "a name",
    "STRING": "a string",
    "NUMBER": "a number",
    "UNIT": "a unit",
    "COMPARISON": "a comparison",
    "PLUS": "'+'",
    "MINUS": "'-'",
    "STAR": "'*' or '/'",
    "ARROW": "'->'",
    "BOTHWAYS": "'<->'",
    "LPAR": "'('",
    "RPAR": "')'",
    "LSQB": "'['",
    "RSQB": "']'",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "COMMA": "','",
    "COLON": "':'",
    "EQUAL": "'='",
    "$END": "the end of the statement",
    "__ANON_0": "'..'",
}
"""What notes call a terminal; keywords not listed are called by their word."""
