"""
Shares from two tables
======================

Rodents on open plots are labelled with their genus; those behind fences are new. An experiment
changed the mix and little else, so ``history="no"`` assumes just that.
"""

# %%
# The tables are frames here; paths of CSV, Excel or Parquet files work as well.
import headcount as hc
from headcount_studies.demo.run import plot_tables

labelled, new = plot_tables(seed=0)
labelled, truth = labelled.drop("plot", "treatment"), new["genus"]
new = new.drop("plot", "genus")
print(labelled.head(3))

# %%
# One call. The result has a share, an interval and a verdict for each group.
result = hc.analyse(new, train=labelled, target="genus", by="treatment", history="no")
print(result.overall.estimate)

# %%
# How far off is counting the predictions of the same classifier?
estimate = result.overall.estimate
counted = dict(zip(estimate.classes, result.overall.classify_and_count, strict=True))
for genus in estimate.classes:
    true = (truth == genus).mean()
    print(
        f"{genus:16} true {true:5.1%}  headcount {estimate.prevalence[genus]:5.1%}  "
        f"counted {counted[genus]:5.1%}"
    )

# %%
# ``result.report("report.html")`` writes a page to share. The estimate also draws itself.
ax = estimate.plot()
