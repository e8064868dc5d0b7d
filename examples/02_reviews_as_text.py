"""
Reviews as text
===============

What share of this week's reviews is negative? Texts are a column like any other.
"""

# %%
# Short synthetic reviews: 30% of the labelled ones are negative, and 60% of the new ones.
import numpy as np
import polars as pl

import headcount as hc

GOOD = ["lovely", "quick", "sturdy", "helpful", "bright", "reliable", "neat", "fine"]
BAD = ["broken", "late", "flimsy", "rude", "dull", "faulty", "messy", "fine"]
PLAIN = ["the", "box", "arrived", "on", "monday", "and", "colour", "is", "blue", "cable"]


def reviews(n, share, seed):
    rng = np.random.default_rng(seed)
    negative = rng.random(n) < share
    texts = []
    for is_negative in negative:
        mood = [BAD if rng.random() < (0.7 if is_negative else 0.3) else GOOD for _ in range(3)]
        words = [*rng.choice(PLAIN, 6), *(rng.choice(side) for side in mood)]
        texts.append(" ".join(rng.permutation(words)))
    return pl.DataFrame({"text": texts}), np.where(negative, "negative", "positive")


labelled, y = reviews(1500, 0.3, seed=0)
new, truth = reviews(1000, 0.6, seed=1)
print(new["text"][0])

# %%
# In a table: words become features without further settings.
table = labelled.with_columns(opinion=pl.Series(y))
result = hc.analyse(new, train=table, target="opinion", history="no")
counted = result.overall.classify_and_count[0]
print(f"true {np.mean(truth == 'negative'):.1%}, counted {counted:.1%}")
print(result.overall.estimate)

# %%
# In Python, with a pipeline of your own:
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

classifier = make_pipeline(TfidfVectorizer(), LogisticRegression())
quantifier = hc.SLD(classifier, random_state=0).fit(labelled["text"].to_list(), y)
ax = quantifier.estimate(new["text"].to_list(), random_state=0).plot()
