"""Words that several reports share: counts, paths, the closing line."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.model import Path
from webhook.result import NotRead, Result, Skipped
from webhook.roster import plural


def dotted(path: Path) -> str:
    """A path as people write it: `spec.containers[0].image`, `metadata.labels["a.b/c"]`. Empty for the object."""
    return "".join(_step(step) for step in path).removeprefix(".")


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if step.replace("-", "_").isidentifier():
        return f".{step}"
    return '["{}"]'.format(step.replace("\\", "\\\\").replace('"', '\\"'))


def closing(result: Result, *, with_info: bool) -> str:
    """The summary line. `with_info` tells whether the report shows info findings or only counts them."""
    parts = (_found(result, with_info=with_info), _left_out(result, with_info=with_info))
    return "; ".join(filter(None, parts))


def _found(result: Result, *, with_info: bool) -> str:
    summary = result.summary
    numbers = [(summary.error, "error"), (summary.warning, "warning")]
    if with_info:
        numbers.append((summary.info, "info finding"))
    found = ", ".join(plural(number, noun) for number, noun in numbers if number)
    if not found and not summary.files:
        return "no files were linted"
    if not found and not summary.documents:
        return f"no documents to lint in {plural(summary.files, 'file')}"
    return f"{found or _nothing(result)} in {plural(summary.files, 'file')} ({plural(summary.documents, 'document')})"


def _nothing(result: Result) -> str:
    """What is said where no error and no warning is."""
    if result.summary.info:
        return "no errors or warnings"
    return "no mistakes found" if result.judged else "nothing to judge"


def _left_out(result: Result, *, with_info: bool) -> str:
    hidden = 0 if with_info else result.summary.info
    parts = (
        f"{plural(hidden, 'info finding')} (--verbose shows them)" if hidden else "",
        *_each(result.skipped, "skipped"),
        *_each(result.unreadable, "not read"),
        f"{plural(len(result.failures), 'rule')} failed" if result.failures else "",
        f"{result.summary.suppressed} suppressed" if result.summary.suppressed else "",
    )
    return ", ".join(filter(None, parts))


def _each(entries: tuple[Skipped, ...] | tuple[NotRead, ...], what: str) -> Iterator[str]:
    """Files and documents apart: one template in a file of ten documents is no skipped file."""
    files = sum(1 for entry in entries if not entry.line)
    documents = len(entries) - files
    if files:
        yield f"{plural(files, 'file')} {what}"
    if documents:
        yield f"{plural(documents, 'document')} {what}"
