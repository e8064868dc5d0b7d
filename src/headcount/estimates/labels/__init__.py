"""A few labels from the target, and the corrected rates of judges."""
