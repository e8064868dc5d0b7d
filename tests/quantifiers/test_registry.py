from __future__ import annotations

import re

import pytest

import headcount as hc
from headcount.errors import HeadcountError
from headcount.quantifiers.registry import _plain, quantifiers


@pytest.mark.parametrize("name", quantifiers())
def test_every_method_is_found_by_its_name_however_it_is_written(name):
    found = quantifiers()[name]
    for written in (name, name.lower(), name.upper(), f" {name} ", f"({'-'.join(name)})"):
        assert hc.method(written) is found
    for alias in found.info.aliases:
        assert hc.method(alias) is found


def test_no_name_is_given_twice():
    owners: dict[str, set[str]] = {}
    for name, quantifier in quantifiers().items():
        for written in (name, *quantifier.info.aliases):
            owners.setdefault(_plain(written), set()).add(name)
    assert {written: names for written, names in owners.items() if len(names) > 1} == {}


@pytest.mark.parametrize(
    ("paper", "ours"),
    [
        ("AC", "ACC"),
        ("PAC", "PACC"),
        ("TSX", "TX"),
        ("TS50", "T50"),
        ("TSMax", "TMAX"),
        ("EM", "SLD"),
        ("EMQ", "SLD"),
        ("SVM-K", "SVMK"),
        ("SVM(KLD)", "SVMK"),
        ("SVM(NKLD)", "SVMN"),
        ("SVM(Q)", "SVMQ"),
        ("SVM(AE)", "SVMAE"),
        ("SVM(RAE)", "SVMRAE"),
        ("PWk", "PWK"),
        ("QF-AC", "QFAC"),
        ("KDEy-ML", "KDEyML"),
        ("one vs. rest", "OneVsRest"),
    ],
)
def test_papers_names(paper, ours):
    assert hc.method(paper).__name__ == ours


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("SDL", "name is 'SDL', which is not a method: did you mean SLD"),
        ("QF-ACC", "did you mean QFAC or "),
        ("zzzzzzz", "name is 'zzzzzzz', which is not a method: hc.methods() lists them all."),
        ("pat", "learns from labelled items of one class and is not made by name: use hc.PAT."),
        ("", "name is '', which is not a method"),
        (3, "name is 3; it must be a string, such as 'SLD'."),
        (None, "name is None; it must be a string"),
    ],
)
def test_unknown_names(name, message):
    with pytest.raises(HeadcountError, match=re.escape(message)):
        hc.method(name)


def test_the_table_tells_other_names():
    frame = hc.methods().to_frame()
    told = dict(zip(frame["method"], frame["aliases"], strict=True))
    assert told["SLD"] == "EMQ, EM"
    assert told["QFAC"] == "QF-AC"
    assert told["CC"] == ""
    assert repr(hc.methods()).splitlines()[0].endswith("aliases")
