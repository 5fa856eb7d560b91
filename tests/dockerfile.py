"""The Dockerfile as its instructions, stage by stage, for tests that have no engine to run it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
FILE = ROOT / "Dockerfile"


class Instruction(NamedTuple):
    word: str
    rest: str


def instructions() -> list[Instruction]:
    """In order; continued lines are one, comments are left out."""
    text = re.sub(r"^#.*\n", "", FILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = re.sub(r"\\\n", " ", text).splitlines()
    split = (line.partition(" ") for line in lines if line.strip())
    return [Instruction(word, rest.strip()) for word, _, rest in split]


def stages() -> list[list[Instruction]]:
    """The instructions of each stage, FROM included."""
    found: list[list[Instruction]] = []
    for instruction in instructions():
        if instruction.word == "FROM":
            found.append([])
        if found:
            found[-1].append(instruction)
    return found
