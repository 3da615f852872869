"""Programs for PyTorch that read data by torch::data print the losses of their Python twins.

The programs in `programs` have the shape of PyTorch's C++ examples. PYTORCH_EXAMPLES, where it is
set, is a folder with a copy of github.com/pytorch/examples, whose mnist and dcgan are then compiled
as they are.
"""

import os
import pathlib

import pytest
from cpp_program import run_program
from cpp_twins import Classifier, Pair, write_digits

import taeda as t

pytestmark = pytest.mark.slow

PROGRAMS = pathlib.Path(__file__).with_name("programs")
EXAMPLES = os.environ.get("PYTORCH_EXAMPLES")
needs_examples = pytest.mark.skipif(not EXAMPLES, reason="PYTORCH_EXAMPLES names no folder")


def digits(folder, train, test):
    data = folder / "data"
    data.mkdir()
    write_digits(data, "train", train)
    write_digits(data, "t10k", test)
    return data


def run(name, folder, data):
    source = (PROGRAMS / name).read_text()
    return run_program(source, folder, str(data), with_torch_names=True).split()


def test_digits_have_equal_losses_in_both_languages(tmp_path):
    data = digits(tmp_path, 70, 40)
    printed = run("torch_mnist.cpp", tmp_path, data)
    twin = Classifier(data, channels=4, hidden=16, train_batch=16, test_batch=24)
    expected = []
    for _ in range(2):
        expected += [f"{loss:.6f}" for loss in twin.train()]
        loss, hits = twin.test()
        expected += [f"{loss:.6f}", str(hits)]
    assert printed == expected
    assert float(printed[-2]) < float(printed[0])
    state = t.serialization.load_archive(tmp_path / "model.pt")
    assert t.equal(state["fc2"]["weight"], twin.net.fc2.weight)


def test_a_pair_of_networks_has_equal_losses_in_both_languages(tmp_path):
    data = digits(tmp_path, 70, 1)
    printed = run("torch_dcgan.cpp", tmp_path, data)
    twin = Pair(data, noise=10, channels=4, batch=16, rate=2e-3)
    expected = [f"{loss:.6f}" for _ in range(2) for losses in twin.train() for loss in losses]
    assert printed == expected
    assert printed[0] != printed[-2]
    sample = t.serialization.load_archive(tmp_path / "sample-1.pt")
    assert {key: value.shape for key, value in sample.items()} == {"0": (2, 1, 28, 28)}
    twin.forge.eval()
    assert t.equal(sample["0"], (twin.forge(t.ones(2, 10, 1, 1)) + 1.0) / 2.0)


# What cpp/dcgan asks of the library that reads its command line.
ARGPARSE = """
#pragma once
#include <cstdint>
#include <ostream>
#include <string>
namespace argparse {
struct Argument {
  Argument& help(const char*) { return *this; }
  template <class T> Argument& default_value(T) { return *this; }
  template <char, class T> Argument& scan() { return *this; }
};
struct ArgumentParser {
  explicit ArgumentParser(const char*) {}
  Argument add_argument(const char*) { return {}; }
  void parse_args(int argc, const char* const* argv) { value = argc > 2 ? argv[2] : "30"; }
  template <class T> T get(const char*) const { return static_cast<T>(std::stoll(value)); }
  std::string value;
};
inline std::ostream& operator<<(std::ostream& out, const ArgumentParser&) { return out; }
}  // namespace argparse
"""


def run_example(name, folder, *arguments):
    (folder / "argparse").mkdir()
    (folder / "argparse/argparse.hpp").write_text(ARGPARSE)
    source = pathlib.Path(EXAMPLES, f"cpp/{name}/{name}.cpp").read_text()
    return run_program(source, folder, *arguments, with_torch_names=True, headers=[folder])


# Layers that are arguments of one call are made in the order of the compiler.
ORDER = """
#include <iostream>
struct Layer {
  explicit Layer(int n) : place(n) { std::cout << n; }
  int place;
};
template <class... T> int count(T&&... layers) { return (layers.place + ...); }
int main() { return count(Layer(1), Layer(2)) - 3; }
"""


@needs_examples
def test_the_example_of_digits_as_it_is(tmp_path):
    data = digits(tmp_path, 700, 300)
    printed = run_example("mnist", tmp_path)
    twin = Classifier(data, channels=10, hidden=50, train_batch=64, test_batch=1000)
    expected = "Training on CPU.\n"
    for epoch in range(1, 11):
        for i, loss in enumerate(twin.train()):
            if i % 10 == 0:
                seen = (i + 1) * min(64, 700 - 64 * i)
                expected += f"\rTrain Epoch: {epoch} [{seen:5}/{700:5}] Loss: {loss:.4f}"
        loss, hits = twin.test()
        expected += f"\nTest set: Average loss: {loss:.4f} | Accuracy: {hits / 300:.3f}\n"
    assert printed == expected.replace("\r", "\n")  # as texts are read


@needs_examples
def test_the_example_of_a_pair_as_it_is(tmp_path):
    data = digits(tmp_path, 700, 1)
    printed = run_example("dcgan", tmp_path, "--epochs", "2")
    last_layer_first = run_program(ORDER, tmp_path) == "21"
    twin = Pair(data, 100, channels=64, batch=64, rate=2e-4, last_layer_first=last_layer_first)
    expected = "Traning with number of epochs: 2\n"
    for epoch in range(1, 3):
        for i, (judged, fooled) in enumerate(twin.train(), 1):
            if i % 10 == 0:
                expected += f"\r[{epoch:2}/ 2][{i:3}/ 11] "
                expected += f"D_loss: {judged:.4f} | G_loss: {fooled:.4f}\n"
    assert printed == expected.replace("\r", "\n") + "Training complete!\n"
