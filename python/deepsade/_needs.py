"""The name of an optional package enters; the package leaves, or an error that says what to install; and what its own errors say, in short."""

from importlib import import_module

#: So many characters of another package's words are told.
_LONGEST = 200


def needed(module, extra, what):
    """A module of an optional package."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise ModuleNotFoundError(f"{what} need {package}: pip install {package}, or 'deepsade[{extra}]'", name=package) from None


def shortened(error):
    """What an error says, or the one that caused it, in one short line: converters repeat whole models in theirs."""
    words = " ".join(str(error.__cause__ or error).split())
    half = _LONGEST // 2
    return (words if len(words) <= _LONGEST else f"{words[:half]} ... {words[-half:]}").rstrip(".") or type(error).__name__
