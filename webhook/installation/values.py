"""Values of the hami chart, from whatever hands them to Helm."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from webhook.installation.processes import version_of
from webhook.installation.texts import Unread, items_of, mapping_in, text_at
from webhook.kinds import looks_like_values
from webhook.manifest.scalars import plain
from webhook.model import Fact, Layer, Malformed, Object, Path, Place, Values, dig

CHART = "hami"


class Given(NamedTuple):
    """Values, with what their holder says of the release: name, namespace, and the chart's version if it is exact."""

    values: Values
    name: str = ""
    namespace: str = ""
    chart: Fact[tuple[int, ...]] | None = None


def given(objects: Iterable[Object]) -> Iterator[Given | Malformed]:
    """The values of every release of the hami chart that these objects describe."""
    for each in objects:
        if each.ref.kind == "Values":
            yield Given(Values(each.ref, (Layer(each.body, ()),)))
        elif each.ref.kind == "HelmRelease":
            yield from _flux(each)
        elif each.ref.kind == "Application":
            yield from _argo(each, ("spec",))
        elif each.ref.kind == "ApplicationSet":
            yield from _argo(each, ("spec", "template", "spec"))
        elif each.ref.kind == "HelmChart":
            yield from _rancher(each)


def _flux(release: Object) -> Iterator[Given]:
    """A HelmRelease of Flux (helm.toolkit.fluxcd.io, fluxcd.io/flux/components/helm/helmreleases)."""
    spec = release.body.get("spec")
    chart = text_at(spec, "chart", "spec", "chart").rstrip("/").rpartition("/")[2]
    values = dig(spec, "values")
    body = values if isinstance(values, Mapping) else {}
    if chart != CHART and not (not chart and looks_like_values(body)):
        return
    namespace = text_at(spec, "targetNamespace") or release.ref.namespace
    prefix = text_at(spec, "targetNamespace")
    name = text_at(spec, "releaseName") or (f"{prefix}-{release.ref.name}" if prefix else release.ref.name)
    layer = Layer(body, ("spec", "values") if values is not None else ("spec",))
    known = Values(release.ref, (layer,), partial=bool(dig(spec, "valuesFrom")))
    yield Given(known, name, namespace, _chart(release, ("spec", "chart", "spec", "version")))


def _rancher(chart: Object) -> Iterator[Given | Malformed]:
    """A HelmChart of k3s and RKE2 (docs.k3s.io/helm): what `set` says goes before the text in `valuesContent`."""
    spec = chart.body.get("spec")
    name = text_at(spec, "chart").removesuffix(".tgz").rstrip("/").rpartition("/")[2]
    if name != CHART and not name.startswith(f"{CHART}-2"):
        return
    try:
        layers = tuple(_rancher_layers(spec))
    except Unread as unread:
        place = Place(chart.ref, ("spec", "valuesContent"))
        yield Malformed(place, f"{chart.ref} holds no YAML under valuesContent: {unread}", "mend the values")
        return
    yield Given(
        Values(chart.ref, layers or (Layer({}, ("spec",)),), partial=bool(dig(spec, "valuesSecrets"))),
        chart.ref.name,
        text_at(spec, "targetNamespace") or chart.ref.namespace,
        _chart(chart, ("spec", "version")),
    )


def _rancher_layers(spec: object) -> Iterator[Layer]:
    given = dig(spec, "set")
    if isinstance(given, Mapping) and given:
        entries: list[object] = [{"name": key, "value": value} for key, value in given.items()]
        layer = _parameters(entries, ("spec", "set"))
        places: dict[Path, Path] = {_keys(str(key)): ("spec", "set", str(key)) for key in given}
        yield layer._replace(places=places)
    text = dig(spec, "valuesContent")
    body = mapping_in(text) if isinstance(text, str) else None
    if body is not None:
        yield Layer(body, ("spec", "valuesContent"))


def _argo(application: Object, base: Path) -> Iterator[Given | Malformed]:
    """An Application of Argo CD, or an ApplicationSet's template for some, with one source or several (argo-cd
    docs/user-guide/helm.md, docs/operator-manual/applicationset/Template.md). `base` is where its spec stands."""
    spec = dig(application.body, *base)
    sources: list[tuple[Path, object]] = [((*base, "source"), dig(spec, "source"))]
    several = items_of(dig(spec, "sources"))
    sources.extend(((*base, "sources", index), each) for index, each in enumerate(several))
    for path, source in sources:
        chart = text_at(source, "chart") or text_at(source, "path").rstrip("/").rpartition("/")[2]
        if chart.rpartition("/")[2] != CHART:
            continue
        try:
            layers = tuple(_argo_layers(source, path))
        except Unread as unread:
            place = Place(application.ref, (*path, "helm", "values"))
            yield Malformed(place, f"{application.ref} holds no YAML under helm.values: {unread}", "mend the values")
            continue
        partial = bool(items_of(dig(source, "helm", "valueFiles"))) or bool(
            items_of(dig(source, "helm", "fileParameters"))
        )
        name = text_at(source, "helm", "releaseName") or application.ref.name
        version = _chart(application, (*path, "targetRevision"))
        yield Given(
            Values(application.ref, layers or (Layer({}, path),), partial=partial),
            name,
            text_at(spec, "destination", "namespace"),
            version,
        )


def _argo_layers(source: object, path: Path) -> Iterator[Layer]:
    """What wins comes first: parameters, then valuesObject, then values (argo-cd docs/user-guide/helm.md)."""
    helm: Path = (*path, "helm")
    parameters = items_of(dig(source, "helm", "parameters"))
    if parameters:
        yield _parameters(parameters, (*helm, "parameters"))
    values = dig(source, "helm", "valuesObject")
    if isinstance(values, Mapping):
        yield Layer(values, (*helm, "valuesObject"))
        return
    text = dig(source, "helm", "values")
    body = mapping_in(text) if isinstance(text, str) else None
    if body is not None:
        yield Layer(body, (*helm, "values"))


def _parameters(entries: list[object], path: Path) -> Layer:
    r"""`helm --set`: the name is a path of keys (`\.` is a dot), the value is typed unless forceString says not to.
    Names that lead into lists (`a[0]`) are left out."""
    body: dict[str, object] = {}
    places: dict[Path, Path] = {}
    for index, entry in enumerate(entries):
        name, value = text_at(entry, "name"), dig(entry, "value")
        if not name or "[" in name:
            continue
        keys = _keys(name)
        typed = value if dig(entry, "forceString") is True or not isinstance(value, str) else plain_set(value)
        _put(body, keys, typed)
        places[keys] = (*path, index, "value")
    return Layer(body, path, places)


def _keys(name: str) -> tuple[str, ...]:
    return tuple(key.replace("\0", ".") for key in name.replace("\\.", "\0").split("."))


def plain_set(value: str) -> object:
    """What `--set` makes of a text: true, false, null and whole numbers are no text (helm pkg/strvals `typedVal`)."""
    if value.lower() in {"true", "false", "null"}:
        return plain(value.lower())
    return (
        int(value) if value.lstrip("-").isdecimal() and value.isascii() and (value == "0" or value[0] != "0") else value
    )


def _put(body: dict[str, object], keys: tuple[str, ...], value: object) -> None:
    for key in keys[:-1]:
        inside = body.setdefault(key, {})
        if not isinstance(inside, dict):
            body[key] = inside = {}
        body = inside
    body[keys[-1]] = value


def _chart(holder: Object, path: Path) -> Fact[tuple[int, ...]] | None:
    """An exact version of the chart; a range (`2.x`, `>=2.9`) says nothing for certain."""
    text = dig(holder.body, *path)
    if not isinstance(text, str) or not text.removeprefix("v").replace(".", "").isdecimal() or text.count(".") != 2:  # noqa: PLR2004
        return None
    version = version_of(text)
    return Fact(version, Place(holder.ref, path), "the chart's version") if version else None
