"""SliceGraph: topological orders are sliced, and nodes moved across the borders (archer2024, section 4).

It imports reductions, algorithms and the runtime, and no other family.
"""
