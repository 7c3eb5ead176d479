"""Formulations that only ever give a bound."""
