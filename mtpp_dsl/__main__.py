"""``python -m mtpp_dsl`` is ``mtpp``."""

from mtpp_dsl.cli import main

main()
