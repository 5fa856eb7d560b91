"""YAML and JSON text to documents, as Kubernetes reads them, that know where each value stands.

Pure: bytes and text in, values out. Patterns that plain manifests do not need stand as text in these modules: `re`
compiles them at their first use and keeps them, and a start that needs none of them pays for none.
"""

from webhook.manifest.cutting import LIMIT, concerns, cut, first
from webhook.manifest.places import comments, span, written
from webhook.manifest.reading import read
from webhook.manifest.values import Chunk, Document, Duplicate, Span, Templated

__all__ = [
    "LIMIT",
    "Chunk",
    "Document",
    "Duplicate",
    "Span",
    "Templated",
    "comments",
    "concerns",
    "cut",
    "first",
    "read",
    "span",
    "written",
]
