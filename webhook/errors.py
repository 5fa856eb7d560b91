"""The failures that are expected; anything else is a bug. Each message says where and what to do."""


class GangcheckError(Exception):
    """What a user can mend. `str(error)` is one line that says where and what to do."""


class BadConfig(GangcheckError):  # noqa: N818 - reads as what it is: a bad configuration
    """The configuration or the command line cannot be used (exit 2)."""


class Unreadable(GangcheckError):  # noqa: N818 - as BadConfig
    """A file or a document in it cannot be read (exit 4). `line` and `column` count from 1."""

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class BadReview(GangcheckError):  # noqa: N818 - as BadConfig
    """A body that is no AdmissionReview (HTTP 400): nothing is denied, the webhook's failurePolicy decides."""


def where(error: BaseException) -> str:
    """An exception's type and the place where it was raised. Not its text, which may hold what users wrote."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    place = f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else ""
    return f"{type(error).__name__}{place}"
