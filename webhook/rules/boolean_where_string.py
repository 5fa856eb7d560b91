from __future__ import annotations

from collections.abc import Iterator

from webhook.model import WrongScalar
from webhook.rule import Edit, Finding, Severity, rule
from webhook.stack import Stack

_SHORT = 2
"""Steps of a path that are shown; an index is shown with its list."""


@rule(WrongScalar, Severity.ERROR, evidence="seen")
def boolean_where_string(wrong: WrongScalar, stack: Stack) -> Iterator[Finding]:
    """YAML makes a boolean or a number of an unquoted value where Kubernetes wants text.

    Without quotes `on`, `yes`, `true`, `20260901` and `1e3` are no text to YAML 1.1, which Kubernetes' clients read.
    The object is refused as a whole: `json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of
    type string`, whatever the client's --validate says (seen with 1.35.4; label values, annotations, names, env values
    and arguments alike). Unquoted `null`, `~` and nothing at all are accepted as empty text (seen): a label with such
    a value names no gang.
    """
    yield Finding(
        wrong.place,
        f"{wrong.place.ref}: {_field(wrong)} is {_kind(wrong.value)} to YAML, written {wrong.written}; Kubernetes "
        "wants text there and refuses the object",
        fix=f'put it in quotes: "{wrong.written}"',
        edits=(Edit("replace", wrong.place, wrong.written),),
    )


def _field(wrong: WrongScalar) -> str:
    """The end of the path, as people write it: `labels.app`, `labels[a.b/c]`, `env[0].value`."""
    path = wrong.place.path
    is_index = len(path) > _SHORT and isinstance(path[-_SHORT], int)
    end = path[-_SHORT - 1 :] if is_index else path[-_SHORT:]
    return "".join(f"[{step}]" if isinstance(step, int) or "." in step else f".{step}" for step in end).removeprefix(
        "."
    )


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    return "a number"
