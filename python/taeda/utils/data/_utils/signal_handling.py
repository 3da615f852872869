"""PyTorch's path; the end of a worker is noticed at its pipe, and no handler of signals is needed."""
