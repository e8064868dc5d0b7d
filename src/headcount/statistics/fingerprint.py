"""Fingerprints of fitted models, the same in every process."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from hashlib import blake2b
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np
from scipy import sparse

_DIGEST_BYTES = 16
_NAMED = (type, FunctionType, BuiltinFunctionType)
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def fingerprint(value: Any) -> str:
    """Fingerprint of the content of an object.

    Two objects have the same fingerprint if they have the same type and content, whether they
    were made in this process, in another one, or read from a file.

    Examples
    --------
    >>> fingerprint({"a": [1, 2]}) == fingerprint({"a": [1, 2]})
    True
    >>> fingerprint([1, 2]) == fingerprint([1.0, 2])
    False
    """
    return _digest(value, {}).hex()


def _digest(value: Any, seen: dict[int, int]) -> bytes:
    hashed = blake2b(digest_size=_DIGEST_BYTES)
    if isinstance(value, np.generic):
        value = value.item() if value.dtype.kind in "biufcUS" else np.asarray(value)
    if isinstance(value, _PLAIN):
        hashed.update(f"{type(value).__name__}:{value!r}".encode())
        return hashed.digest()
    # An object that contains itself is named by its place.
    if id(value) in seen:
        hashed.update(f"again:{seen[id(value)]}".encode())
        return hashed.digest()
    seen = {**seen, id(value): len(seen)}
    hashed.update(_name(value).encode())
    for part in _parts(value):
        hashed.update(part if isinstance(part, bytes) else _digest(part[0], seen))
    return hashed.digest()


def _name(value: Any) -> str:
    kind = value if isinstance(value, _NAMED) else type(value)
    return f"{kind.__module__}.{kind.__qualname__}"


def _parts(value: Any) -> list[Any]:
    """Parts of an object: bytes, and other objects in tuples."""
    if isinstance(value, _NAMED):
        return []
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            return [str(value.shape).encode(), (value.ravel().tolist(),)]
        form = f"{value.dtype.str}{value.shape}"
        return [form.encode(), np.ascontiguousarray(value).tobytes()]
    if sparse.issparse(value):
        table = value.tocsr()
        return [(table.shape,), (table.indptr.tolist(),), (table.indices,), (table.data,)]
    if isinstance(value, dict):
        entries = sorted(
            ((_digest(key, {}), item) for key, item in value.items()), key=lambda each: each[0]
        )
        return [part for key, item in entries for part in (key, (item,))]
    if isinstance(value, set | frozenset):
        return sorted(_digest(each, {}) for each in value)
    if isinstance(value, list | tuple):
        return [(each,) for each in value]
    if is_dataclass(value):
        # Without properties that were cached.
        return [(getattr(value, each.name),) for each in fields(value)]
    # What pickle would store: a function, its arguments, and the state.
    return [(part,) for part in value.__reduce_ex__(4)[1:3]]
