"""Quantifiers made of several quantifiers or classifiers."""
