"""einops and safetensors on tensors, under whatever `import torch` gives.

python library_calls.py <file.npz> einops | safetensors
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import torch


def numbers(*shape):
    return torch.arange(float(torch.Size(shape).numel())).view(*shape).requires_grad_()


def with_einops():
    import einops
    import einops.layers.torch as layers

    x, y = numbers(2, 3, 4, 6), numbers(2, 5, 6)
    found = {
        "rearrange": einops.rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=2, q=3),
        "reduce": einops.reduce(x, "b c h w -> b c", "mean"),
        "largest": einops.reduce(x, "b c (h 2) w -> b h w c", "max"),
        "repeat": einops.repeat(y, "b t d -> b t n d", n=3),
        "einsum": einops.einsum(x, y, "b c h d, b t d -> b c h t"),
        "stacked": einops.rearrange([y, y + 1], "n b t d -> b (n t) d"),
    }
    packed, shapes = einops.pack([x, y[:, :, None]], "b * d")
    found["packed"] = packed
    found["unpacked"] = einops.unpack(packed, shapes, "b * d")[1]
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        layers.Rearrange("b c h w -> b (h w) c"),
        layers.EinMix("b t c -> b t d", weight_shape="c d", bias_shape="d", c=3, d=4),
        layers.Reduce("b t d -> b d", "sum"),
    )
    found["layers"] = model(x)
    sum(value.square().sum() for value in found.values()).backward()
    found["gradient"], found["weight"] = x.grad, model[1].weight.grad
    return found


def with_safetensors():
    from safetensors import safe_open
    from safetensors.torch import load, load_file, load_model, save, save_file, save_model

    values = {
        "float": torch.linspace(0, 1, 6).view(2, 3),
        "half": torch.ones(3, dtype=torch.float16),
        "brain": torch.full((2, 2), 1.5, dtype=torch.bfloat16),
        "whole": torch.arange(4),
        "bits": torch.tensor([True, False]),
    }
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "values.safetensors")
        save_file(values, path, metadata={"kind": "test"})
        again = load_file(path)
        with safe_open(path, framework="pt") as file:
            assert file.metadata() == {"kind": "test"}
            assert torch.equal(file.get_slice("float")[:, 1:], values["float"][:, 1:])
            assert torch.equal(file.get_tensor("whole"), values["whole"])
        assert all(torch.equal(again[name], value) for name, value in values.items())
        assert all(torch.equal(v, values[n]) for n, v in load(save(values)).items())
        save_model(model, path)
        other = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
        load_model(other, path)
        assert torch.equal(other[0].weight, model[0].weight)
    return {name: value.float() for name, value in again.items()}


if __name__ == "__main__":
    found = {"einops": with_einops, "safetensors": with_safetensors}[sys.argv[2]]()
    np.savez(sys.argv[1], **{name: value.detach().numpy() for name, value in found.items()})
