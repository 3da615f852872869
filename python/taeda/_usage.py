"""Libraries tell PyTorch which of their functions are used; here nobody listens."""


def _log_api_usage_once(event):
    """Takes a name, and keeps nothing of it."""
    if not isinstance(event, str):
        raise TypeError(f"_log_api_usage_once(): expected a str, got {type(event).__name__}")
