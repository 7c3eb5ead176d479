"""Steps that make a problem smaller and can map a plan back."""
