"""mtpp."""
