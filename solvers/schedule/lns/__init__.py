"""Makespans by large neighbourhoods: parts of a schedule made anew by CP-SAT."""
