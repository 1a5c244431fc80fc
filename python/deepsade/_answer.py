"""Fields and words enter; a dict that prints as its words leaves."""


class Answer(dict):
    """The fields of the command's ``--json``; printed, its words."""

    def __init__(self, words, fields):
        super().__init__(fields)
        self._words = words

    def __str__(self):
        return self._words
