"""Programs as data: graphs, tracing and symbolic shapes."""
