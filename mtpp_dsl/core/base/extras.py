"""Packages that only some commands need, imported when one of those runs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from mtpp_dsl.core.errors import UsageError

__all__ = ["need"]


def need(module: str, extra: str) -> Any:
    """Import *module*, which the extra *extra* of mtpp-dsl installs, and return it.

    >>> need("json", "torch").__name__
    'json'

    Args:
        module: what to import, such as ``torch`` or ``torch.export``.
        extra: the extra whose installation brings it, as in ``pip install 'mtpp-dsl[extra]'``.

    Raises:
        UsageError: the package is absent, or is there and fails when it is imported.
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name == package:
            raise UsageError(f"this needs {package}: pip install 'mtpp-dsl[{extra}]'") from error
        raise UsageError(_broken(module, error, extra)) from error
    except Exception as error:  # a package built for another machine fails in ways of its own
        raise UsageError(_broken(module, error, extra)) from error


def _broken(module: str, error: Exception, extra: str) -> str:
    """Return that *module* is there but cannot be imported, with the first line of the reason."""
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    return f"{module} cannot be imported ({reason}); install it anew: pip install 'mtpp-dsl[{extra}]'"
