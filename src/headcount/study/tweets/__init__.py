"""Sentiment of tweets, three classes: Moreo and Sebastiani (2022)."""

from __future__ import annotations

from headcount.study.tweets.experiment import TweetSentiment, experiment

__all__ = ["TweetSentiment", "experiment"]
