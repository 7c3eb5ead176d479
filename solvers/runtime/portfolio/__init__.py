"""Methods side by side in processes of their own, which tell one another of plans and bounds.

It imports the runtime.
"""
