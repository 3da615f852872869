"""Tests services around modules: replicas, older states, prefixes, devices, conversion of layers.

The file passes on PyTorch as well.
"""

import copy
import importlib
import pickle
from collections import OrderedDict

import pytest
from under_test import NAME, t

nn = t.nn
module_file = importlib.import_module(f"{t.__name__}.nn.modules.module")
utils_file = importlib.import_module(f"{t.__name__}.nn.modules.utils")


# ---- states of modules ----
def test_a_state_without_tables_of_hooks():
    module = nn.Linear(2, 2)
    state = dict(vars(module))
    for name in ("_forward_pre_hooks_with_kwargs", "_state_dict_pre_hooks", "_backward_pre_hooks"):
        del state[name]
    older = nn.Linear.__new__(nn.Linear)
    older.__setstate__(state)
    assert older(t.ones(1, 2)).shape == (1, 2)
    assert older._state_dict_pre_hooks == {} and older._backward_pre_hooks == {}


def test_a_replica_refers_to_the_same_members():
    module = nn.Sequential(nn.Linear(2, 2))
    module.register_buffer("scale", t.ones(2))
    replica = module._replicate_for_data_parallel()
    assert replica._parameters == {} and replica.scale is module.scale
    assert replica._modules == module._modules and replica._modules is not module._modules


def test_compiled_calls_stay_behind_when_a_module_is_copied():
    module = nn.Linear(2, 2)
    module._compiled_call_impl = None
    module.__dict__["_compiled_call_impl"] = lambda x: "compiled"
    module.register_forward_hook(lambda *args: None)
    assert module(t.ones(1, 2)) == "compiled"
    state = module.__getstate__() if NAME == "taeda" else {}
    assert "_compiled_call_impl" not in state


def test_prefixes_are_taken_off():
    state = OrderedDict([("module.weight", 1), ("module.sub.bias", 2), ("other", 3)])
    state._metadata = OrderedDict([("", 0), ("module", 1), ("module.sub", 2)])
    utils_file.consume_prefix_in_state_dict_if_present(state, "module.")
    assert dict(state) == {"weight": 1, "sub.bias": 2, "other": 3}
    assert dict(state._metadata) == {"": 1, "sub": 2}


def test_tables_of_all_modules_can_be_replaced():
    seen = []
    try:
        handle = module_file.register_module_forward_hook(lambda *args: seen.append(1))
        nn.Identity()(1)
        module_file._global_forward_hooks = OrderedDict()
        nn.Identity()(1)
        handle.remove()
        module_file.register_module_forward_hook(lambda *args: seen.append(2))
        nn.Identity()(1)
    finally:
        module_file._global_forward_hooks = OrderedDict()
    assert seen == [1, 2]


def test_backward_hooks_refuse_writes_to_their_views():
    module, x = nn.Identity(), t.ones(2, requires_grad=True)
    with module.register_full_backward_hook(lambda *args: None):
        result = module(x)
        with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
            result += 1


def test_buffers_may_be_like_tensors():
    class Like:
        @classmethod
        def __torch_function__(cls, *args, **kwargs):
            raise NotImplementedError

    module, value = nn.Module(), Like()
    module.register_buffer("value", value)
    assert module.value is value


# ---- layers ----
def test_sync_batch_norm_takes_members_over():
    net = nn.Sequential(nn.BatchNorm1d(2), nn.Sequential(nn.BatchNorm2d(3, affine=False))).eval()
    first = net[0]
    net = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    assert type(net[0]) is nn.SyncBatchNorm and type(net[1][0]) is nn.SyncBatchNorm
    assert net[0].weight is first.weight and net[0].running_var is first.running_var
    assert not net[0].training
    x = t.randn(4, 2)
    assert t.allclose(net[0](x), first(x))


def test_batch_norm_loads_states_without_a_count():
    layer = nn.BatchNorm1d(2)
    state = OrderedDict((k, v) for k, v in layer.state_dict().items() if "num" not in k)
    layer.load_state_dict(state)
    state._metadata = {"": {"version": 2}}
    with pytest.raises(RuntimeError, match=r'Missing key.*"num_batches_tracked"'):
        layer.load_state_dict(state)


def test_cumulative_averages():
    layer = nn.BatchNorm1d(1, momentum=None)
    for value in (1.0, 3.0):
        layer(t.tensor([[value - 1], [value + 1]]))
    assert layer.running_mean.tolist() == [2.0] and int(layer.num_batches_tracked) == 2


def test_weights_of_recurrent_layers_are_those_of_the_moment():
    layer = nn.LSTM(2, 3, bidirectional=True)
    assert len(layer._flat_weights) == 8 and layer._flat_weights[0] is layer.weight_ih_l0
    layer.weight_ih_l0 = nn.Parameter(t.zeros(12, 2))
    assert layer._flat_weights[0] is layer.weight_ih_l0
    assert layer.all_weights[1][0] is layer.weight_ih_l0_reverse
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert other._flat_weights[0] is other.weight_ih_l0
        assert other.weight_ih_l0 is not layer.weight_ih_l0


def test_masks_of_attention_are_merged():
    attention = nn.MultiheadAttention(4, 2)
    x, padding, scores = t.ones(3, 5, 4), t.ones(3, 5), t.ones(5, 5) * 2
    assert attention.merge_masks(None, None, x) == (None, None)
    merged, kind = attention.merge_masks(None, padding, x)
    assert merged is padding and kind == 1
    merged, kind = attention.merge_masks(scores, padding, x)
    assert merged.shape == (3, 2, 5, 5) and kind == 2 and (merged == 3).all()


def test_causal_masks():
    mask = nn.Transformer.generate_square_subsequent_mask(3)
    inf = float("-inf")
    assert mask.tolist() == [[0, inf, inf], [0, 0, inf], [0, 0, 0]]


def test_an_encoder_says_why_it_keeps_padding():
    layer = nn.TransformerEncoderLayer(4, 2)
    with pytest.warns(UserWarning, match="because encoder_layer.self_attn.batch_first was not"):
        encoder = nn.TransformerEncoder(layer, 2)
    assert not encoder.use_nested_tensor and encoder.layers[0] is not layer


def test_dropout_between_no_layers_warns():
    with pytest.warns(UserWarning, match="non-zero dropout expects num_layers greater than 1"):
        nn.LSTM(2, 3, dropout=0.5)


def test_factory_options():
    given = {"dtype": t.float64, "factory_kwargs": {"device": "cpu"}}
    assert nn.factory_kwargs(given) == {"device": "cpu", "dtype": t.float64}
    assert nn.factory_kwargs(None) == {}


def test_data_parallel_without_devices_is_the_module():
    layer = nn.Linear(2, 3)
    parallel = nn.DataParallel(layer)
    x = t.ones(4, 2)
    assert t.equal(parallel(x), layer(x)) and parallel.module is layer
    assert parallel.device_ids == []


@pytest.mark.skipif(t.accelerator.is_available(), reason="there is a device to run on")
def test_the_function_wants_a_device():
    with pytest.raises(RuntimeError, match="device type could not be determined"):
        nn.parallel.data_parallel(nn.Linear(2, 3), t.ones(4, 2))


# ---- initial values ----
@pytest.mark.parametrize("a, b", [(-2.0, 2.0), (1.5, 3.0), (-0.1, 0.1)])
def test_truncated_normal_values(a, b):
    values = nn.init.trunc_normal_(t.empty(5000), a=a, b=b)
    assert a <= values.min().item() and values.max().item() <= b
    assert len(set(values.tolist())) > 4000


def test_the_tail_has_its_density():
    values = nn.init.trunc_normal_(t.empty(20000), a=2.0, b=4.0)
    # E[X | 2 < X < 4] of a standard normal X.
    assert abs(values.mean().item() - 2.3706) < 0.02


def test_sparse_values():
    values = nn.init.sparse_(t.empty(10, 4), 0.3)
    assert (values == 0).sum(0).tolist() == [3, 3, 3, 3]


def test_initial_values_can_be_overridden():
    calls = []

    class Watch(t.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            calls.append((function.__name__, sorted(kwargs or {})))
            return function(*args, **(kwargs or {}))

    with Watch():
        nn.init.uniform_(t.empty(2), 0, 1)
        nn.init.kaiming_uniform_(t.empty(2, 2))
    names = [call for call in calls if call[0] in ("uniform_", "kaiming_uniform_")]
    assert names == [
        ("uniform_", ["a", "b", "generator", "tensor"]),
        ("kaiming_uniform_", ["a", "generator", "mode", "nonlinearity", "tensor"]),
    ]
