"""Makespans by parts: cut nodes, the modules between them, chains of anchors, and plans made of both.

It imports modules, list schedules, CP-SAT, algorithms and the runtime.
"""
