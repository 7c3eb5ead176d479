"""Tests of what solves a problem several times."""
