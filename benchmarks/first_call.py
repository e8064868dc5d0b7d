"""Fit on scores and predict once in this process, and print the seconds as JSON.

versus_peers.py runs it twice with the same ``NUMBA_CACHE_DIR``: the first process compiles, the
second finds compiled code.
"""

from __future__ import annotations

import json
import sys
from time import perf_counter


def main() -> None:
    task = json.loads(sys.argv[1])
    import numpy as np

    arrays = np.load(task["arrays"])
    training, pool, y, y_pool = (arrays[name] for name in ("training", "pool", "y", "y_pool"))

    start = perf_counter()
    import headcount as hc

    imported = perf_counter()
    size = {"size": task["size"], "random_state": 0}
    protocol = (
        hc.APP(n_prevalences=task["n_prevalences"], repeats=task["repeats"], **size)
        if task["n_prevalences"]
        else hc.UPP(n_samples=task["repeats"], **size)
    )
    model = getattr(hc, task["ours"])(**task["settings"])
    model.fit(hc.Scored(training), y)
    fitted = perf_counter()
    model.predict_many(hc.Scored(pool), protocol.draw(y_pool))
    predicted = perf_counter()
    print(
        json.dumps(
            {
                "import": imported - start,
                "fit": fitted - imported,
                "predict": predicted - fitted,
                "total": predicted - start,
            }
        )
    )


if __name__ == "__main__":
    main()
