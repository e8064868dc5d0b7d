"""
Correct an LLM judge
====================

A judge has a verdict on every answer and is wrong on some. People have labelled a random part.
Together they give the pass rate of each system, corrected for the errors of the judge.
"""

# %%
# This synthetic judge lets a third of the failures pass.
import numpy as np
import polars as pl

import headcount as hc

rng = np.random.default_rng(0)
n = 3000
system = rng.choice(["base", "tuned"], n)
truth = np.where(rng.random(n) < np.where(system == "tuned", 0.8, 0.7), "pass", "fail")
wrong = rng.random(n) < np.where(truth == "fail", 0.35, 0.05)
verdict = np.where(wrong, np.where(truth == "fail", "pass", "fail"), truth)
human = np.where(rng.random(n) < 0.2, truth, None)
answers = pl.DataFrame({"system": system, "judge": verdict, "human": human.tolist()})
for name in ("base", "tuned"):
    print(f"{name}: {np.mean(truth[system == name] == 'pass'):.1%} truly pass")

# %%
# ``raw`` is what counting the verdicts gives.
result = hc.judge(answers, verdict="judge", gold="human", by="system")
print(result)

# %%
ax = result.plot()
