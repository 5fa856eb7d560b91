"""A configuration as the YAML that it could have been read from, with every setting that holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from webhook.config import Config
from webhook.review import Enforcement, VgpuEnv
from webhook.service import ADMISSION, INJECT, SERVER, Server
from webhook.settings import STACK, Table
from webhook.stack import VENDORS, Names, Stack


def config_text(config: Config) -> str:
    """What `gangcheck serve --print-config` shows. What nobody said and has no default is left out."""
    content = {
        "select": list(config.select),
        "ignore": list(config.ignore),
        "severities": {rule: str(severity) for rule, severity in config.severities.items()},
        "perPath": [{"paths": list(part.paths), "ignore": list(part.ignore)} for part in config.per_path],
        "exclude": list(config.exclude),
        "failOn": str(config.fail_on),
        "whole": config.whole,
        "stack": _stack(config.stack),
        "server": _said(config.server or Server(), SERVER),
        "admission": _said(config.enforcement or Enforcement(), ADMISSION),
        "inject": _fields(config.env or VgpuEnv(), INJECT),
    }
    return yaml.safe_dump({key: value for key, value in content.items() if value != []}, sort_keys=False, width=120)


def _fields(value: object, table: Table) -> dict[str, Any]:
    return {key: _plain(getattr(value, field)) for key, (field, _reader) in table.items()}


def _said(value: object, table: Table) -> dict[str, Any]:
    return {key: item for key, item in _fields(value, table).items() if item is not None and item != ""}


def _plain(value: object) -> object:
    if isinstance(value, frozenset):
        return sorted(value)
    return list(value) if isinstance(value, tuple) else value


def _stack(stack: Stack) -> dict[str, Any]:
    versions = {
        key: ".".join(map(str, version))
        for key in ("hami", "coscheduling", "kubernetes")
        if (version := getattr(stack, key)) is not None
    }
    own = {
        **versions,
        "resources": {vendor: _names(names, VENDORS[vendor]) for vendor, names in stack.vendors.items()},
        "operators": {operator: scheduler or True for operator, scheduler in stack.operators.items()},
        "images": dict(stack.images),
    }
    return {key: own.get(key, item) for key, item in _said(stack, STACK).items()}


def _names(names: Names, usual: Names) -> Mapping[str, list[str]]:
    """An empty list is said where there usually are names."""
    return {
        field: list(getattr(names, field))
        for field in Names.__dataclass_fields__
        if getattr(names, field) or getattr(usual, field)
    }
