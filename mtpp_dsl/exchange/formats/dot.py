"""DOT, the language of GraphViz: graphs with their weights as attributes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mtpp_dsl.core.base.files import read_text
from mtpp_dsl.core.base.writing import write_text
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.formats.csv_pair import number_text
from mtpp_dsl.exchange.formats.dot_reader import read_dot
from mtpp_dsl.exchange.formats.rows import NODE_FIELDS, TIME_ON, GraphRows, graph_of, remedy, rows_of, unsaid
from mtpp_dsl.exchange.formats.workload import Workload

__all__ = ["DotFile"]

COLOR = "color_class"
"""The attribute of a colour class; ``color`` is what GraphViz draws."""

_SHOWN = 5


class DotFile:
    """DOT files: ``digraph { a [work="2 ms", output="1 MiB"]; a -> b [size="3 kB"] }``.

    Nodes have the fields of CSV files as attributes, and edges ``size``; numbers carry units, or none do. A colour
    class is ``color_class``. Other attributes are for drawing, and are left out; those that GraphViz does not know
    either are named in a warning. Clusters group nodes in pictures only, and ports are left out.
    """

    name = "dot"
    suffixes = (".dot", ".gv")

    def read(self, path: Path) -> Workload:
        """Return the graph in *path*.

        Raises:
            UsageError: it is missing or broken, or says what no graph has; names the file and the line.
        """
        found = read_dot(read_text(path), f"{path}")
        rows = GraphRows(names=list(found.nodes))
        index = {name: v for v, name in enumerate(rows.names)}
        unknown: dict[str, None] = {}
        for given in found.nodes.values():
            rows.nodes.append(_known(given, unknown))
        for tail, head, given in found.edges:
            rows.edges.append((index[tail], index[head]))
            rows.sizes.append(given.get("size"))
            unknown |= {what: None for what in given if what != "size" and what not in DRAWING}
        warnings: tuple[str, ...] = ()
        if unknown:
            more = ", …" if len(unknown) > _SHOWN else ""
            warnings = (f"{path}: attributes that mean nothing to mtpp: {', '.join([*unknown][:_SHOWN])}{more}",)
        return Workload(graph_of(f"{path}", rows), warnings=warnings)

    def write(self, workload: Workload, path: Path) -> tuple[Path, ...]:
        """Write the graph, and return the path.

        Raises:
            UsageError: the graph has what DOT cannot say.
        """
        reason = unsaid(workload.graph)
        if reason is not None:
            raise UsageError(f"DOT cannot say {reason}; write JSON{remedy(reason)}")
        rows = rows_of(workload.graph)
        rows.nodes[0] |= _zeros(rows)
        lines = [f"  {_quoted(name)}{_listed(row, rows)};" for name, row in zip(rows.names, rows.nodes, strict=True)]
        for (u, v), size in zip(rows.edges, rows.sizes, strict=True):
            given = {} if size is None else {"size": size}
            lines.append(f"  {_quoted(rows.names[u])} -> {_quoted(rows.names[v])}{_listed(given, rows)};")
        write_text(path, "digraph {\n" + "\n".join(lines) + "\n}\n")
        return (path,)


def _zeros(rows: GraphRows) -> dict[str, float]:
    """Return zeros that say the units of columns in which no other number does."""
    columns = ["work", "output"] + ["memory"] * (rows.units["memory"] != rows.units["size"])
    return {what: 0.0 for what in columns if rows.unit_of(what) and not any(what in row for row in rows.nodes)}


def _known(given: dict[str, str], unknown: dict[str, None]) -> dict[str, Any]:
    """Return the attributes of a node that weigh something; put others that nobody draws into *unknown*."""
    row: dict[str, Any] = {}
    for what, value in given.items():
        if what == COLOR:
            row["color"] = value
        elif (what in NODE_FIELDS and what != "color") or what.startswith(TIME_ON):
            row[what] = value
        elif what not in DRAWING:
            unknown[what] = None
    return row


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _listed(row: dict[str, Any], rows: GraphRows) -> str:
    """Return attributes in brackets; "" for none."""
    parts = []
    for what, value in row.items():
        unit = rows.unit_of(what) if isinstance(value, float) and value != float("inf") else ""
        text = number_text(value) + (f" {unit}" if unit else "")
        parts.append(f"{_quoted(what) if ' ' in what else COLOR if what == 'color' else what}={_quoted(text)}")
    return f" [{', '.join(parts)}]" if parts else ""


_DRAWN = """
_background area arrowhead arrowsize arrowtail bb bgcolor center charset class cluster clusterrank color colorscheme
comment compound concentrate constraint damping decorate defaultdist dim dimen dir diredgeconstraints distortion dpi
edgehref edgetarget edgetooltip edgeurl epsilon esep fillcolor fixedsize fontcolor fontname fontnames fontpath
fontsize forcelabels gradientangle group head_lp headclip headhref headlabel headport headtarget headtooltip headurl
height href id image imagepath imagepos imagescale inputscale k label labelangle labeldistance labelfloat
labelfontcolor labelfontname labelfontsize labelhref labeljust labelloc labeltarget labeltooltip labelurl landscape
layer layerlistsep layers layerselect layersep layout len levels levelsgap lhead lheight linelength lp ltail lwidth
margin maxiter mclimit mindist minlen mode model newrank nodesep nojustify normalize notranslate nslimit nslimit1
oneblock ordering orientation outputorder overlap overlap_scaling overlap_shrink pack packmode pad page pagedir
pencolor penwidth peripheries pin pos quadtree quantum radius rank rankdir ranksep ratio rects regular remincross
repulsiveforce resolution root rotate rotation samehead sametail samplepoints scale searchsize sep shape shapefile
showboxes sides skew smoothing sortv splines start style stylesheet tail_lp tailclip tailhref taillabel tailport
tailtarget tailtooltip tailurl target tbbalance tooltip truecolor url vertices viewport voro_margin weight width
xdotversion xlabel xlp z URL headURL tailURL edgeURL labelURL K Damping
"""
DRAWING = frozenset(re.findall(r"\w+", _DRAWN))
"""The attributes of GraphViz, which are for drawing."""
