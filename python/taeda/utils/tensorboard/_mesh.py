"""Bodies and clouds of points in three dimensions."""

import json

from taeda.utils.tensorboard import _protobuf as proto
from taeda.utils.tensorboard._values import FLOAT, as_tensor, metadata, tensor_message

_KINDS = {"VERTEX": 1, "FACE": 2, "COLOR": 3}


def mesh(tag, vertices, colors, faces, config_dict, display_name=None, description=None):
    """A summary of up to three values: places, triangles by places' numbers, and colors."""
    given = {"VERTEX": vertices, "FACE": faces, "COLOR": colors}
    given = {kind: as_tensor(part) for kind, part in given.items() if part is not None}
    config = "{}" if config_dict is None else json.dumps(config_dict, sort_keys=True)
    components = sum(1 << _KINDS[kind] for kind in given)
    written = b""
    for kind, part in given.items():
        if part.dim() != 3 or part.shape[-1] != 3:
            raise ValueError(f"[mesh] {kind} expected (batch, count, 3): got {tuple(part.shape)}")
        content = proto.text(2, tag) + proto.integer(3, _KINDS[kind]) + proto.text(5, config)
        content += proto.integers(6, part.shape) + proto.integer(7, components)
        values = proto.singles(5, part.flatten().tolist())
        fields = [proto.text(1, f"{tag}_{kind}"), tensor_message(FLOAT, part.shape, values)]
        written += proto.data(1, b"".join([*fields, metadata("mesh", content)]))
    return written
