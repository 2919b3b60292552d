"""One byte form for values, so that digests agree across processes, platforms and hash seeds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def canonical(value: Any) -> bytes:
    """Return the canonical JSON of `value`: sorted keys, no spaces, ASCII, no NaN. Tuples and records are arrays."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=True, allow_nan=False).encode("ascii")


def digest(value: Any) -> str:
    """SHA-256 of `canonical(value)`, in hex."""
    return hashlib.sha256(canonical(value)).hexdigest()


def plain(value: Any) -> Any:
    """Turn records into dicts by field name and tuples into lists, for JSON that people read."""
    if hasattr(value, "_fields"):
        return {name: plain(item) for name, item in zip(value._fields, value, strict=True)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    return value
