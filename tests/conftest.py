from __future__ import annotations

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def _one_thread_for_small_matrices():
    # Threads of the linear algebra library make fits of small classifiers many times slower.
    with threadpool_limits(1):
        yield
