"""Somebody else's plug-ins."""
