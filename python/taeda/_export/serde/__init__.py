"""PyTorch's private paths of what export writes down."""
