"""Models of transformers with random weights, under whatever `import torch` gives.

    [COMPILED=backend] python transformers_models.py <folder> [model...]

Writes <model>.npz for each: outputs, the gradients of all parameters, tokens that were generated.
Saves the model, loads it again and asserts that its outputs are the same. With COMPILED the model
is compiled by a backend; breaks of its graphs are printed.
"""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers as tf

SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}


def ids(size, batch=2, length=9):
    return torch.arange(batch * length).view(batch, length) * 7 % size


def picture():
    return torch.linspace(-1, 1, 2 * 3 * 16 * 16).view(2, 3, 16, 16)


def bert():
    config = tf.BertConfig(vocab_size=99, intermediate_size=64, **SMALL)
    mask = torch.ones(2, 9, dtype=torch.long)
    mask[1, 6:] = 0
    inputs = {"input_ids": ids(99), "attention_mask": mask, "labels": ids(99)}
    return tf.BertForMaskedLM(config), inputs, None


def gpt2():
    config = tf.GPT2Config(
        vocab_size=99,
        n_positions=64,
        n_embd=32,
        n_layer=2,
        n_head=2,
        bos_token_id=1,
        eos_token_id=98,
    )
    return tf.GPT2LMHeadModel(config), {"input_ids": ids(99), "labels": ids(99)}, ids(97, 2, 5)


def llama():
    config = tf.LlamaConfig(
        vocab_size=99,
        intermediate_size=64,
        num_key_value_heads=1,
        max_position_embeddings=64,
        **SMALL,
    )
    return tf.LlamaForCausalLM(config), {"input_ids": ids(99), "labels": ids(99)}, ids(97, 2, 5)


def t5():
    config = tf.T5Config(
        vocab_size=99,
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        decoder_start_token_id=0,
    )
    model = tf.T5ForConditionalGeneration(config)
    return model, {"input_ids": ids(99), "labels": ids(97, 2, 4)}, ids(97, 2, 6)


def vit():
    config = tf.ViTConfig(image_size=16, patch_size=4, intermediate_size=64, num_labels=5, **SMALL)
    inputs = {"pixel_values": picture(), "labels": torch.tensor([1, 3])}
    return tf.ViTForImageClassification(config), inputs, None


def whisper():
    config = tf.WhisperConfig(
        vocab_size=99,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        num_mel_bins=8,
        max_source_positions=20,
        max_target_positions=32,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=98,
        decoder_start_token_id=2,
        suppress_tokens=None,
        begin_suppress_tokens=None,
    )
    features = torch.linspace(-1, 1, 2 * 8 * 40).view(2, 8, 40)
    inputs = {"input_features": features, "labels": ids(97, 2, 4)}
    return tf.WhisperForConditionalGeneration(config), inputs, features


def clip():
    text = {"vocab_size": 99, "intermediate_size": 64, "max_position_embeddings": 32, **SMALL}
    vision = {"image_size": 16, "patch_size": 4, "intermediate_size": 64, **SMALL}
    text["eos_token_id"] = 98
    config = tf.CLIPConfig(text_config=text, vision_config=vision, projection_dim=16)
    inputs = {"input_ids": ids(99), "pixel_values": picture(), "return_loss": True}
    return tf.CLIPModel(config), inputs, None


MODELS = {f.__name__: f for f in (bert, gpt2, llama, t5, vit, whisper, clip)}


def tensors_of(prefix, value):
    """The tensors of an output of a model, by their paths."""
    if isinstance(value, torch.Tensor):
        return {prefix: value.detach()}
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, (tuple, list)):
        items = enumerate(value)
    else:
        return {}
    return {k: v for name, item in items for k, v in tensors_of(f"{prefix}.{name}", item).items()}


def run(name):
    torch.manual_seed(0)
    model, inputs, prompt = MODELS[name]()
    backend = os.environ.get("COMPILED")
    if backend:
        model.compile(backend=backend)
    model.train()
    trained = model(**inputs)
    model.eval()
    outputs = model(**inputs)
    outputs.loss.backward()
    found = {"trained": trained.loss.detach(), **tensors_of("outputs", outputs)}
    for key, parameter in model.named_parameters():
        if parameter.grad is not None:
            found[f"gradient.{key}"] = parameter.grad
    if prompt is not None:
        found["greedy"] = model.generate(prompt, max_new_tokens=6, do_sample=False)
        found["beams"] = model.generate(prompt, max_new_tokens=6, num_beams=3, do_sample=False)
        torch.manual_seed(1)
        found["sampled"] = model.generate(prompt, max_new_tokens=6, do_sample=True, top_k=20)
    if backend:
        from torch._dynamo.utils import counters

        print(name, counters["stats"]["unique_graphs"], *counters["graph_break"], sep="; ")
        counters.clear()
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        again = type(model).from_pretrained(folder).eval()
        torch.save(model.state_dict(), f"{folder}/state.pt")
        again.load_state_dict(torch.load(f"{folder}/state.pt"))
    assert torch.equal(again(**inputs).loss, outputs.loss)
    return {key: value.numpy() for key, value in found.items()}


def main(folder, *names):
    tf.logging.set_verbosity_error()
    for name in names or MODELS:
        np.savez(Path(folder) / f"{name}.npz", **run(name))


if __name__ == "__main__":
    main(*sys.argv[1:])
