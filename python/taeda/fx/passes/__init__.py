"""Rewrites of graphs, and what looks at graphs."""
