from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from numpy.testing import assert_allclose
from tests.kernels import workload

ROOT = Path(__file__).parents[2]


def test_every_kernel_gives_the_same_without_the_compiler(tmp_path):
    saved = tmp_path / "found.npz"
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.kernels.workload", str(saved)],
        cwd=ROOT,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": paths},
        check=True,
    )
    compiled = workload.run()
    with np.load(saved) as plain:
        assert sorted(plain.files) == sorted(compiled)
        for name, expected in compiled.items():
            assert_allclose(plain[name], expected, rtol=1e-12, atol=1e-12, err_msg=name)
