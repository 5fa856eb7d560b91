"""One-line flow collections of simple scalars (`[a, "b"]`, `{cpu: 1}`), for the quick reader."""

from __future__ import annotations

import re
from typing import Any

from webhook.manifest.scalars import WORDS, plain

_DEPTH = 20
_LONGEST = 1 << 16
"""Characters: what is longer is no manifest's line, and all its tokens would be in memory at once."""
_SAFE = r"A-Za-z0-9_./+=@%$()*<>~^;&|!-"
_NEXT = r"[ ]*+(?:,[ ]*+(?=[^\]},])|(?=[\]}]))"
_TOKEN = rf"""(?x)
      ( "[^"\\]*+" | '[^']*+'(?!') ) {_NEXT}                                        # a quoted scalar
    | ( [A-Za-z_][A-Za-z0-9_./-]{{0,400}}+ | "[^"\\]{{0,400}}+" | '[^']{{0,400}}+'(?!') ) :[ ]++(?!,)  # a key
    | ( (?: [A-Za-z0-9_./$] | -(?=[A-Za-z0-9_./-]) )                                 # a plain scalar
        (?: [{_SAFE}]++ | :(?=[A-Za-z0-9_/.-]) | [ ]++(?=[{_SAFE}]) )*+ ) {_NEXT}
    | ( [\[{{] ) [ ]*+
    | ( [\]}}] ) (?: {_NEXT} | \Z )
    | .                                                                             # anything else
    """
_UNREAD: Any = object()
_EMPTY: dict[str, type] = {"{}": dict, "[]": list}
"""What most flow collections are; the pattern takes longer to compile than a small file to read."""


class Unknown(ValueError):  # noqa: N818 - what the text is to this reader
    """Not simple enough; another reader has to look."""


def load(text: str) -> Any:  # noqa: ANN401, C901, PLR0912 - a list or a mapping; one loop, as in `quick`
    """The collection that is all of `text`. Raises Unknown."""
    stack: list[tuple[Any, str | None]] = []
    held: Any = None
    name: str | None = None
    whole: Any = _UNREAD
    item: Any
    if text in _EMPTY:
        return _EMPTY[text]()
    if len(text) > _LONGEST:
        raise Unknown
    for quoted, key, bare, opening, closing in re.findall(_TOKEN, text):
        if whole is not _UNREAD:
            raise Unknown
        if bare:
            item = plain(bare)
        elif quoted:
            item = quoted[1:-1]
        elif key:
            if name is not None or type(held) is not dict or key in WORDS:
                raise Unknown
            name = key[1:-1] if key[0] in "\"'" else key
            continue
        elif opening:
            if len(stack) > _DEPTH:
                raise Unknown
            stack.append((held, name))
            held, name = ([] if opening == "[" else {}), None
            continue
        elif closing and held is not None and name is None and (closing == "]") == (type(held) is list):
            item = held
            held, name = stack.pop()
            if not stack:
                whole = item
                continue
        else:
            raise Unknown
        if type(held) is list:
            held.append(item)
        elif name is None or name in held:
            raise Unknown
        else:
            held[name] = item
            name = None
    if whole is _UNREAD:
        raise Unknown
    return whole
