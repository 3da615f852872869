"""What callbacks at compilations get."""

import dataclasses
import enum

__all__ = ["CallbackArgs", "CallbackTrigger"]


class CallbackTrigger(enum.Enum):
    """What is compiled."""

    DYNAMO = 1
    LAZY_BACKWARD = 2
    TRITON_AUTOTUNING = 3
    CUDAGRAPH_RECORDING = 4


@dataclasses.dataclass
class CallbackArgs:
    """What a callback gets."""

    callback_trigger: CallbackTrigger
    compile_id: str
