"""Method ``auto``: every built-in method that fits, in turns and side by side.

It imports methods, and through them every other room.
"""
