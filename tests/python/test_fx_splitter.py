"""Splitting by tags and by what a backend supports, and the search for nodes that differ."""

import operator

import pytest
from taeda.fx.passes.net_min_base import (
    FxNetMinimizerBadModuleError,
    _MinimizerBase,
    _MinimizerSettingBase,
)
from taeda.fx.passes.operator_support import create_op_support
from taeda.fx.passes.shape_prop import ShapeProp
from taeda.fx.passes.split_utils import getattr_recursive, setattr_recursive, split_by_tags
from taeda.fx.passes.splitter_base import (
    FxNetAccNodesFinder,
    FxNetSplitterInternalError,
    _SplitterBase,
    _SplitterSettingBase,
    generate_inputs_for_submodules,
)
from taeda.fx.passes.tools_common import FxNetAccFusionsFinder

import taeda
from taeda import fx, nn

X = taeda.rand(4, 4)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.scale = nn.Parameter(taeda.rand(4))

    def forward(self, x):
        a = taeda.sin(self.first(x))
        b = taeda.cos(a) * self.scale
        rows = b.size(0)
        return taeda.cos(taeda.sin(b) + rows), a


def supports(*wanted):
    return create_op_support(lambda modules, node: node.target in wanted)


def names(nodes):
    return sorted(node.name for node in nodes)


# ---- tags ----
def tagged(gm, **tags):
    for node in gm.graph.nodes:
        if node.op.startswith("call"):
            node.tag = tags.get(node.name, "rest")
    return gm


def test_submodules_by_tag():
    net = Net()
    gm = tagged(fx.symbolic_trace(net), first="head", sin="head")
    split, paths = split_by_tags(gm, ["head", "rest"], return_fqn_mapping=True)
    assert [n.target for n in split.graph.nodes if n.op == "call_module"] == ["head", "rest"]
    assert paths == {"first": "head.first", "scale": "rest.scale"}
    assert split.head.first is net.first and split.rest.scale is net.scale
    for a, b in zip(split(X), net(X), strict=True):
        assert taeda.equal(a, b)


def test_one_result_as_a_tuple():
    gm = tagged(fx.symbolic_trace(lambda x: taeda.sin(x)))
    assert isinstance(split_by_tags(gm, ["rest"]).rest(X), taeda.Tensor)
    split = split_by_tags(gm, ["rest"], return_tuple=True)
    assert isinstance(split.rest(X), tuple) and taeda.equal(split(X), X.sin())


def test_an_attribute_as_result_stays_outside():
    class Gives(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(taeda.ones(2))

        def forward(self, x):
            return x + 1, self.w

    split = split_by_tags(tagged(fx.symbolic_trace(Gives())), ["rest"])
    assert split(X)[1].tolist() == [1, 1]


def test_tags_that_are_missing_or_out_of_order():
    gm = fx.symbolic_trace(Net())
    with pytest.raises(AssertionError, match="Node does not have tag"):
        split_by_tags(gm, ["rest"])
    tagged(gm, first="late")
    with pytest.raises(AssertionError, match="order must be >= max of its upstream"):
        split_by_tags(gm, ["rest", "late"])


def test_paths():
    net = Net()
    assert getattr_recursive(net, "first.weight") is net.first.weight
    assert getattr_recursive(net, "first.nothing.more") is None
    setattr_recursive(net, "first.note", 3)
    assert net.first.note == 3


# ---- supported nodes ----
def shaped(function):
    gm = fx.symbolic_trace(function)
    ShapeProp(gm).propagate(X)
    return gm


def test_numbers_do_not_pass_to_other_nodes():
    def f(x):
        rows = x.size(0)
        return taeda.sin(x) + rows

    gm = shaped(f)
    finder = FxNetAccNodesFinder(gm, supports("size", taeda.sin), allow_non_tensor=False)
    assert names(finder()) == ["sin"]
    assert finder.tracker.to_dict()["size"] == [
        "size: init_acc|callable_and_operator_supported #",
        "size: acc_del|non_tensor_output_with_cpu_user add",
    ]
    finder = FxNetAccNodesFinder(gm, supports(operator.add, taeda.sin), allow_non_tensor=False)
    assert names(finder()) == ["sin"]
    finder = FxNetAccNodesFinder(gm, supports("size", taeda.sin), allow_non_tensor=True)
    assert names(finder()) == ["sin", "size"]


def test_groups_around_numbers():
    def f(x):
        rows = x.size(0)
        y = taeda.cos(taeda.sin(x) * rows)
        return y + rows

    gm = shaped(f)
    calls = {n for n in gm.graph.nodes if n.op.startswith("call")}
    groups = FxNetAccFusionsFinder(gm, set(calls))()
    by_name = {n.name: names(group) for n, group in groups.items()}
    # cos lies between two readers of the number.
    assert set(by_name) == {"size", "mul", "cos", "add"}
    assert by_name["cos"] == ["add", "cos", "mul", "size"]
    acc = {n for n in calls if n.name != "cos"}
    assert FxNetAccFusionsFinder(gm, acc)() == {} and names(acc) == ["sin"]


# ---- splitters ----
def splitter(net, *wanted, **settings):
    return _SplitterBase(
        fx.symbolic_trace(net), (X,), supports(*wanted), _SplitterSettingBase(**settings)
    )


def test_a_backend_gets_what_it_supports():
    net = Net()
    split = splitter(net, taeda.sin, operator.mul)
    module, inputs, prefix = split.generate_split_results()
    assert [name for name, _ in module.named_children()] == [
        "_run_on_cpu_0",
        "_run_on_acc_1",
        "_run_on_cpu_2",
        "_run_on_acc_3",
        "_run_on_cpu_4",
    ]
    assert prefix == "_run_on_cpu_" and set(inputs) == set(split.tags)
    assert split.get_node_submodule_map()["mul"] == "_run_on_acc_3"
    for a, b in zip(module(X), net(X), strict=True):
        assert taeda.equal(a, b)


def test_small_pieces_stay():
    module = splitter(Net(), taeda.sin, operator.mul, min_acc_module_size=2)()
    assert [name for name, _ in module.named_children()] == [
        "_run_on_cpu_0",
        "_run_on_acc_1",
        "_run_on_cpu_2",
    ]
    module = splitter(Net(), taeda.sin, min_acc_module_size=5)()
    assert [name for name, _ in module.named_children()] == ["_run_on_cpu_0"]


def test_too_many_pieces():
    with pytest.raises(ValueError, match="max_acc_splits"):
        splitter(Net(), taeda.sin, max_acc_splits=2).generate_split_results()


def test_a_graph_is_tagged_once():
    split = splitter(Net(), taeda.sin)
    split()
    with pytest.raises(FxNetSplitterInternalError, match="already tagged"):
        split()


def test_previews():
    split = splitter(Net(), taeda.sin)
    text = split.node_support_preview()
    supported, rest = text.split("Unsupported")
    assert "taeda.sin: ((torch.float32,), {})" in supported
    assert "taeda.cos" in rest and "Linear" in rest
    text = split.split_preview()
    assert "2 acc subgraphs" in text and "Lowering and running succeed!" in text
    assert "Total input size in bytes is 64" in text
    split()  # the preview left no tags


def test_a_backend_that_fails():
    class Broken(_SplitterBase):
        def _lower_model_to_backend(self, mod, inputs):
            raise RuntimeError("no")

        def _find_culprit(self, mod, inputs):
            return f"of {len(inputs)} inputs"

    gm = fx.symbolic_trace(lambda x: taeda.sin(x))
    split = Broken(gm, (X,), supports(taeda.sin), _SplitterSettingBase())
    assert "error during lowering!\nof 1 inputs" in split.split_preview()


def test_a_piece_takes_in_what_only_it_reads():
    def f(x):
        a, b = taeda.sin(x), taeda.sin(x + x)
        return taeda.cos(a) + b

    split = _SplitterBase(
        fx.symbolic_trace(f), (X,), supports(taeda.sin, operator.add), _SplitterSettingBase()
    )
    split.tag(split.put_nodes_into_subgraphs())
    assert split.get_node_submodule_map()["sin_1"] == "_run_on_acc_0"
    split.extend_acc_subgraph("_run_on_acc_2")
    tags = {n.name: n.tag for n in split.module.graph.nodes if hasattr(n, "tag")}
    assert tags == {
        "sin": "_run_on_acc_0",
        "cos": "_run_on_cpu_1",
        "add": "_run_on_acc_2",
        "sin_1": "_run_on_acc_2",
        "add_1": "_run_on_acc_2",
    }
    assert taeda.equal(split.split()(X), f(X))


def test_inputs_of_submodules():
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    seen = generate_inputs_for_submodules(net, (X,), ["1"])
    assert list(seen) == ["1"] and taeda.equal(seen["1"][0], net[0](X))
    assert not net[1]._forward_pre_hooks


# ---- minimizer ----
class CosAsSin(_MinimizerBase):
    def run_a(self, mod, inputs, report_idx=-1):
        return mod(*inputs)

    def run_b(self, mod, inputs, report_idx=-1):
        for node in mod.graph.nodes:
            if node.target is taeda.cos:
                node.target = taeda.sin
        mod.recompile()
        return mod(*inputs)


def compare(a, b, names):
    error = (a - b).abs().max().item()
    return error, error < 1e-6


def chain(x):
    a = taeda.sin(x)
    b = taeda.cos(a)
    c = taeda.sin(b)
    return taeda.cos(c) + 1


def minimizer(**settings):
    return CosAsSin(fx.symbolic_trace(chain), (X,), compare, _MinimizerSettingBase(**settings))


@pytest.mark.parametrize(
    "settings, found",
    [
        ({}, ["cos"]),
        ({"find_all": True}, ["cos", "cos_1"]),
        ({"traverse_method": "binary"}, ["cos"]),
        ({"traverse_method": "binary", "find_all": True}, ["cos", "cos_1"]),
        ({"traverse_method": "accumulate"}, ["cos"]),
        ({"traverse_method": "block"}, ["cos"]),
        ({"traverse_method": "defined"}, ["add", "cos", "cos_1", "sin", "sin_1"]),
    ],
)
def test_culprits(settings, found):
    assert names(minimizer(**settings).minimize()) == found


def test_a_part_of_the_graph():
    search = minimizer(find_all=True)
    assert names(search.minimize(start="sin_1", end="cos_1")) == ["cos_1"]
    assert names(search.minimize(start="sin_1", end="sin_1")) == []
    assert search.results[("sin_1",)] == 0


def test_pieces_between_nodes():
    search = minimizer(traverse_method="skip")
    assert names(search.minimize(skip_nodes=["cos", "cos_1"])) == []
    assert names(search.minimize(skip_nodes=["cos"])) == ["add", "cos_1", "sin_1"]
    with pytest.raises(RuntimeError, match="'skip_nodes' can't be None"):
        search.minimize()


def test_errors_of_a_run_are_found_too():
    class Raises(CosAsSin):
        def run_b(self, mod, inputs, report_idx=-1):
            if any(n.target is taeda.cos for n in mod.graph.nodes):
                raise ValueError("no cos")
            return mod(*inputs)

    search = Raises(fx.symbolic_trace(chain), (X,), compare, _MinimizerSettingBase())
    assert names(search.minimize()) == ["cos"]
    assert "Exception raised when running minimize: no cos" in search.reports[1]


def test_errors_add_up_on_request():
    """The second way reads its own results, which were wrong before."""
    search = minimizer(find_all=True, accumulate_error=True)
    assert names(search.minimize()) == ["add", "cos", "cos_1", "sin_1"]


def test_pieces_that_differ_are_exported(capsys):
    exported = []
    search = CosAsSin(
        fx.symbolic_trace(chain),
        (X,),
        compare,
        _MinimizerSettingBase(),
        module_exporter=lambda inputs, module, name: exported.append(name),
        exclusion_fn=lambda nodes, start, end: nodes.clear() if nodes[0].name == "sin" else None,
    )
    search.minimize()
    assert exported == ["cos_cpu", "cos_acc"]
    search.print_reports()
    assert "All nodes are excluded by user" in capsys.readouterr().out


def test_bad_requests():
    with pytest.raises(RuntimeError, match="Unknown traverse method sideways!"):
        minimizer(traverse_method="sideways").minimize()
    search = minimizer()
    nodes = {n.name: n for n in search.module.graph.nodes}
    with pytest.raises(FxNetMinimizerBadModuleError):
        search._build_submodule({nodes["sin"], nodes["sin_1"]})
    with pytest.raises(AssertionError, match=r"Placeholder count \(1\)"):
        CosAsSin(fx.symbolic_trace(chain), (), compare, _MinimizerSettingBase())
