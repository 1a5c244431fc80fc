"""The name of an optional package enters; the package leaves, or an error that says what to install."""

from importlib import import_module


def needed(module, extra, what):
    """A module of an optional package."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise ModuleNotFoundError(f"{what} need {package}: pip install {package}, or 'deepsade[{extra}]'", name=package) from None
