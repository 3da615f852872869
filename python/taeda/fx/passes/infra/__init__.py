"""How passes are put together and run."""
