"""What keeps an image reference from being one: the grammar of distribution's reference package, in words."""

from __future__ import annotations

import re

_HOST = re.compile(
    r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\[[a-fA-F0-9:]+\])"
    r"(?::[0-9]+)?"
)
_PART = re.compile(r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*")
_TAG = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
_DIGEST = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}")
_HEX_DIGITS = {"sha256": 64, "sha384": 96, "sha512": 128}
_IDENTIFIER = re.compile(r"[a-f0-9]{64}")
_LONGEST_TAG, _LONGEST_PATH = 128, 255
_STOOD_IN = re.compile(r"\.\.\.|…|\Ako://|\A//|(?:\A|[/:@.-])[A-Z][A-Z0-9]*[A-Z_][A-Z0-9_-]*(?:\Z|[/:@.])")
"""What is written where something else is to stand: dots, ko's and Bazel's own names, words in capitals."""


def fault(image: str) -> str:
    """What is wrong with a reference, to be read after "has"; empty where a registry may take it, or where the text
    only stands in for one (`REGISTRY/app:TAG`, `ko://…`)."""
    if not image.strip() or _STOOD_IN.search(image):
        return ""
    if image.startswith("map["):
        return "a mapping in it, which a template printed where a text belongs"
    if image != image.strip() or re.search(r"\s", image):
        return "a space in it"
    if "://" in image:
        return f"{image.partition('://')[0]}:// before it, which no reference has"
    if _IDENTIFIER.fullmatch(image):
        return "64 hexadecimal digits alone, which are an identifier and no name"
    name, at, digest = image.partition("@")
    if at and (wrong := _digest_fault(digest)):
        return wrong
    path, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        path, colon, tag = name, "", ""
    return _tag_fault(tag) if colon and not _TAG.fullmatch(tag) else _name_fault(path)


def _digest_fault(digest: str) -> str:
    algorithm, _, code = digest.partition(":")
    wanted = _HEX_DIGITS.get(algorithm)
    if wanted and (len(code) != wanted or not re.fullmatch(r"[0-9a-f]*", code)):
        return f"a digest that is not {algorithm}: and {wanted} hexadecimal digits in lower case"
    if not _DIGEST.fullmatch(digest):
        return "no digest behind its @"
    return "" if wanted else f"a digest of {algorithm}, which is none of {', '.join(_HEX_DIGITS)}"


def _tag_fault(tag: str) -> str:
    if not tag:
        return "no tag behind its colon"
    if len(tag) > _LONGEST_TAG:
        return f"a tag of {len(tag)} characters, {_LONGEST_TAG} are allowed"
    strange = next((character for character in tag if not re.fullmatch(r"[\w.-]", character, re.ASCII)), tag[0])
    return f"the character {strange} in its tag {tag}" if strange != tag[0] else f"a tag that begins with {strange}"


def _name_fault(name: str) -> str:
    host, slash, path = name.partition("/")
    if not slash or not (re.search(r"[.:]", host) or host == "localhost" or host != host.lower()):
        host, path = "", name
    if host and not _HOST.fullmatch(host) and not _PART.fullmatch(host):
        return f"a registry {host} that is no host"
    if path != path.lower():
        return f"upper case in its name {path}"
    wrong = next((part for part in path.split("/") if not _PART.fullmatch(part)), None)
    if wrong is not None:
        return f"the part {wrong!r} in its name" if wrong else "an empty part in its name"
    return f"a name of {len(path)} characters, {_LONGEST_PATH} are allowed" if len(path) > _LONGEST_PATH else ""
