"""The documentation as a site: ``python -m tests.tools.site`` builds it into build/site, as ``make site`` does."""
