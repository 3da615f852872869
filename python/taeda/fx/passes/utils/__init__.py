"""Looking for parts of graphs and moving them."""
