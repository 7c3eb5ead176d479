"""Pictures of answers for papers, by matplotlib: loads, memory, charts of time, graphs, gaps over time, fronts.

Readable in grey, with fonts embedded, and the same file each time. Pictures import problems, plans, reports and the
layout of pages; what needs matplotlib is imported when something is drawn.
"""
