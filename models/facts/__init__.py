"""What is true of every plan that costs no more than a known one: data for stronger models, from no model."""
