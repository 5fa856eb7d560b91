"""One parsed document to the subjects that rules see, and to what Kubernetes could not decode of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from webhook.kinds import (
    HOMES,
    STEMS,
    Template,
    embedded,
    is_left_alone,
    is_part,
    known_kinds,
    looks_like_values,
    shaped_like_templates,
    templates,
)
from webhook.model import (
    Malformed,
    Object,
    Path,
    Place,
    PodGroup,
    Ref,
    RepeatedKey,
    StrangeKind,
    Subject,
    Workload,
    WrongScalar,
    dig,
)
from webhook.parse.installed import hook_configuration, is_hook_configuration, neighbour
from webhook.parse.placeholders import templated
from webhook.parse.pods import Texts, labels_of, owner_of, read_pod
from webhook.parse.scalers import scaler
from webhook.parse.schema import BARE, shape_of
from webhook.parse.verdicts import judge
from webhook.stack import Stack

__all__ = ["Parsed", "parse", "templated"]

_NEST = 16
"""Steps into lists of lists, and of wrapped objects, that are followed; one list is two."""
_ALIKE = 0.8
_NO_TEXTS: Texts = {}


class Parsed(NamedTuple):
    """What a document holds for us, in document order.

    `objects` counts its Kubernetes objects, `refs` are those that are our business: Pods, what makes Pods, and
    PodGroups. `skipped` is why a document is left out that is recognised, else empty.
    """

    subjects: tuple[Subject, ...] = ()
    objects: int = 0
    refs: tuple[Ref, ...] = ()
    skipped: str = ""


class _Reading(NamedTuple):
    """One document while it is read. The lists are filled as its objects are met."""

    document: int
    namespace: str
    written: Callable[[Path], str]
    subjects: list[Subject]
    seen: list[Ref]
    ours: list[Ref]


def parse(
    data: object,
    document: int,
    stack: Stack,
    *,
    written: Callable[[Path], str],
    duplicates: Iterable[tuple[Path, int, int]] = (),
    namespace: str = "",
) -> Parsed:
    """Read one document. `written` gives the text at a path of the document; `duplicates` are the keys given twice,
    each with its path and both lines; `namespace` is where objects go that name none."""
    if _is_kustomization(data):
        return Parsed(skipped="kustomization")
    reading = _Reading(document, namespace or stack.default_namespace, written, [], [], [])
    _read(data, (), reading)
    if not reading.seen:
        reading.subjects.extend(_values(data, document))
    if duplicates and reading.ours:
        reading.subjects.extend(_repeated(duplicates, reading.seen))
    return Parsed(tuple(reading.subjects), len(reading.seen), tuple(reading.ours))


def _values(data: object, document: int) -> Iterator[Object]:
    """The values of the hami chart that a document without kind holds: its own, or under the chart's name those that
    a chart around it passes on."""
    if not isinstance(data, dict) or "kind" in data or "apiVersion" in data:
        return
    inner = data.get("hami")
    if looks_like_values(data):
        yield Object(Ref("", "Values", "", "", document), data)
    elif isinstance(inner, dict) and looks_like_values(inner):
        yield Object(Ref("", "Values", "", "", document, ("hami",)), inner)


def _is_kustomization(data: object) -> bool:
    if type(data) is not dict:
        return False
    kind, api = data.get("kind"), data.get("apiVersion") or ""
    if kind != "Kustomization" and kind != "Component":  # noqa: PLR1714 - it may be no text at all
        return False
    return type(api) is str and (not api or api.startswith("kustomize.config.k8s.io/"))


def _read(data: object, prefix: Path, reading: _Reading) -> None:
    if len(prefix) > _NEST:
        return
    if isinstance(data, list):
        for index, item in enumerate(data):
            _read(item, (*prefix, index), reading)
        return
    if not isinstance(data, dict):
        return
    api, kind = data.get("apiVersion"), data.get("kind")
    if type(api) is not str or type(kind) is not str or not api or not kind:
        return
    if kind == "List" or (kind.endswith("List") and isinstance(data.get("items"), list)):
        _read_list(data, kind, prefix, reading)
    else:
        _read_object(data, prefix, reading)


def _read_list(data: dict[str, object], kind: str, prefix: Path, reading: _Reading) -> None:
    """A List's items say what they are; those of a typed list (PodList) may leave it to the list."""
    found = data.get("items")
    own = {} if kind == "List" else {"apiVersion": data["apiVersion"], "kind": kind.removesuffix("List")}
    for index, item in enumerate(found if isinstance(found, list) else ()):
        lacks = own and isinstance(item, dict) and not item.get("kind")
        _read({**item, **own} if lacks else item, (*prefix, "items", index), reading)


def _read_object(body: dict[str, object], prefix: Path, reading: _Reading) -> None:
    found = templates(body)
    ref = _ref(body, prefix, reading)
    is_group = ref.kind == "PodGroup"
    if not is_group and (found is None or is_left_alone(ref.group)):
        reading.seen.append(ref)
        if found is None and is_hook_configuration(ref):
            _read_hooks(body, ref, reading)
        elif found is None:
            _read_stranger(body, ref, reading)
        return
    ref, mended, sound = _hold(body, ref, reading)
    reading.seen.append(ref)
    reading.ours.append(ref)
    if is_group:
        reading.subjects.append(_pod_group(body, ref, mended))
        return
    _read_templates(body, ref, found or (), mended, reading, sound=sound)
    for path in embedded(body) if found == () else ():
        _read(dig(body, *path), (*prefix, *path), reading)


def _read_hooks(body: dict[str, object], ref: Ref, reading: _Reading) -> None:
    """A webhook configuration is our business where it is called for Pods, or for what makes them; and a patch for one,
    which has no webhooks, where it asks an injector for the caBundle."""
    read = hook_configuration(body, ref)
    if not read.hooks and ("webhooks" in body or not any("inject-ca" in key for key in read.annotations)):
        return
    reading.ours.append(ref)
    ref, mended, _ = _hold(body, ref, reading)
    reading.subjects.append(hook_configuration(body, ref, mended))


def _read_stranger(body: dict[str, object], ref: Ref, reading: _Reading) -> None:
    """A kind that the table does not have: a custom resource that may hold templates, or a slip of the pen.

    Only what holds Pod templates, or is called nearly as a kind that does, is our business.
    """
    found_scaler = scaler(body, ref)
    if found_scaler:
        reading.subjects.append(found_scaler)
    if is_part(ref.group, ref.kind, body):
        reading.subjects.append(Object(ref, body))
    beside = neighbour(body, ref)
    if beside:
        reading.subjects.append(beside)
    known = known_kinds(ref.api_version)
    if found_scaler or beside or ref.kind in known:
        return
    found = shaped_like_templates(body)
    if found or any(stem in ref.kind for stem in STEMS):
        near, home = _near(ref.kind, known), HOMES.get(ref.kind, "") if known else ""
        reading.subjects.extend([StrangeKind(ref, near, home)] if near or home else ())
    if found:
        reading.ours.append(ref)
        _read_templates(body, ref, found, _NO_TEXTS, reading, sound=False)


def _near(kind: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """The kinds that were meant: one that differs in case only, else those spelt nearly so."""
    import difflib

    same = tuple(other for other in known if other.lower() == kind.lower())
    return same or tuple(difflib.get_close_matches(kind, known, n=3, cutoff=_ALIKE))


def _hold(body: dict[str, object], ref: Ref, reading: _Reading) -> tuple[Ref, Texts, bool]:
    """Hold an object against its types: its ref, what was written where it is no text, whether all of it is sound."""
    shape = shape_of(ref.group, ref.kind)
    if shape.sound(body):
        return ref, _NO_TEXTS, shape is not BARE
    wrong = list(judge(body, shape, ref, reading.written))
    mended = {each.place.path: each.written for each in wrong if isinstance(each, WrongScalar)}
    ref = ref._replace(
        name=mended.get(("metadata", "name"), ref.name),
        namespace=mended.get(("metadata", "namespace"), ref.namespace),
    )
    reading.subjects.extend(_moved(each, ref) for each in wrong)
    return ref, mended, False


def _moved(wrong: Malformed | WrongScalar, ref: Ref) -> Malformed | WrongScalar:
    place = wrong.place._replace(ref=ref)
    if isinstance(wrong, WrongScalar):
        return WrongScalar(place, wrong.written, wrong.value)
    return Malformed(place, wrong.message, wrong.fix)


def _ref(body: Mapping[str, object], prefix: Path, reading: _Reading) -> Ref:
    metadata = body.get("metadata")
    name = namespace = None
    if type(metadata) is dict:
        name, namespace = metadata.get("name"), metadata.get("namespace")
    return Ref(
        str(body["apiVersion"]),
        str(body["kind"]),
        namespace if type(namespace) is str and namespace else reading.namespace,
        name if type(name) is str else "",
        reading.document,
        prefix,
    )


def _read_templates(
    body: dict[str, object], ref: Ref, found: tuple[Template, ...], mended: Texts, reading: _Reading, *, sound: bool
) -> None:
    if ref.kind == "Pod" and not ref.group and found:
        pod = read_pod(body, ref, found[0], mended, sound=sound)
        if pod:
            reading.subjects.append(pod)
        return
    pods = [read_pod(body, ref, template, mended, sound=sound) for template in found]
    made = tuple(pod for pod in pods if pod)
    labels, annotations = labels_of(body, mended)
    reading.subjects.append(Workload(ref, labels, annotations, made, body))
    reading.subjects.extend(made)


def _pod_group(body: Mapping[str, object], ref: Ref, mended: Texts) -> PodGroup:
    spec = body.get("spec")
    fields = spec if isinstance(spec, dict) else {}
    minimum, timeout = fields.get("minMember"), fields.get("scheduleTimeoutSeconds")
    resources = fields.get("minResources")
    labels, annotations = labels_of(body, mended)
    return PodGroup(
        ref,
        _number(minimum),
        fields,
        labels,
        annotations,
        resources if isinstance(resources, dict) else {},
        _number(timeout),
        owner_of(body.get("metadata"), any_owner=True),
        templated=(minimum is not None and _number(minimum) is None) or templated(spec),
    )


def _number(value: object) -> int | None:
    """A whole number, also one in quotes: what is meant is clear, and `malformed` says the rest."""
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    return int(value) if type(value) is str and value.isdecimal() and value.isascii() and len(value) < 10 else None  # noqa: PLR2004


def _repeated(duplicates: Iterable[tuple[Path, int, int]], refs: list[Ref]) -> Iterator[RepeatedKey]:
    """The keys given more than once in Kubernetes' objects, each at its place in the innermost object around it."""
    lines: dict[Path, list[int]] = {}
    for path, first, second in duplicates:
        lines.setdefault(path, []).extend((first, second))
    for path, at in lines.items():
        around = [ref for ref in refs if path[: len(ref.prefix)] == ref.prefix]
        if not around:
            continue
        ref = max(around, key=lambda each: len(each.prefix))
        merged = (*ref.prefix, "apiVersion") in lines and (*ref.prefix, "kind") in lines
        if not merged:
            yield RepeatedKey(Place(ref, path[len(ref.prefix) :], "key"), min(at), max(at))
        elif path == (*ref.prefix, "kind"):  # a missing `---` is one mistake, however many keys it doubles
            yield RepeatedKey(Place(ref, ("kind",), "key"), min(at), max(at), whole=True)
