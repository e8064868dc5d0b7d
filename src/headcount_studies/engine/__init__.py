"""The engine of experiments: a spec goes in, a store of results comes out."""
