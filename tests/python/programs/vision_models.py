"""Image models written as torchvision and timm write theirs, under whatever `import torch` gives.

    python vision_models.py <folder>

Writes <model>.npz for each: losses of three steps of training, outputs, and gradients.
"""

import sys
from collections import OrderedDict
from functools import partial
from pathlib import Path
from typing import Any, Callable  # noqa: UP035

import numpy as np
import torch
import torch.fx
import torch.nn.functional as F
import torch.utils.checkpoint as cp
from torch import Tensor, nn
from torch.jit import Final
from torch.nn.init import trunc_normal_
from torch.nn.modules.utils import _pair
from torch.utils.checkpoint import checkpoint

# ---- as torchvision does ----


def conv3x3(in_planes: int, out_planes: int, stride: int = 1, groups: int = 1) -> nn.Conv2d:
    return nn.Conv2d(in_planes, out_planes, 3, stride, 1, groups=groups, bias=False)


class BasicBlock(nn.Module):
    expansion: int = 1

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        norm_layer = norm_layer or nn.BatchNorm2d
        self.conv1, self.bn1 = conv3x3(inplanes, planes, stride), norm_layer(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2, self.bn2 = conv3x3(planes, planes), norm_layer(planes)
        self.downsample = downsample

    def forward(self, x: Tensor) -> Tensor:
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, block: type[BasicBlock], layers: list[int], num_classes: int = 5) -> None:
        super().__init__()
        torch._C._log_api_usage_once("tests.ResNet")
        self.inplanes = 8
        self.conv1 = nn.Conv2d(3, 8, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1, self.relu = nn.BatchNorm2d(8), nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, 8, layers[0])
        self.layer2 = self._make_layer(block, 16, layers[1], stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(16 * block.expansion, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)

    def _make_layer(self, block, planes: int, blocks: int, stride: int = 1) -> nn.Sequential:
        downsample = None
        if stride != 1 or self.inplanes != planes * block.expansion:
            downsample = nn.Sequential(
                nn.Conv2d(self.inplanes, planes, 1, stride, bias=False), nn.BatchNorm2d(planes)
            )
        layers = [block(self.inplanes, planes, stride, downsample)]
        self.inplanes = planes * block.expansion
        layers += [block(self.inplanes, planes) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def _forward_impl(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.avgpool(self.layer2(self.layer1(x)))
        return self.fc(torch.flatten(x, 1))

    def forward(self, x: Tensor) -> Tensor:
        return self._forward_impl(x)


class _DenseLayer(nn.Module):
    def __init__(self, features: int, growth: int, memory_efficient: bool = True) -> None:
        super().__init__()
        self.norm1, self.relu1 = nn.BatchNorm2d(features), nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(features, growth, kernel_size=3, padding=1, bias=False)
        self.memory_efficient = memory_efficient

    def bn_function(self, inputs: list[Tensor]) -> Tensor:
        return self.conv1(self.relu1(self.norm1(torch.cat(inputs, 1))))

    def any_requires_grad(self, input: list[Tensor]) -> bool:
        return any(tensor.requires_grad for tensor in input)

    @torch.jit.unused
    def call_checkpoint_bottleneck(self, input: list[Tensor]) -> Tensor:
        def closure(*inputs):
            return self.bn_function(inputs)

        return cp.checkpoint(closure, *input, use_reentrant=False)

    @torch.jit._overload_method
    def forward(self, input: list[Tensor]) -> Tensor:
        pass

    @torch.jit._overload_method
    def forward(self, input: Tensor) -> Tensor:  # noqa: F811
        pass

    def forward(self, input: Tensor | list[Tensor]) -> Tensor:  # noqa: F811
        inputs = [input] if isinstance(input, Tensor) else input
        if self.memory_efficient and self.any_requires_grad(inputs):
            if torch.jit.is_scripting():
                raise Exception("Memory Efficient not supported in JIT")
            return self.call_checkpoint_bottleneck(inputs)
        return self.bn_function(inputs)


class DenseNet(nn.Module):
    def __init__(self, num_classes: int = 5) -> None:
        super().__init__()
        self.features = nn.Sequential(
            OrderedDict(
                [("conv0", nn.Conv2d(3, 6, 3, 2, 1, bias=False)), ("norm0", nn.BatchNorm2d(6))]
            )
        )
        self.layers = nn.ModuleDict({f"denselayer{i}": _DenseLayer(6 + 4 * i, 4) for i in range(3)})
        self.classifier = nn.Linear(18, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        features = [self.features(x)]
        for _, layer in self.layers.items():
            features.append(layer(features))
        out = F.adaptive_avg_pool2d(F.relu(torch.cat(features, 1), inplace=True), (1, 1))
        return self.classifier(torch.flatten(out, 1))


# ---- as timm does ----


@torch.jit.script
def hard_mish(x):
    return 0.5 * x * (x + 2).clamp(min=0, max=2)


def drop_path(x, drop_prob: float = 0.0, training: bool = False):
    if drop_prob == 0.0 or not training:
        return x
    keep_prob = 1 - drop_prob
    shape = (x.shape[0],) + (1,) * (x.ndim - 1)
    random_tensor = x.new_empty(shape).bernoulli_(keep_prob)
    return x * random_tensor.div_(keep_prob)


class DropPath(nn.Module):
    def __init__(self, drop_prob: float = 0.0):
        super().__init__()
        self.drop_prob = drop_prob

    def forward(self, x):
        return drop_path(x, self.drop_prob, self.training)

    def extra_repr(self):
        return f"drop_prob={round(self.drop_prob, 3):0.3f}"


@torch.fx.wrap
def resample_position(posemb: Tensor, size: list[int]) -> Tensor:
    posemb = posemb.reshape(1, 4, 4, -1).permute(0, 3, 1, 2)
    posemb = F.interpolate(posemb, size=size, mode="bicubic", antialias=True)
    return posemb.permute(0, 2, 3, 1).flatten(1, 2)


class Attention(nn.Module):
    fused_attn: Final[bool]

    def __init__(self, dim: int, num_heads: int = 2, fused: bool = True) -> None:
        super().__init__()
        self.num_heads, self.head_dim = num_heads, dim // num_heads
        self.scale, self.fused_attn = self.head_dim**-0.5, fused
        self.qkv, self.proj = nn.Linear(dim, dim * 3), nn.Linear(dim, dim)
        self.q_norm, self.attn_drop = nn.LayerNorm(self.head_dim), nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.num_heads, self.head_dim).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        q = self.q_norm(q)
        if self.fused_attn:
            x = F.scaled_dot_product_attention(q, k, v)
        else:
            attn = self.attn_drop(((q * self.scale) @ k.transpose(-2, -1)).softmax(dim=-1))
            x = attn @ v
        return self.proj(x.transpose(1, 2).reshape(B, N, C))


class Block(nn.Module):
    def __init__(self, dim: int, drop: float, fused: bool, norm_layer: Any = nn.LayerNorm) -> None:
        super().__init__()
        self.norm1, self.norm2 = norm_layer(dim), norm_layer(dim)
        self.attn, self.drop_path = Attention(dim, fused=fused), DropPath(drop)
        self.mlp = nn.Sequential(
            nn.Linear(dim, 2 * dim), nn.GELU(approximate="tanh"), nn.Linear(2 * dim, dim)
        )
        self.gamma = nn.Parameter(1e-1 * torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.drop_path(self.attn(self.norm1(x)) * self.gamma)
        return x + self.drop_path(self.mlp(self.norm2(x)))


class VisionTransformer(nn.Module):
    def __init__(self, dim: int = 16, depth: int = 3, num_classes: int = 5, patch: Any = 4):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, dim, kernel_size=_pair(patch), stride=_pair(patch))
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(torch.randn(1, 16, dim) * 0.02)
        rates = [x.item() for x in torch.linspace(0, 0.2, depth)]
        norm_layer = partial(nn.LayerNorm, eps=1e-6)
        self.blocks = nn.Sequential(
            *[Block(dim, rates[i], i % 2 == 0, norm_layer) for i in range(depth)]
        )
        self.norm, self.head = norm_layer(dim), nn.Linear(dim, num_classes)
        self.grad_checkpointing = False
        trunc_normal_(self.cls_token, std=0.02)
        self.apply(self._init_weights)

    @staticmethod
    def _init_weights(m: nn.Module) -> None:
        if isinstance(m, nn.Linear):
            trunc_normal_(m.weight, std=0.02)
            nn.init.zeros_(m.bias)

    @torch.jit.ignore
    def set_grad_checkpointing(self, enable: bool = True) -> None:
        self.grad_checkpointing = enable

    @torch.jit.ignore
    def no_weight_decay(self) -> set:
        return {"pos_embed", "cls_token"}

    def forward(self, x: Tensor) -> Tensor:
        x = self.patch_embed(x)
        size: tuple[int, int] = x.shape[-2:]
        x = x.flatten(2).transpose(1, 2) + resample_position(self.pos_embed, list(size))
        x = torch.cat([self.cls_token.expand(x.shape[0], -1, -1), x], dim=1)
        if self.grad_checkpointing and not torch.jit.is_scripting():
            for block in self.blocks:
                x = checkpoint(block, x, use_reentrant=False)
        else:
            x = self.blocks(x)
        return self.head(hard_mish(self.norm(x)[:, 0]))


def adam_with_groups(model):
    skip = getattr(model, "no_weight_decay", set)()
    decay = [p for n, p in model.named_parameters() if p.ndim > 1 and n not in skip]
    rest = [p for n, p in model.named_parameters() if p.ndim <= 1 or n in skip]
    groups = [{"params": rest, "weight_decay": 0.0}, {"params": decay, "weight_decay": 0.05}]
    return torch.optim.AdamW(groups, lr=1e-3)


MODELS = {
    "resnet": lambda: ResNet(BasicBlock, [1, 2]),
    "densenet": DenseNet,
    "transformer": VisionTransformer,
}


def run(name):
    torch.manual_seed(0)
    model = MODELS[name]()
    if hasattr(model, "set_grad_checkpointing"):
        model.set_grad_checkpointing()
    images = (
        torch.linspace(-1, 1, 2 * 3 * 24 * 24)
        .view(2, 3, 24, 24)
        .to(memory_format=torch.channels_last)
    )
    target = torch.tensor([1, 3])
    optimizer, losses = adam_with_groups(model), []
    for _ in range(3):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), target, label_smoothing=0.1)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    found = {"losses": torch.tensor(losses), "output": model(images).detach()}
    traced = torch.fx.symbolic_trace(model) if name == "resnet" else model
    assert torch.allclose(traced(images), found["output"])
    found.update({f"gradient.{n}": p.grad for n, p in model.named_parameters()})
    found.update({f"state.{n}": v for n, v in model.state_dict().items()})
    return {key: value.numpy() for key, value in found.items()}


if __name__ == "__main__":
    for model_name in MODELS:
        np.savez(Path(sys.argv[1]) / f"{model_name}.npz", **run(model_name))
