"""Tests of explanations and of differences between answers."""
