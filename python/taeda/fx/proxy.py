"""Proxies and what records their uses."""

from taeda.fx._proxy_values import Attribute, ParameterProxy, Proxy
from taeda.fx._tracer_base import (
    GraphAppendingTracer,
    Scope,
    ScopeContextManager,
    TraceError,
    TracerBase,
)

__all__ = [
    "Attribute",
    "GraphAppendingTracer",
    "ParameterProxy",
    "Proxy",
    "Scope",
    "ScopeContextManager",
    "TraceError",
    "TracerBase",
]
