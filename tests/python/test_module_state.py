"""Tests the state of modules: state_dict and load_state_dict, copies, pickles.

What is compared with literals was read off PyTorch; the file passes on it as well.
"""

import copy
import pickle
from collections import OrderedDict

import pytest
from module_samples import REPR, Net, message
from under_test import t

nn = t.nn


# ---- state ----
KEYS = ["scale", "tied", "mean", "first.weight", "first.bias", "body.1.weight"]
KEYS += ["again.weight", "again.bias"]


def test_state_dict():
    net = Net()
    state = net.state_dict()
    assert list(state) == KEYS and type(state) is OrderedDict
    assert list(state._metadata) == ["", "first", "body", "body.0", "body.1", "again"]
    assert state._metadata["first"] == {"version": 1}
    assert not any(value.requires_grad for value in state.values())
    assert state["scale"].data_ptr() == net.scale.data_ptr()
    assert net.state_dict(keep_vars=True)["scale"] is net.scale
    assert list(net.first.state_dict(prefix="p.")) == ["p.weight", "p.bias"]
    into = {}
    assert net.first.state_dict(destination=into) is into and list(into) == ["weight", "bias"]
    with pytest.warns(FutureWarning, match="Positional args are being deprecated"):
        assert list(net.first.state_dict(OrderedDict(), "p.")) == ["p.weight", "p.bias"]


def test_load_state_dict():
    net, other = Net(), Net()
    with t.no_grad():
        other.mean.fill_(7)
    result = net.load_state_dict(other.state_dict())
    assert repr(result) == "<All keys matched successfully>"
    assert result.missing_keys == [] and result.unexpected_keys == []
    for mine, theirs in zip(net.state_dict().values(), other.state_dict().values()):
        assert mine.equal(theirs) and mine.data_ptr() != theirs.data_ptr()


def test_load_state_dict_errors():
    net = Net()
    state = net.state_dict()
    del state["scale"]
    state["extra"] = t.ones(1)
    state["body.1.more"] = t.ones(1)
    state["lost.weight"] = t.ones(1)
    state["first.bias"] = t.ones(9)
    state["mean"] = 3
    with pytest.raises(RuntimeError) as error:
        net.load_state_dict(state)
    assert message(error) == (
        "Error(s) in loading state_dict for Net:\n"
        '\tMissing key(s) in state_dict: "scale". \n'
        '\tUnexpected key(s) in state_dict: "extra", "lost.weight", "body.1.more". \n'
        '\tWhile copying the parameter named "mean", expected torch.Tensor or Tensor-like object '
        "from checkpoint but received <class 'int'>\n"
        "\tsize mismatch for first.bias: copying a param with shape torch.Size([9]) from "
        "checkpoint, the shape in current model is torch.Size([4])."
    )
    state["first.bias"], state["mean"] = t.zeros(4), t.zeros(4)
    missing, unexpected = net.load_state_dict(state, strict=False)
    assert missing == ["scale"] and unexpected == ["extra", "lost.weight", "body.1.more"]
    assert net.first.bias.tolist() == [0] * 4


def test_load_with_assign():
    net = nn.Linear(2, 2, device="meta")
    net.bias.requires_grad_(False)
    state = nn.Linear(2, 2).state_dict()
    with pytest.warns(UserWarning, match=r"copying from a non-meta parameter .* which is a no-op"):
        net.load_state_dict(state)
    net.load_state_dict(state, assign=True)
    assert net.weight.data_ptr() == state["weight"].data_ptr()
    assert isinstance(net.weight, nn.Parameter) and net.weight.requires_grad
    assert not net.bias.requires_grad


def test_extra_state():
    class Counting(nn.Linear):
        count = 0

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    one, two = nn.Sequential(Counting(2, 2)), nn.Sequential(Counting(2, 2))
    one[0].count = 5
    state = one.state_dict()
    assert list(state) == ["0.weight", "0.bias", "0._extra_state"]
    two.load_state_dict(state)
    assert two[0].count == 5
    with pytest.raises(RuntimeError, match=r'Unexpected key\(s\) in state_dict: "0._extra_state"'):
        nn.Sequential(nn.Linear(2, 2)).load_state_dict(state)
    del state["0._extra_state"]
    with pytest.raises(RuntimeError, match=r'Missing key\(s\) in state_dict: "0._extra_state"'):
        two.load_state_dict(state)


def test_state_dict_hooks():
    net, calls = nn.Sequential(nn.Linear(2, 2)), []
    child = net[0]
    child.register_state_dict_pre_hook(lambda m, prefix, keep: calls.append(("pre", prefix, keep)))

    def post(module, state, prefix, metadata):
        calls.append(("post", prefix, metadata["version"]))
        state[prefix + "added"] = t.ones(1)

    child.register_state_dict_post_hook(post)
    state = net.state_dict()
    assert calls == [("pre", "0.", False), ("post", "0.", 1)] and "0.added" in state

    def on_load(module, state, prefix, metadata, strict, missing, unexpected, errors):
        assert module is child and strict and missing == unexpected == errors == []
        del state[prefix + "added"]

    handle = child.register_load_state_dict_pre_hook(on_load)
    net.load_state_dict(dict(state))
    handle.remove()
    forgive = child.register_load_state_dict_post_hook(lambda m, keys: keys.unexpected_keys.clear())
    # The names below the module are looked at before its hook runs.
    net.load_state_dict(dict(state))
    forgive.remove()
    child.register_load_state_dict_post_hook(lambda m, keys: keys)
    with pytest.raises(AssertionError, match="are not expected to return new values"):
        net.load_state_dict(dict(state))
    net.register_state_dict_post_hook(lambda *_: 3)
    with pytest.raises(RuntimeError, match="state_dict post-hook must return None"):
        net.state_dict()


# ---- copies ----
def test_deepcopy_keeps_ties_and_mode():
    net = Net().eval()
    copied = copy.deepcopy(net)
    assert copied.tied is copied.scale and copied.scale is not net.scale
    assert copied.again is copied.first and not copied.training
    assert type(copied.scale) is nn.Parameter and copied.scale.requires_grad
    x = t.ones(2, 3)
    assert copied(x).equal(net(x))
    with t.no_grad():
        copied.scale.fill_(0)
    assert net.scale.tolist() == [1] * 4


def test_pickle():
    net = Net()
    loaded = pickle.loads(pickle.dumps(net))
    assert repr(loaded) == REPR and list(loaded.state_dict()) == KEYS
    assert loaded(t.ones(2, 3)).equal(net(t.ones(2, 3)))
    assert loaded._non_persistent_buffers_set == {"scratch"}


def seen_by(module, args, output):
    return output * 0


def test_hooks_travel_with_copies():
    layer = nn.Linear(2, 2)
    handle = layer.register_forward_hook(seen_by)
    for copied in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert not copied(t.ones(1, 2)).any()
    handle.remove()
    assert layer(t.ones(1, 2)).any() and copied(t.ones(1, 2)).any().item() is False


def test_uninitialized():
    lazy = nn.UninitializedParameter()
    assert nn.parameter.is_lazy(lazy) and isinstance(lazy, nn.Parameter)
    assert repr(lazy) == "<UninitializedParameter>"
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        lazy.shape  # noqa: B018
    for use in (lambda: lazy + 1, lambda: t.exp(lazy), lambda: nn.functional.relu(lazy)):
        with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter in"):
            use()
    assert lazy.dtype is t.float32 and lazy.requires_grad and lazy.to(t.float64).dtype is t.float64
    lazy.materialize((2, 3))
    assert type(lazy) is nn.Parameter and lazy.shape == (2, 3) and not nn.parameter.is_lazy(lazy)


def test_skip_init():
    layer = nn.utils.skip_init(nn.Linear, 2, out_features=3, dtype=t.float64)
    assert layer.weight.shape == (3, 2) and layer.weight.dtype is t.float64
    assert layer.weight.device.type == "cpu" and layer.weight.requires_grad
    assert nn.utils.skip_init(nn.Linear, 2, 3, device="meta").weight.is_meta
    with pytest.raises(RuntimeError, match="must support a 'device' arg"):
        nn.utils.skip_init(nn.ReLU)
    with pytest.raises(RuntimeError, match="Expected a Module"):
        nn.utils.skip_init(dict)
