"""Everything built in, together."""
