from __future__ import annotations

import json
import struct
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.estimates.statistics.problems import scored_problem

import headcount as hc
from headcount.errors import HeadcountError


@pytest.fixture(scope="module", params=[2, 3])
def content(request):
    training, y, new, groups = scored_problem(request.param, 200, 0)
    q = hc.Conditioned([hc.SLD(), hc.GPAC()], random_state=0).fit(training, y)
    return hc.Statistics(q).update(new, groups).to_bytes()


def signed(content: bytes) -> bytes:
    """Content with a checksum that fits."""
    return content + sha256(content).digest()


def read_header(content: bytes) -> tuple[dict, bytes]:
    (length,) = struct.unpack("<Q", content[10:18])
    return json.loads(content[18 : 18 + length]), content[18 + length : -32]


def with_header(content: bytes, header: object, body: bytes) -> bytes:
    text = json.dumps(header).encode()
    return signed(content[:10] + struct.pack("<Q", len(text)) + text + body)


def test_layout_is_as_documented(content):
    assert content[:10] == b"HCSTATS\n\x02\x00"
    header, body = read_header(content)
    assert sorted(header) == ["form", "groups", "parts"]
    sizes = [array[2] for part in header["parts"] for array in part["arrays"].values()]
    assert sum(sizes) == len(body)


@settings(max_examples=60)
@given(data=st.data())
def test_damage_is_noticed(content, data):
    place = data.draw(st.integers(0, len(content) - 1))
    changed = bytearray(content)
    changed[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(HeadcountError, match=r"damaged|not statistics|version"):
        hc.Statistics.from_bytes(bytes(changed))


@settings(max_examples=30)
@given(data=st.data())
def test_truncation_is_noticed(content, data):
    length = data.draw(st.integers(0, len(content) - 1))
    with pytest.raises(HeadcountError, match=r"damaged|not statistics"):
        hc.Statistics.from_bytes(content[:length])


def test_foreign_and_older_files(content):
    with pytest.raises(HeadcountError, match="not statistics of headcount"):
        hc.Statistics.from_bytes(b"PAR1 and so on")
    old = content[:8] + b"\x01\x00" + content[10:-32]
    with pytest.raises(HeadcountError, match="version 1 of their format"):
        hc.Statistics.from_bytes(signed(old))


def test_forged_headers_are_refused(content):
    header, body = read_header(content)
    forged = [
        [],
        {},
        {**header, "form": "pickle"},
        {**header, "groups": {"kind": "text", "names": ["a", "a", "b"]}},
        {**header, "groups": {"kind": "text", "names": ["a"]}},
        {**header, "groups": {"kind": "code", "names": ["a", "b", "c"]}},
        {**header, "parts": header["parts"][:-1]},
        {**header, "parts": [{**part, "copies": -1} for part in header["parts"]]},
        {**header, "parts": [{**part, "kind": "object"} for part in header["parts"]]},
    ]
    for each in forged:
        with pytest.raises(HeadcountError, match="damaged"):
            hc.Statistics.from_bytes(with_header(content, each, body))


@settings(max_examples=60)
@given(data=st.data())
def test_forged_arrays_are_refused_or_harmless(content, data):
    """Other shapes and types: an error, or statistics that can be written again."""
    header, body = read_header(content)
    part = data.draw(st.sampled_from(header["parts"]))
    name = data.draw(st.sampled_from(sorted(part["arrays"])))
    described = part["arrays"][name]
    described[0] = data.draw(st.sampled_from([described[0], "<i8", "|u1", "|O", "<f8"]))
    described[1] = data.draw(st.sampled_from([described[1], [1], [2**60, 2], [-1], "x", []]))
    try:
        found = hc.Statistics.from_bytes(with_header(content, header, body))
    except HeadcountError:
        return
    assert found.to_bytes()


def test_files(tmp_path, content):
    statistics = hc.Statistics.from_bytes(content)
    path = tmp_path / "a.hcs"
    statistics.save(path)
    assert path.read_bytes() == content
    assert hc.Statistics.load(path).n == 200
    assert [each.name for each in tmp_path.iterdir()] == ["a.hcs"]
    with pytest.raises(HeadcountError, match="cannot be read"):
        hc.Statistics.load(tmp_path / "b.hcs")
    path.write_bytes(content[:100])
    with pytest.raises(HeadcountError, match=r"a\.hcs.*damaged"):
        hc.Statistics.load(path)


def test_a_million_groups():
    training, y, new, _ = scored_problem(2, 1000, 0)
    q = hc.GPAC().fit(training, y)
    many = new.take(np.arange(1_000_000) % 1000)
    statistics = hc.Statistics(q).update(many, np.arange(1_000_000) // 1)
    again = hc.Statistics.from_bytes(statistics.to_bytes())
    assert len(again.groups) == 1_000_000
    assert again.n == 1_000_000
