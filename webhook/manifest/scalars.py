"""What a scalar means to Kubernetes: go-yaml v2's `resolve`, then sigs.k8s.io/yaml's way to JSON.

PyYAML resolves otherwise (`1:30`, `0o17`, timestamps, `y`), so nothing of its resolver is used. Source:
sigs.k8s.io/yaml goyaml.v2/resolve.go `resolve` and yaml.go `convertToJSONableObject`, held against v1.4.0.
"""

from __future__ import annotations

import math
import re
import struct

WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
}
"""Plain scalars that are no text, by a table as in resolve.go."""

NUMERIC = frozenset("0123456789+-.")
"""How a number begins; every other plain scalar is looked up in WORDS or is text."""

_SPECIAL = {
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_LIKELY = re.compile(r"[-+.0-9A-Fa-fxXoO_]+")  # every character that a number may have
_INTEGER = (
    r"(?P<sign>[-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<bin>[01]+)"
    r"|0[oO]?(?P<oct>[0-7]+)|(?P<dec>0|[1-9][0-9]*))"
)
_SIGNED_BINARY = r"0b([-+][01]+)"  # ParseInt(plain[2:], 2) takes a sign after the prefix
_FLOAT = r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"
_DOTTED = r"\.[0-9]+(_[0-9]+)*([eE][-+]?[0-9]+(_[0-9]+)*)?"  # Go's ParseFloat takes `_` between digits
_BASES = {"hex": 16, "bin": 2, "oct": 8, "dec": 10}
_LEAST, _MOST = -(2**63), 2**64 - 1
_DIGITS = 80  # 64 bits are at most 64 digits; longer ones cannot be integers and Python refuses to convert thousands
_TIMESTAMP = (
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
    r"([Tt ][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(\.[0-9]+)?(Z|[-+][0-9]{2}:[0-9]{2})?)?"
)


class Misfit(ValueError):  # noqa: N818 - a scalar that its tag or its place does not fit
    """A scalar that cannot be what its tag says, or cannot be a key."""


def plain(text: str) -> object:
    """The value of an unquoted scalar without a tag."""
    if text[:1] in NUMERIC:
        return number(text) if text else None
    return WORDS.get(text, text)


def number(text: str) -> object:
    """The value of a plain scalar that begins as a number does; text where it is none."""
    if text.isdigit() and text.isascii() and (text[0] != "0" or text == "0") and len(text) < 19:  # noqa: PLR2004 - fits 64 bits
        return int(text)
    if text in _SPECIAL:
        return _SPECIAL[text]
    if not _LIKELY.fullmatch(text):
        return text  # a quantity (`16Gi`), a version, a flag
    if text[0] == ".":
        return _finite(text) if re.fullmatch(_DOTTED, text) else text
    bare = text.replace("_", "")
    whole = _integer(bare)
    if whole is not None:
        return whole
    value = _finite(bare) if re.fullmatch(_FLOAT, bare) else None
    return value if isinstance(value, float) else text


def tagged(tag: str, text: str) -> object:
    """The value of a scalar with an explicit tag; quotes do not matter then (decode.go `scalar`)."""
    name = tag.removeprefix("tag:yaml.org,2002:")
    if name == "binary":
        return _binary(text)
    if name == tag or name not in _EXPECTED:
        return text
    if name == "str":
        return text
    value = _timestamp(text) if name == "timestamp" else plain(text)
    if name == "float" and type(value) is int:
        return float(value)
    if type(value) is not _EXPECTED[name]:
        raise Misfit(f"'{text}' is no {name}, as its tag !!{name} says; remove the tag or mend the value")
    return value


_EXPECTED: dict[str, type] = {
    "str": str,
    "bool": bool,
    "int": int,
    "float": float,
    "null": type(None),
    "timestamp": str,
}


def key(value: object) -> str:
    """A mapping's key as JSON needs it: a string."""
    if type(value) is str:
        return value
    if value is True:
        return "true"
    if value is False:
        return "false"
    if type(value) is int and value < 2**63:  # a Go uint64 is refused as a key
        return str(value)
    if type(value) is float:
        return _float_key(value)
    if value is None:
        raise Misfit("a key is empty or null; Kubernetes needs text: put it in quotes or name it")
    raise Misfit("a key is no text; Kubernetes reads only text as a key: put it in quotes")


def _integer(bare: str) -> int | None:
    if len(bare) > _DIGITS:
        return None
    match = re.fullmatch(_INTEGER, bare)
    if match is None:
        signed = re.fullmatch(_SIGNED_BINARY, bare)
        return _bounded(int(signed[1], 2)) if signed else None
    base = match.lastgroup or "dec"
    value = int(match[base], _BASES[base])
    if not match["sign"]:
        return _bounded(value)
    # ParseUint takes no sign: a signed integer has to fit 63 bits.
    value = -value if match["sign"] == "-" else value
    return value if _LEAST <= value < -_LEAST else None


def _bounded(value: int) -> int | None:
    return value if _LEAST <= value <= _MOST else None


def _finite(text: str) -> float | str:
    value = float(text)
    return text if math.isinf(value) else value  # Go's ParseFloat fails out of range and text is left


def _binary(text: str) -> str:
    import base64
    import binascii

    try:
        # Go's decoder skips line breaks only, and JSON puts U+FFFD for what is no UTF-8.
        raw = base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError) as error:
        raise Misfit("a !!binary value is no base64; remove the tag or mend the value") from error
    return raw.decode("utf-8", "replace")


def _timestamp(text: str) -> str | None:
    return text if re.fullmatch(_TIMESTAMP, text) else None


def _float_key(value: float) -> str:
    """Go's FormatFloat(value, 'g', -1, 32): the shortest digits that give the same 32-bit float."""
    if math.isnan(value):
        return ".nan"
    narrow = _single(value)
    if math.isinf(narrow):
        return ".inf" if narrow > 0 else "-.inf"
    digits = next(d for p in range(17) if _single(float(d := f"{narrow:.{p}e}")) == narrow)
    mantissa, exponent = digits.split("e")
    power = int(exponent)
    if not -4 <= power < 6:  # noqa: PLR2004 - where Go's shortest form changes to an exponent
        return f"{mantissa}e{power:+03d}"
    figures = len(mantissa.lstrip("-").replace(".", ""))
    return f"{float(digits):.{max(figures - 1 - power, 0)}f}"


def _single(value: float) -> float:
    narrow: float = struct.unpack("f", struct.pack("f", value))[0]  # native packing overflows to infinity, as C does
    return narrow
