from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, softmax

import headcount as hc
from headcount.errors import HeadcountError

LOGITS = np.random.default_rng(0).normal(scale=3, size=(50, 4))


def test_logits_are_posteriors_before_the_softmax():
    scored = hc.Scored(logits=LOGITS, classes=["a", "b", "c", "d"])
    np.testing.assert_allclose(scored.posteriors, softmax(LOGITS, axis=1))
    assert scored.take([3, 1]).classes.tolist() == ["a", "b", "c", "d"]
    np.testing.assert_allclose(scored.take([3]).posteriors, softmax(LOGITS[[3]], axis=1))
    joined = hc.Scored.concatenate([scored, scored])
    assert len(joined) == 100


def test_a_vector_of_logits_holds_log_odds_of_the_second_class():
    scored = hc.Scored(logits=LOGITS[:, 0])
    np.testing.assert_allclose(scored.posteriors[:, 1], expit(LOGITS[:, 0]))


def test_logits_of_low_precision_keep_small_posteriors():
    scored = hc.Scored(logits=np.array([[40.0, 0.0], [0.0, 3.0]], np.float16))
    assert 0 < scored.posteriors[0, 1] < 1e-15


class Tensor:
    """What a tensor of PyTorch on another device, with gradients, allows."""

    def __init__(self, values, bits=32):
        self.values, self.bits = values, bits

    def __array__(self, *_, **__):
        raise RuntimeError("call detach first")

    def detach(self):
        return self

    def cpu(self):
        return self

    def float(self):
        return Tensor(self.values)

    def numpy(self):
        if self.bits == 16:
            raise TypeError("unsupported ScalarType BFloat16")
        return self.values.astype(np.float32)


@pytest.mark.parametrize("bits", [16, 32])
def test_tensors_are_taken_from_any_device(bits):
    scored = hc.Scored(logits=Tensor(LOGITS, bits))
    np.testing.assert_allclose(scored.posteriors, softmax(LOGITS, axis=1), atol=1e-6)
    posteriors = softmax(LOGITS, axis=1)
    np.testing.assert_allclose(hc.Scored(Tensor(posteriors)).posteriors, posteriors, atol=1e-6)


def test_tensors_of_pytorch():
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(LOGITS, requires_grad=True)
    np.testing.assert_allclose(hc.Scored(logits=tensor).posteriors, softmax(LOGITS, axis=1))
    low = hc.Scored(logits=tensor.to(torch.bfloat16)).posteriors
    np.testing.assert_allclose(low, softmax(LOGITS, axis=1), atol=0.05)
    np.testing.assert_allclose(hc.Scored(tensor.softmax(1)).posteriors, softmax(LOGITS, axis=1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "needs posteriors or logits"),
        ({"posteriors": [0.1, 0.9], "logits": [1.0, 2.0]}, "and not both"),
        ({"logits": [[1.0], [2.0]]}, "logits has 1 columns"),
        ({"logits": np.zeros((2, 2, 2))}, "logits has 3 dimensions"),
        ({"logits": [[0.0, np.nan]]}, "logits has NaN or infinite values in 1 of 1 rows"),
        ({"logits": [["a", "b"]]}, "logits is not numeric"),
    ],
)
def test_bad_logits_are_refused(arguments, message):
    with pytest.raises(HeadcountError, match=message):
        hc.Scored(**arguments)
