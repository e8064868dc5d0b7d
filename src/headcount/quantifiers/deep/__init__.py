"""Networks that learn from whole samples; PyTorch is imported when one is fitted."""
