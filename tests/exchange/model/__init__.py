"""Tests of models as data."""
