"""The networks of section `models`, written once for a module `T` with PyTorch's names."""

from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple


class Network(NamedTuple):
    """How to build a network and, by batch and device, its input; what to measure it with."""

    build: Callable[[], Any]
    make_input: Callable[[int, str], Any]
    cpu_batch: int
    gpu_batch: int
    repeats: int = 7

    def batch(self, device: str, phase: str) -> int:
        if phase == "infer1":
            return 1
        return self.gpu_batch if device.startswith("cuda") else self.cpu_batch


def networks(T: ModuleType) -> dict[str, Network]:
    """By name; a part that a framework lacks raises when the network is built."""

    def rows(batch: int, device: str) -> Any:
        return T.randn(batch, 64, device=device)

    def image(batch: int, device: str) -> Any:
        return T.randn(batch, 3, 224, 224, device=device)

    def words(vocabulary: int) -> Callable[[int, str], Any]:
        return lambda batch, device: T.randint(0, vocabulary, (batch, 128), device=device)

    bert = {"vocabulary": 30522, "length": 512, "is_causal": False, "norm_last": True}
    gpt = {"vocabulary": 50257, "length": 1024, "is_causal": True, "norm_last": False}
    return {
        "mlp": Network(lambda: mlp(T), rows, 32, 32, repeats=50),
        "resnet50": Network(lambda: resnet50(T), image, 8, 128),
        "vit_b16": Network(lambda: vision_transformer(T), image, 4, 64),
        "bert_base": Network(lambda: language_model(T, **bert), words(30000), 4, 64),
        "gpt2": Network(lambda: language_model(T, **gpt), words(50000), 4, 64),
    }


def mlp(T: ModuleType) -> Any:
    nn = T.nn
    layers = [nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10)]
    return nn.Sequential(*layers)


def resnet50(T: ModuleType) -> Any:
    nn = T.nn

    def conv_norm(inputs: int, outputs: int, kernel: int, stride: int = 1) -> list[Any]:
        conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
        return [conv, nn.BatchNorm2d(outputs)]

    class Bottleneck(nn.Module):
        def __init__(self, inputs: int, width: int, stride: int) -> None:
            super().__init__()
            outputs = 4 * width
            self.body = nn.Sequential(
                *conv_norm(inputs, width, 1),
                nn.ReLU(inplace=True),
                *conv_norm(width, width, 3, stride),
                nn.ReLU(inplace=True),
                *conv_norm(width, outputs, 1),
            )
            self.relu = nn.ReLU(inplace=True)
            keeps_shape = stride == 1 and inputs == outputs
            shortcut = [] if keeps_shape else conv_norm(inputs, outputs, 1, stride)
            self.shortcut = nn.Sequential(*shortcut) if shortcut else None

        def forward(self, x):
            past = x if self.shortcut is None else self.shortcut(x)
            return self.relu(self.body(x) + past)

    layers = [*conv_norm(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for width, blocks, first_stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for index in range(blocks):
            layers.append(Bottleneck(inputs, width, first_stride if index == 0 else 1))
            inputs = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


def block(T: ModuleType, width: int, heads: int, is_causal: bool, norm_last: bool) -> Any:
    """A transformer's layer; `norm_last` normalizes after each part (BERT), not before it."""
    nn, F = T.nn, T.nn.functional

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def attend(self, x):
            batch, length, _ = x.shape
            qkv = self.qkv(x).view(batch, length, 3, heads, width // heads)
            q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
            return self.out(mixed.transpose(1, 2).reshape(batch, length, width))

        def feed(self, x):
            return self.down(F.gelu(self.up(x)))

        def forward(self, x):
            if norm_last:
                x = self.norm1(x + self.attend(x))
                return self.norm2(x + self.feed(x))
            x = x + self.attend(self.norm1(x))
            return x + self.feed(self.norm2(x))

    return Block()


def vision_transformer(T: ModuleType) -> Any:
    """ViT-B/16: twelve layers over patches of 16 x 16."""
    nn, width, patch = T.nn, 768, 16

    class VisionTransformer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, width, patch, patch)
            self.first = nn.Parameter(T.zeros(1, 1, width))
            self.places = nn.Parameter(T.randn(1, (224 // patch) ** 2 + 1, width) * 0.02)
            self.blocks = nn.Sequential(*[block(T, width, 12, False, False) for _ in range(12)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

        def forward(self, x):
            x = self.patches(x).flatten(2).transpose(1, 2)
            x = T.cat([self.first.expand(x.shape[0], -1, -1), x], 1) + self.places
            return self.head(self.norm(self.blocks(x))[:, 0])

    return VisionTransformer()


def language_model(
    T: ModuleType, vocabulary: int, length: int, is_causal: bool, norm_last: bool
) -> Any:
    """Twelve layers between an embedding and a head over the vocabulary: BERT-base, GPT-2."""
    nn, width = T.nn, 768

    class LanguageModel(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
            layers = [block(T, width, 12, is_causal, norm_last) for _ in range(12)]
            self.blocks = nn.ModuleList(layers)
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

        def forward(self, ids):
            x = self.words(ids) + self.places(T.arange(ids.shape[1], device=ids.device))
            for layer in self.blocks:
                x = layer(x)
            return self.head(self.norm(x))

    return LanguageModel()
