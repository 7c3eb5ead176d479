"""Exact search for splits into few or small blocks: branching over blocks, with weights that bound what is left."""
