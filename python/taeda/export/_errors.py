"""The exceptions of export."""


class UserError(RuntimeError):
    """Export cannot do this with the user's program."""
