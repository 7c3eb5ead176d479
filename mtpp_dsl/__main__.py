"""``python -m mtpp_dsl`` is ``mtpp``."""

from mtpp_dsl.cli.main import main

main()
