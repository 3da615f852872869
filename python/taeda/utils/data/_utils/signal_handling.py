"""PyTorch's path; the end of a worker is noticed at its pipe, without handlers of signals."""
