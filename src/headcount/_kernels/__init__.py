"""Compiled loops: arrays in, arrays out, no validation, no imports of other packages.

Every loop works on a range ``start:stop`` of independent items and writes each result to
its own place. Ranges can therefore be distributed over threads without changing a bit.
"""
