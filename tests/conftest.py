from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

# The same examples in every run, however long they take: a busy machine is not a failure, and
# a change passes or fails for reasons of its own. `--hypothesis-profile=search` tries others.
settings.register_profile(
    "search",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("same", settings.get_profile("search"), derandomize=True)
settings.load_profile("same")


@pytest.fixture(autouse=True, scope="session")
def _one_thread_for_small_matrices():
    # Threads of the linear algebra library make fits of small classifiers many times slower.
    with threadpool_limits(1):
        yield
