"""Programs compiled ahead of time into one file, and their runs in Python and C++."""

import io
from pathlib import Path

import pytest
from cpp_program import run_program
from taeda._inductor import aoti_compile_and_package, aoti_load_package, config

import taeda
from taeda import nn
from taeda.export import Dim, export

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
DYNAMIC = {0: Dim("batch", max=64)}


class Model(nn.Module):
    """Arguments and results in containers, parameters, and a buffer that counts."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 4)
        self.norm = nn.LayerNorm(4)
        self.register_buffer("calls", taeda.zeros((), dtype=taeda.int64))

    def forward(self, x, pair, *, scale):
        self.calls.add_(1)
        h = self.norm(taeda.relu(self.linear(x)))
        return {"scaled": h * scale, "sums": (h.sum(-1), pair["a"] + pair["b"]), "none": None}


def example(rows):
    pair = {"a": taeda.randn(3), "b": taeda.randn(3)}
    return (taeda.randn(rows, 6), pair), {"scale": taeda.tensor(1.5)}


def exported_model():
    args, kwargs = example(8)
    shapes = {"x": DYNAMIC, "pair": {"a": None, "b": None}, "scale": None}
    return export(Model(), args, kwargs, dynamic_shapes=shapes)


def packed(program, **settings):
    """The program loaded from a package that never lies on disk."""
    file = io.BytesIO()
    assert aoti_compile_and_package(program, package_path=file, **settings) is file
    return aoti_load_package(file)


def same(got, want):
    got, want = taeda.utils._pytree.tree_leaves(got), taeda.utils._pytree.tree_leaves(want)
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        assert taeda.equal(a, b) if isinstance(b, taeda.Tensor) else a == b


def is_native(model):
    reports = model.report()
    kernels = sum(r["kernels"] for r in reports)
    return kernels > 0 and kernels == sum(r["native"] for r in reports) and not model.problem


def check(module, args, others=(), **options):
    """Compares a package with the module it was made from; returns the package."""
    program = export(module, args, **options)
    model = packed(program)
    for inputs in (args, *others):
        same(model(*inputs), program.module()(*inputs))
    assert is_native(model)
    return model


# ---- runs ----


def test_a_package_has_the_signature_of_its_program(tmp_path):
    program = exported_model()
    path = tmp_path / "model.pt2"
    assert aoti_compile_and_package(program, package_path=path) == path
    model = aoti_load_package(path)
    assert is_native(model)
    module = program.module()
    for rows in (8, 3, 64):
        args, kwargs = example(rows)
        same(model(*args, **kwargs), module(*args, **kwargs))
    assert model.interpreted_runs == 0
    assert [p.name for p in tmp_path.iterdir()] == ["model.pt2"]


def test_sizes_that_were_not_traced_are_interpreted():
    program = exported_model()
    model = packed(program)
    for rows in (1, 0):
        args, kwargs = example(rows)
        same(model(*args, **kwargs), program.module()(*args, **kwargs))
    assert model.interpreted_runs == 2


def test_input_checks_hold():
    model = packed(exported_model())
    args, kwargs = example(65)
    with pytest.raises(AssertionError, match=r"Guard failed: x.size\(\)\[0\] <= 64; got 65"):
        model(*args, **kwargs)
    (x, pair), kwargs = example(4)
    with pytest.raises(AssertionError, match=r"x.dtype == torch.float32"):
        model(x.double(), pair, **kwargs)
    with pytest.raises(ValueError, match="kwarg keyword mismatch"):
        model(x, pair)
    with pytest.raises(ValueError, match="exported input tree spec"):
        model(x, {"a": pair["a"]}, **kwargs)


def test_a_decomposed_program():
    program = exported_model().run_decompositions()
    model = packed(program)
    args, kwargs = example(5)
    module = program.module()
    for _ in range(3):
        same(model(*args, **kwargs), module(*args, **kwargs))
    assert is_native(model)


def test_writes_to_inputs_and_views_among_results():
    class Writes(nn.Module):
        def forward(self, x, y):
            x.mul_(2)
            h = x + y
            return h, h.view(-1), y

    program = export(Writes(), (taeda.ones(2, 3), taeda.ones(2, 3)))
    model = packed(program)
    x, y = taeda.randn(2, 3), taeda.randn(2, 3)
    twice = x * 2
    h, flat, same_y = model(x, y)
    assert taeda.equal(x, twice) and taeda.equal(h, twice + y)
    assert flat._base is h and same_y is y
    z = y.clone()
    same(model(y, y), program.module()(z, z))
    assert model.interpreted_runs == 1


def test_derived_sizes_and_numbers():
    class Sizes(nn.Module):
        def forward(self, x, times):
            return x.sin().repeat(times), x.shape[0] * times

    n = Dim("n", min=2, max=9)
    check(
        Sizes(),
        (taeda.randn(6), 3),
        [(taeda.randn(8), 2), (taeda.randn(4), 5)],
        dynamic_shapes=({0: 2 * n}, Dim.DYNAMIC),
    )


def test_sizes_that_data_tells():
    class Picks(nn.Module):
        def forward(self, x):
            return (x * 2).nonzero() * 3 + 1, x.relu() + 1

    x = taeda.tensor([0.0, 1.0, 2.0, 0.0])
    check(Picks(), (x,), [(taeda.ones(4),), (taeda.zeros(4),)])


def test_asserted_numbers():
    class Narrows(nn.Module):
        def forward(self, x, n):
            count = n.item()
            taeda._check(count <= x.shape[0])
            return x.narrow(0, 0, count) * 2 + 1

    model = check(
        Narrows(), (taeda.randn(6, 2), taeda.tensor(3)), [(taeda.randn(6, 2), taeda.tensor(5))]
    )
    with pytest.raises(RuntimeError, match="Runtime assertion failed for expression u0 <= 6"):
        model(taeda.randn(6, 2), taeda.tensor(7))


def test_control_flow():
    class Branches(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 3)

        def forward(self, x):
            y = taeda.cond(x.sum() > 0, lambda v: self.linear(v).sin(), lambda v: v.cos(), (x * 2,))
            return y + 1

    x = taeda.ones(2, 3)
    check(Branches(), (x,), [(-x,)])


def test_random_numbers_are_eagers():
    class Drops(nn.Module):
        def forward(self, x):
            return taeda.dropout(x, 0.5, True) * 2

    program = export(Drops(), (taeda.ones(40),))
    model = packed(program)
    taeda.manual_seed(4)
    want = program.module()(taeda.ones(40))
    taeda.manual_seed(4)
    assert taeda.equal(model(taeda.ones(40)), want)


def test_tied_weights_stay_tied():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.b(self.a(x).tanh())

    check(Tied(), (taeda.randn(2, 4),))


def test_nothing_is_recorded_for_gradients():
    model = packed(exported_model())
    (x, pair), kwargs = example(4)
    assert not model(x.requires_grad_(), pair, **kwargs)["scaled"].requires_grad


def test_constants():
    program = exported_model()
    model = packed(program, inductor_configs={"aot_inductor.metadata": {"author": "松明"}})
    assert model.get_metadata() == {"author": "松明"}
    with pytest.raises(TypeError, match="holds texts by name: got 'epoch': 3"):
        packed(program, inductor_configs={"aot_inductor.metadata": {"epoch": 3}})
    names = ["calls", "linear.bias", "linear.weight", "norm.bias", "norm.weight"]
    assert sorted(model.get_constant_fqns()) == names
    other = Model()
    model.load_constants(other.state_dict(), check_full_update=True)
    args, kwargs = example(4)
    same(model(*args, **kwargs), other(*args, **kwargs))
    with pytest.raises(RuntimeError, match=r"Cannot find constants linear.* in constants_map!"):
        model.load_constants({"norm.bias": taeda.ones(4)}, check_full_update=True)
    with pytest.warns(UserWarning, match="did not give calls, which the package keeps"):
        model.load_constants(dict(other.named_parameters()), check_full_update=True)
    before = model(*args, **kwargs)
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
        there = {"norm.weight": taeda.zeros(4), "norm.bias": taeda.empty(4, device="meta")}
        model.load_constants(there, check_full_update=False)
    same(model(*args, **kwargs), before)
    with pytest.raises(TypeError, match="has a text as its name, got 1"):
        model.load_constants({1: taeda.ones(4)}, check_full_update=False)


def test_the_process_changes_nothing_of_a_package():
    class Halves(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x, i):
            return self.linear(x) @ taeda.ones(4, 4), i / 3, i.cumsum(0) * 1.5, taeda.ones(2)

    args = taeda.randn(3, 4), taeda.arange(3)
    program = export(Halves(), args, dynamic_shapes=({0: DYNAMIC[0]}, None))
    file = io.BytesIO()
    aoti_compile_and_package(program, package_path=file)
    inputs = [args, (args[0][:1], args[1])]  # the second is interpreted
    want = [program.module()(*a) for a in inputs]

    def load_and_run():
        model = aoti_load_package(file)
        got = [model(*a) for a in inputs]
        assert is_native(model)
        same(got, want)
        return model

    loaded = load_and_run()
    taeda.set_default_dtype(taeda.float64)
    try:
        model = load_and_run()
        same([loaded(*a) for a in inputs], want)
    finally:
        taeda.set_default_dtype(taeda.float32)
    same([model(*a) for a in inputs], want)
    for mode in (taeda.autocast("cpu", dtype=taeda.bfloat16), taeda.inference_mode()):
        with mode:
            model = load_and_run()
        same([model(*a) for a in inputs], want)


def test_a_package_may_be_loaded_in_inference_mode():
    program = exported_model()
    file = io.BytesIO()
    aoti_compile_and_package(program, package_path=file)
    with taeda.inference_mode():
        model = aoti_load_package(file)
    args, kwargs = example(4)
    same(model(*args, **kwargs), program.module()(*args, **kwargs))  # it writes to a buffer


# ---- files ----


def test_what_is_refused(tmp_path):
    program = exported_model()
    with pytest.raises(ValueError, match="Only ExportedProgram is supported"):
        aoti_compile_and_package(Model())
    with pytest.raises(AssertionError, match=r"Expect package path to be a file ending in .pt2"):
        aoti_compile_and_package(program, package_path=tmp_path / "model.so")
    with pytest.raises(RuntimeError, match="Please pass in a package path"):
        aoti_compile_and_package(program, inductor_configs={"aot_inductor.output_path": "x"})
    with pytest.raises(AttributeError, match="no_such_setting does not exist"):
        aoti_compile_and_package(program, inductor_configs={"no_such_setting": 1})
    with (
        config.patch(post_grad_custom_pre_pass=lambda graph: None),
        pytest.raises(NotImplementedError, match="post_grad_custom_pre_pass"),
    ):
        aoti_compile_and_package(program)
    program.example_inputs = None
    with pytest.raises(RuntimeError, match="example_inputs is required"):
        aoti_compile_and_package(program)
    assert list(tmp_path.iterdir()) == []


def test_files_that_are_no_packages(tmp_path):
    with pytest.raises(FileNotFoundError):
        aoti_load_package(tmp_path / "missing.pt2")
    path = tmp_path / "model.pt2"
    taeda.export.save(exported_model(), path)
    with pytest.raises(RuntimeError, match="is no package"):
        aoti_load_package(path)
    path.write_bytes(b"nothing")
    with pytest.raises(RuntimeError):
        aoti_load_package(path)


def test_a_package_is_an_exported_program(tmp_path):
    program = exported_model()
    path = aoti_compile_and_package(program, package_path=tmp_path / "model.pt2")
    args, kwargs = example(4)
    same(taeda.export.load(path).module()(*args, **kwargs), program.module()(*args, **kwargs))


def test_a_failed_compile_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.pt2"
    path.write_bytes(b"old")
    monkeypatch.setenv("TAEDA_CXX", "/nowhere/compiler")
    with pytest.raises(RuntimeError, match="compiler was not found"):
        aoti_compile_and_package(exported_model(), package_path=path)
    assert path.read_bytes() == b"old" and [p.name for p in tmp_path.iterdir()] == ["model.pt2"]


# ---- C++ ----


def packed_mlp(tmp_path):
    taeda.manual_seed(1)
    net = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.LayerNorm(5))
    program = export(net, (taeda.ones(4, 6),), dynamic_shapes=(DYNAMIC,))
    path = aoti_compile_and_package(program, package_path=tmp_path / "model.pt2")
    return path, net(taeda.ones(3, 6)).double().sum().item()


@pytest.mark.slow
def test_the_example_runs_where_no_compiler_can_be_found(tmp_path):
    path, want = packed_mlp(tmp_path)
    source = (ROOT / "examples" / "cpp" / "run_package.cpp").read_text()
    printed = run_program(source, tmp_path, str(path), environment={"PATH": ""})
    kernels, sums = printed.splitlines()
    native, of, count, *rest = kernels.split()
    assert int(native) == int(count) > 0 and " ".join([of, *rest]) == "of kernels are native"
    shape, _, total = sums.partition(": sum ")
    assert shape == "[3, 5]" and float(total) == pytest.approx(want, abs=1e-6)


LOADER = """
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/torch.h>
#include <iostream>

int main(int, char** argv) {
  torch::inductor::AOTIModelPackageLoader loader(argv[1]);
  std::vector<torch::Tensor> inputs = {torch::ones({3, 6})};
  std::vector<torch::Tensor> outputs = loader.run(inputs);
  std::cout << outputs[0].sizes() << " " << outputs[0].to(torch::kDouble).sum().item<double>()
            << " " << loader.get_constant_fqns().size() << std::endl;
}
"""


@pytest.mark.slow
def test_pytorchs_loader(tmp_path):
    path, want = packed_mlp(tmp_path)
    printed = run_program(LOADER, tmp_path, str(path), with_torch_names=True)
    shape, total, constants = printed.rsplit(maxsplit=2)
    assert (shape, constants) == ("[3, 5]", "4") and float(total) == pytest.approx(want, abs=1e-6)


class Chosen(nn.Module):
    def forward(self, x, how):
        if how is None:
            return x * 2
        return x * 3 if how == "three" else x * 4


@pytest.mark.parametrize(("how", "factor"), [(None, 2), ("three", 3), (False, 4)])
def test_arguments_that_a_trace_went_by(tmp_path, how, factor):
    x = taeda.ones(3)
    path = aoti_compile_and_package(
        export(Chosen(), (x, how)), package_path=tmp_path / "chosen.pt2"
    )
    model = aoti_load_package(path)
    assert taeda.equal(model(x, how), x * factor)
    assert model.interpreted_runs == 0
    with pytest.raises(AssertionError, match="Guard failed: how"):
        model(x, "another")


def test_lowerings_of_a_program_are_refused(tmp_path):
    from taeda._inductor.lowering import lowerings, register_lowering

    class Sine(nn.Module):
        def forward(self, x):
            return x.sin()

    register_lowering(taeda.ops.aten.sin.default)(lambda x: x * 2)
    try:
        with pytest.raises(NotImplementedError, match=r"lowering of aten\.sin\.default"):
            aoti_compile_and_package(
                export(Sine(), (taeda.ones(3),)), package_path=tmp_path / "sine.pt2"
            )
    finally:
        del lowerings[taeda.ops.aten.sin.default]


def test_what_is_written_is_printed_where_it_is_wanted(capsys, monkeypatch):
    monkeypatch.setenv("TAEDA_LOGS", "fusion,code,timing")
    packed(exported_model())
    text = capsys.readouterr().err
    assert all(f"[{name}]" in text for name in ("fusion", "code", "timing"))
    assert 'extern "C" void kernel0' in text
