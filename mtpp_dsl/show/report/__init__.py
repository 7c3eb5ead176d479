"""Results as text, JSON, charts, pictures and traces.

Reports import problems, plans and what is below them.
"""
