"""YAML and JSON text to documents, as Kubernetes reads them, that know where each value stands.

Pure: bytes and text in, values out.
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
