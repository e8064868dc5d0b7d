"""Compiled loops: arrays in, arrays out; no validation, nothing of ours imported.

Every loop works on a range ``start:stop`` of independent items and writes each result to
its own place, so that ranges can be shared out among threads without changing a bit.
"""
