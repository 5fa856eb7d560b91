"""`.gangcheck.yaml`: text in, one value out. The same schema is the webhook's policy file.

Errors say file, line and column, name a near miss where there is one, and list what is allowed.
`config.schema.json` says the same in JSON Schema, for editors; a test keeps the two equal.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache, partial
from posixpath import join, normpath
from typing import TYPE_CHECKING, Any, NamedTuple

from webhook import settings
from webhook.errors import BadConfig, Unreadable
from webhook.manifest import Document, Templated, cut, read, span
from webhook.model import NOTHING, Path
from webhook.policy import Policy
from webhook.rule import Rule, Severity
from webhook.settings import Reader, Table, Wrong, did_you_mean, read_stack
from webhook.stack import Stack

if TYPE_CHECKING:
    from webhook.review import Enforcement, VgpuEnv
    from webhook.service import Server

__all__ = ["FILE_NAME", "Config", "PathRules", "is_excluded", "is_ignored", "policy", "read_config", "read_stack"]

FILE_NAME = ".gangcheck.yaml"


class PathRules(NamedTuple):
    """Rules that are off in some files: globs of files, and rule names or globs."""

    paths: tuple[str, ...]
    ignore: tuple[str, ...]


class Config(NamedTuple):
    """How a run goes. `select` and `ignore` hold rule names or globs; an empty `select` means all.

    Globs of files work as in .gitignore: one without a slash matches at any depth, a folder covers what is in
    it, `**` crosses folders. They are relative to `folder`, and `here` is where file names are relative to; both
    are absolute, or empty where they are one and the same. `whole`: the input is the whole system, what is
    absent does not exist. `now` is the time in seconds since 1970 (0: nobody knows, and nothing has expired).
    `server`, `enforcement` and `env` are the admission server's; None means the defaults.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severities: Mapping[str, Severity] = NOTHING
    per_path: tuple[PathRules, ...] = ()
    exclude: tuple[str, ...] = ()
    fail_on: Severity = Severity.ERROR
    whole: bool = False
    stack: Stack = Stack()
    server: "Server | None" = None
    enforcement: "Enforcement | None" = None
    env: "VgpuEnv | None" = None
    folder: str = ""
    here: str = ""
    now: int = 0


def read_config(text: str, name: str, known_rules: Collection[str], base: Stack | None = None) -> Config:
    """The configuration in a file's text. Raises BadConfig with `name`, line and column.

    `base` is the stack where the file does not say otherwise.
    """
    document = _document(text, name)
    usual = Config(stack=base or Stack())
    if document is None:
        return usual
    try:
        table: Table = {**_CONFIG, "stack": ("stack", partial(settings.stack, base=base))}
        config = usual._replace(**settings.fields(document.data, (), table))
        _check_rules(document.data, known_rules)
    except Wrong as wrong:
        where = span(document, wrong.path, key=wrong.at_key)
        raise BadConfig(f"{name}:{where.line}:{where.column}: {_named(wrong)}") from None
    return config


def _named(wrong: Wrong) -> str:
    """An error with the key that it is about, where it does not name it itself."""
    key = next((step for step in reversed(wrong.path) if isinstance(step, str)), "")
    return str(wrong) if wrong.at_key or not key else f"{key}: {wrong}"


def _document(text: str, name: str) -> Document | None:
    """The one document of a configuration, or None where there is nothing but comments."""
    try:
        found = [document for chunk in cut([text.encode()]) for document in read(chunk)]
    except (Unreadable, Templated) as error:
        raise BadConfig(f"{name}:{error.line or 1}:{error.column or 1}: {error}") from None
    if len(found) > 1:
        raise BadConfig(f"{name}:{found[1].line}:1: a second document begins here; a configuration is one document")
    for twice in (twice for document in found for twice in document.duplicates):
        where, first = twice.second, twice.first
        message = f"{twice.path[-1]} is written twice, first in line {first.line}; keep one"
        raise BadConfig(f"{name}:{where.line}:{where.column}: {message}")
    return found[0] if found else None


def _check_rules(data: Any, known: Collection[str]) -> None:  # noqa: ANN401 - it has been read already
    for path, name in _rule_names(data):
        fault = unknown_rule(name, known)
        if fault:
            raise Wrong(path, fault, at_key=path[0] == "severities")


def _rule_names(data: Any) -> Iterator[tuple[Path, str]]:  # noqa: ANN401 - as above
    """Every rule's name or glob in a configuration, and where it stands."""
    for key in ("select", "ignore"):
        yield from (((key, index), name) for index, name in enumerate(data.get(key, ())))
    yield from ((("severities", name), name) for name in data.get("severities", ()))
    for number, part in enumerate(data.get("perPath", ())):
        yield from ((("perPath", number, "ignore", index), name) for index, name in enumerate(part["ignore"]))


def unknown_rule(name: str, known: Collection[str]) -> str:
    """What is wrong with a rule's name or glob, or nothing."""
    if any(matches(name, rule) for rule in known):
        return ""
    if "*" in name or "?" in name:
        return f"no rule matches {name!r} (`gangcheck rules` lists them)"
    return f"there is no rule {name!r}{did_you_mean(name, known)} (`gangcheck rules` lists them)"


def policy(config: Config, rules: tuple[Rule, ...]) -> Policy:
    """Which rules speak, and how loud. `ignore` wins over `select`; of several severities the last one written."""
    chosen = tuple(rule for rule in rules if _is_selected(rule.name, config))
    severities = {
        rule.name: severity
        for rule in chosen
        for pattern, severity in config.severities.items()
        if matches(pattern, rule.name)
    }
    return Policy(chosen, severities)


def _is_selected(rule: str, config: Config) -> bool:
    wanted = not config.select or _any_matches(config.select, rule)
    return wanted and not _any_matches(config.ignore, rule)


def is_ignored(config: Config, file: str, rule: str) -> bool:
    """Whether `perPath` switches a rule off in a file, named as reports name it."""
    path = _from_folder(config, file) if config.per_path else ""
    return any(_any_matches(part.paths, path) and _any_matches(part.ignore, rule) for part in config.per_path)


def is_excluded(config: Config, file: str) -> bool:
    """Whether a file or folder is not linted at all."""
    return bool(config.exclude) and _any_matches(config.exclude, _from_folder(config, file))


def _from_folder(config: Config, file: str) -> str:
    return normpath(join(config.here, file)).removeprefix(config.folder.rstrip("/") + "/")


def _any_matches(patterns: tuple[str, ...], name: str) -> bool:
    return any(matches(pattern, name) for pattern in patterns)


def matches(pattern: str, path: str) -> bool:
    """Whether a glob covers a path with forward slashes, or a folder above it."""
    return _regex(pattern).fullmatch(path) is not None


@lru_cache(maxsize=1024)
def _regex(pattern: str) -> re.Pattern[str]:
    body = pattern.removeprefix("./").rstrip("/")
    start = "" if "/" in body else "(?:.*/)?"
    pieces = re.split(r"(/\*\*/|^\*\*/|\*\*|\*|\?)", body.removeprefix("/"))
    glob = "".join(_GLOB.get(piece) or re.escape(piece) for piece in pieces)
    return re.compile(f"{start}{glob}(?:/.*)?", re.DOTALL)


_GLOB = {"/**/": "/(?:.*/)?", "**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _severity(value: object, path: Path) -> Severity:
    if isinstance(value, str) and value in _SEVERITIES:
        return _SEVERITIES[value]
    off = "; to switch a rule off, name it under ignore" if value is False or value == "off" else ""
    raise Wrong(path, f"wanted is error, warning or info, and this is {settings.shown(value)}{off}")


def _severities(value: object, path: Path) -> Mapping[str, Severity]:
    return {rule: _severity(item, (*path, rule)) for rule, item in settings.mapping(value, path).items()}


def _per_path(value: object, path: Path) -> tuple[PathRules, ...]:
    return tuple(_path_rules(item, (*path, index)) for index, item in enumerate(settings.items(value, path)))


def _path_rules(value: object, path: Path) -> PathRules:
    given = settings.fields(value, path, _PATH_RULES)
    for key in _PATH_RULES:
        if key not in given:
            raise Wrong(path, f"{key} is missing; an entry has paths and ignore, a list each")
    return PathRules(**given)


def _of_service(name: str) -> Reader:
    """A reader of `service`, which is imported only where a file has such a key: the linter has no use for it."""

    def read(value: object, path: Path) -> object:
        from webhook import service  # noqa: PLC0415 - see above

        reader: Reader = getattr(service, name)
        return reader(value, path)

    return read


_SEVERITIES = {str(severity): severity for severity in Severity}

_PATH_RULES: Table = {"paths": ("paths", settings.names), "ignore": ("ignore", settings.names)}

_CONFIG: Table = {
    "select": ("select", settings.names),
    "ignore": ("ignore", settings.names),
    "severities": ("severities", _severities),
    "perPath": ("per_path", _per_path),
    "exclude": ("exclude", settings.names),
    "failOn": ("fail_on", _severity),
    "whole": ("whole", settings.flag),
    "stack": ("stack", settings.stack),
    "server": ("server", _of_service("server")),
    "admission": ("enforcement", _of_service("enforcement")),
    "inject": ("env", _of_service("vgpu_env")),
}
