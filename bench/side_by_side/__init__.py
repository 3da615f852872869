"""`./run bench --peers`: Taeda and PyTorch on the same work, in one run, taking turns."""
