"""Change checkers, proofs, the evaluation of plans and scopes by one small fault each, and see whether a test fails."""
