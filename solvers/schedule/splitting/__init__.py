"""A graph split into modules along few channels, and a schedule put together from theirs (ghannane2023, 3.3)."""
