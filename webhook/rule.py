"""A rule is a frozen value made from one small pure function; a finding is what it says."""

import enum
from collections.abc import Callable, Iterable, Sequence
from types import UnionType
from typing import Literal, NamedTuple, TypeAlias, TypeVar, cast, get_args

from webhook.model import Place, Pod, Subject
from webhook.stack import Stack


class Severity(enum.IntEnum):
    """How bad. At admission an error denies and a warning warns; when linting an error exits 1."""

    INFO = 1
    WARNING = 2
    ERROR = 3

    def __str__(self) -> str:
        return self.name.lower()


Confidence: TypeAlias = Literal["high", "low"]
"""high: certain. low: a guess, from an image's name or from what an operator may do."""

Evidence: TypeAlias = Literal["seen", "read", "inferred"]
"""seen: happened on the real component. read: stands in its source. inferred: follows from either."""


class Related(NamedTuple):
    """A second place that explains a finding, with a short label: "the PodGroup is here"."""

    place: Place
    label: str


class Edit(NamedTuple):
    """One change that puts a finding right, as data: an operation of RFC 6902 at a place, in the place's object.

    `value` is what stands there afterwards (none for `remove`). A key is renamed by a `remove` and an `add`.
    """

    operation: Literal["add", "replace", "remove"]
    place: Place
    value: object = None


def labelled(pod: Pod, key: str, value: str) -> tuple[Edit, ...]:
    """The edit that gives a Pod, or a Pod template, a label; none where labels may come from elsewhere in its object
    too (Argo, Spark), since it is then not told whether the mapping is there. Its metadata must be."""
    place = pod.label(key, "value")
    if place.ref.group in {"argoproj.io", "sparkoperator.k8s.io"}:
        return ()
    if pod.labels:
        return (Edit("add", place, value),)
    return (Edit("add", place._replace(path=place.path[:-1]), {key: value}),)


def enumerated(words: Sequence[str]) -> str:
    """Words in a sentence: `get, list and watch`. There is one at least."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


class Finding(NamedTuple):
    """What is wrong, where, and what puts it right.

    `message` states the facts of this case (names, numbers) without a full stop at its end; `fix` is one
    imperative line. A rule leaves `rule` empty, and `severity` None for its own; `policy.evaluate` fills them.
    `edits` are the cure as data where it is certain, to be made together and in this order; else empty.
    """

    place: Place
    message: str
    fix: str
    severity: Severity | None = None
    confidence: Confidence = "high"
    related: tuple[Related, ...] = ()
    rule: str = ""
    edits: tuple[Edit, ...] = ()


S = TypeVar("S")
Check: TypeAlias = Callable[[Subject, Stack], Iterable[Finding]]
Where: TypeAlias = Callable[[Subject, Stack], object]


class Rule(NamedTuple):
    """One law. `over` names the rules that stay silent at a place where this one speaks. It has nothing to say of a
    subject for which `where` gives nothing, which is asked once for all rules that name the same function."""

    name: str
    subjects: tuple[type, ...]
    severity: Severity
    evidence: Evidence
    docstring: str
    check: Check
    over: tuple[str, ...] = ()
    lint_only: bool = False
    where: Where | None = None

    @property
    def doc(self) -> str:
        """The docstring without its indentation."""
        return _unindent(self.docstring)

    @property
    def summary(self) -> str:
        """The mistake in one sentence: the docstring's first line."""
        return self.doc.partition("\n")[0]


def rule(
    subject: type[S] | UnionType,
    severity: Severity,
    *,
    evidence: Evidence,
    over: tuple[str, ...] = (),
    lint_only: bool = False,
    where: Callable[[S, Stack], object] | None = None,
) -> Callable[[Callable[[S, Stack], Iterable[Finding]]], Rule]:
    """Make a Rule of a function; it is named after the function, with dashes, and registers nothing.

    `severity` is the highest that the rule may give. `evidence` is what its facts rest on; only what was seen
    or read may be an error. A name that Python keeps for itself gets an underscore behind it. `where` spares most
    subjects the rule, and must be cheap: it may be true of too many, never of too few.
    """
    if severity is Severity.ERROR and evidence == "inferred":
        raise ValueError("an error needs evidence: seen or read")
    subjects = get_args(subject) if isinstance(subject, UnionType) else (subject,)

    def make(check: Callable[[S, Stack], Iterable[Finding]]) -> Rule:
        name = check.__name__.strip("_").replace("_", "-")
        doc = check.__doc__ or ""
        return Rule(
            name, subjects, severity, evidence, doc, cast("Check", check), over, lint_only, cast("Where | None", where)
        )

    return make


def _unindent(doc: str) -> str:
    """A docstring without its indentation (inspect.cleandoc, without importing inspect at start-up)."""
    first, _, rest = doc.strip().partition("\n")
    lines = rest.split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join([first.strip(), *(line[margin:].rstrip() for line in lines)]).strip()
