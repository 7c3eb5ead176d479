"""The conformance set of the language: specs with their meanings, recorded, compared and counted."""
