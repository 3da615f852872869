"""The exceptions of export."""


class UserError(RuntimeError):
    """Export cannot do this with the user's program; `msg` is the text."""

    def __init__(self, msg):
        super().__init__(msg)
        self.msg = msg
