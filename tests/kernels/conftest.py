from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.kernels.calls import plain


@pytest.fixture(params=["compiled", "plain"])
def version(request: pytest.FixtureRequest) -> Callable:
    """Kernels are tested both compiled and as the Python they were written in."""
    return plain if request.param == "plain" else lambda kernel: kernel
