"""Tests of libraries of problems."""
