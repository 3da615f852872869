"""Tests of what the graph shows of itself, of hooks on what it saves, and of anomaly mode."""

import warnings

import pytest
from under_test import t

graph = t.autograd.graph


def leaf(*sizes):
    return t.ones(*sizes, requires_grad=True)


class Double(t.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2 * ctx.saved_tensors[0]


class TestNode:
    def test_is_a_class_of_all_of_them(self):
        a = leaf(2)
        assert isinstance((a * 2).grad_fn, graph.Node)
        assert issubclass(type((a * 2).grad_fn), graph.Node)
        assert isinstance(Double.apply(a).grad_fn, graph.Node)
        assert not isinstance(3, graph.Node)

    def test_attributes(self):
        y = (leaf(2) * 2).sum()
        node = y.grad_fn
        assert node is y.grad_fn and node.name() == "SumBackward0"
        assert type(node).__name__ == "SumBackward0"
        assert node._input_metadata[0].dtype == t.float32
        assert tuple(node._input_metadata[0].shape) == ()
        assert node._saved_self_sym_sizes == (2,)
        assert node.next_functions[0][1] == 0

    def test_metadata_stays_with_the_node(self):
        y = leaf(1) * 2
        y.grad_fn.metadata["key"] = 1
        assert y.grad_fn.metadata == {"key": 1}

    def test_later_nodes_have_larger_numbers(self):
        a = leaf(1)
        x, y = a * 2, a * 3
        assert x.grad_fn._sequence_nr() < y.grad_fn._sequence_nr()

    def test_can_be_called(self):
        a = leaf(2)
        found = (a * a).grad_fn(t.full((2,), 3.0))
        assert [grad.tolist() for grad in found] == [[3.0, 3.0], [3.0, 3.0]]

    def test_saved_tensors_are_the_very_tensors(self):
        a = leaf(2)
        node = (a * a).grad_fn
        assert node._saved_self is a and node._saved_other is a
        assert {"_saved_self", "_raw_saved_self"} <= set(dir(node))
        y = a.exp()
        assert y.grad_fn._saved_result.grad_fn is y.grad_fn

    def test_saved_results_have_the_results_names(self):
        a = leaf(2, 2)
        assert a.sort()[0].grad_fn._saved_indices.tolist() == [[0, 1], [0, 1]]
        assert a.topk(1)[0].grad_fn._saved_indices.shape == (2, 1)
        assert a.max(0)[0].grad_fn._saved_indices.shape == (2,)
        loss = t.nn.functional.nll_loss(a, t.tensor([0, 1]))
        assert loss.grad_fn.name() == "NllLossBackward0"
        assert loss.grad_fn._saved_total_weight.item() == 2
        assert a.log1p().grad_fn.name() == "Log1PBackward0"

    def test_raw_saved_tensor_takes_hooks(self):
        a = leaf(2)
        y = a * a
        y.grad_fn._raw_saved_self.register_hooks(lambda x: x * 2, lambda x: x)
        y.sum().backward()
        assert a.grad.tolist() == [3.0, 3.0]
        y = Double.apply(leaf(1))
        y.grad_fn._raw_saved_tensors[0].register_hooks(lambda x: x * 5, lambda x: x)
        assert y.grad_fn.saved_tensors[0].tolist() == [5.0]

    def test_raw_saved_tensor_shows_what_is_kept(self):
        a = leaf(2)
        with graph.saved_tensors_hooks(lambda x: x.tolist(), t.tensor):
            hooked = a * a
        packed = hooked.grad_fn._raw_saved_self
        assert packed.data == [1.0, 1.0] and packed.unpack_hook is t.tensor
        unhooked = a * a
        plain = unhooked.grad_fn._raw_saved_self
        assert plain.data is a and plain.unpack_hook is None

    def test_raw_saved_tensors_go_with_the_graph(self):
        y = Double.apply(leaf(1))
        y.backward()
        with pytest.raises(RuntimeError, match="after they have already been freed"):
            _ = y.grad_fn._raw_saved_tensors

    def test_saved_tensors_cannot_be_made(self):
        with pytest.raises(RuntimeError, match="from Python is forbidden"):
            t.autograd.SavedTensor()

    def test_a_saved_input_must_keep_its_history(self):
        a = leaf(2).clone()
        y = a.sin()
        a.detach_()
        with pytest.raises(RuntimeError, match="saved tensor that has been detached in-place"):
            y.sum().backward()
        x = leaf(2)
        result = x.exp()
        kept = result * 1
        result.detach_()
        kept.sum().backward()
        assert x.grad.tolist() == pytest.approx([2.71828] * 2)


class TestInputsByName:
    def test_give_gradients_by_name(self):
        a, b = leaf(1), leaf(1)
        y = a * 3
        found = t.autograd.grad(y, {"b": b, 0: a}, allow_unused=True, retain_graph=True)
        assert list(found) == ["b", 0] and found["b"] is None and found[0].item() == 3
        found = t.autograd.grad(y, {"b": b}, materialize_grads=True, retain_graph=True)
        assert found["b"].item() == 0
        rows = t.autograd.grad(y, {"a": a}, t.ones(2, 1), is_grads_batched=True)
        assert rows["a"].tolist() == [[3.0], [3.0]]

    def test_zeros_of_a_recorded_run_can_be_differentiated(self):
        x, a = leaf(1), leaf(1)
        (first,) = t.autograd.grad(x * a, x, create_graph=True)
        (second,) = t.autograd.grad(first, x, create_graph=True, materialize_grads=True)
        assert t.autograd.grad(second, x, materialize_grads=True)[0].item() == 0

    def test_zeros_need_a_tensor(self):
        a, b = leaf(1), leaf(1)
        edge = graph.get_gradient_edge(b * 2)
        with pytest.raises(RuntimeError, match="when the given input is a GradientEdge"):
            t.autograd.grad(a * 2, edge, materialize_grads=True)

    def test_batched_seeds_have_one_dimension_more(self):
        a = leaf(2, 2)
        with pytest.raises(RuntimeError, match="If `is_grads_batched=True`, we interpret"):
            t.autograd.grad(a * 2, a, t.ones(2, 2), is_grads_batched=True)


class TestEdges:
    def test_stand_for_tensors(self):
        a = leaf(2)
        b = a * 2
        c = (b * 3).sum()
        edge = graph.get_gradient_edge(b)
        assert edge.node is b.grad_fn and edge.output_nr == 0 and edge.ownership_token is None
        found = t.autograd.grad(c, [edge, a], retain_graph=True)
        assert [grad.tolist() for grad in found] == [[3.0, 3.0], [6.0, 6.0]]
        root = graph.get_gradient_edge(c)
        assert t.autograd.grad(root, a, retain_graph=True)[0].tolist() == [6.0, 6.0]
        t.autograd.backward(root, inputs=[graph.get_gradient_edge(a)])
        assert a.grad.tolist() == [6.0, 6.0]

    def test_of_functions_keep_the_graph(self):
        y = Double.apply(leaf(2))
        edge = graph.get_gradient_edge(y)
        assert edge.ownership_token is not None
        del y
        assert edge.node.next_functions[0][1] == 0

    def test_a_leaf_with_other_memory_is_another_leaf(self):
        a = leaf(2)
        edge = graph.get_gradient_edge(a)
        y = a * 3
        with t.no_grad():
            a.set_(t.zeros(2))
        with pytest.raises(RuntimeError, match="to not have been used in the graph"):
            t.autograd.grad(y.sum(), a)
        assert t.autograd.grad(y.sum(), edge)[0].tolist() == [3.0, 3.0]


class TestSavedTensorHooks:
    def test_see_everything_that_is_saved(self):
        log = []

        def pack(tensor):
            log.append(tensor.requires_grad)
            return tensor.tolist()

        a = leaf(2)
        with graph.saved_tensors_hooks(pack, t.tensor):
            y = (a * a).exp()
        assert log == [True, True, True]
        y.sum().backward()
        assert a.grad.tolist() == pytest.approx([5.43656] * 2)

    def test_innermost_pair_counts_and_second_derivatives_work(self):
        log = []
        a = leaf(1)
        with graph.saved_tensors_hooks(lambda x: log.append("outer") or x, lambda x: x):
            with graph.saved_tensors_hooks(lambda x: log.append("inner") or x, lambda x: x):
                y = a * a
            y = y * y
        assert log == ["inner", "inner", "outer", "outer"]
        (first,) = t.autograd.grad(y, a, create_graph=True)
        assert first.item() == 4.0 and t.autograd.grad(first, a)[0].item() == 12.0

    @pytest.mark.parametrize("pin_memory", [False, True])
    def test_save_on_cpu(self, pin_memory):
        a = leaf(2)
        with graph.save_on_cpu(pin_memory):
            y = a * a
        y.sum().backward()
        assert a.grad.tolist() == [2.0, 2.0]

    def test_errors_of_hooks_arrive(self):
        def fail(_):
            raise KeyError("hook")

        a = leaf(1)
        with pytest.raises(KeyError), graph.saved_tensors_hooks(fail, fail):
            a * a
        with graph.saved_tensors_hooks(lambda x: x, fail):
            y = a * a
        with pytest.raises(KeyError):
            y.backward()

    def test_can_be_disabled_and_enabled_again(self):
        identity = graph.saved_tensors_hooks(lambda x: x, lambda x: x)
        forbid = graph.disable_saved_tensors_hooks
        with forbid("no hooks here"), pytest.raises(RuntimeError, match="no hooks here"):
            identity.__enter__()
        with identity, pytest.raises(RuntimeError, match="not now"), forbid("not now"):
            pass
        with identity:
            pass

    def test_a_run_leaves_the_pairs_as_they_were(self):
        log = []

        def unpack(x):
            moves.pop()()
            log.append(1)
            return x

        a = leaf(1)
        pair = graph.saved_tensors_hooks(lambda x: x, unpack)
        moves = [pair.__enter__, pair.__exit__]
        for _ in range(2):
            with pair:
                a.sin().backward()
        a.exp().grad_fn._raw_saved_result.register_hooks(lambda x: x, lambda x: x)
        assert log == [1, 1]


class TestMutation:
    def test_backward_sees_the_values_of_the_forward(self):
        with graph.allow_mutation_on_saved_tensors():
            a, w = leaf(2), t.ones(2)
            b = a.clone()
            c = b * b
            b.mul_(5)
            d = b * b
            b.zero_()
            e = a * w
            w.fill_(9)
            t.add(w, 1, out=w)
            (c + d + e).sum().backward()
        assert a.grad.tolist() == [53.0, 53.0]

    def test_backward_belongs_inside_and_contexts_do_not_nest(self):
        with graph.allow_mutation_on_saved_tensors():
            y = leaf(1).exp().sin()
            with pytest.raises(RuntimeError, match="cannot be nested"):
                graph.allow_mutation_on_saved_tensors().__enter__()
        with pytest.raises(AssertionError, match="Trying to backward outside"):
            y.backward()

    def test_version_can_be_raised_by_hand(self):
        a = t.ones(2)
        before = a._version
        graph.increment_version(a)
        graph.increment_version([a, a])
        assert a._version == before + 3


class TestAnomaly:
    def failing(self, record):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with t.autograd.set_detect_anomaly(record):
                y = t.zeros(1, requires_grad=True).sqrt() * 0  # the forward line
            nan = pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan")
            with t.autograd.set_detect_anomaly(True), nan:
                y.backward()
        return str(caught[0].message)

    def test_tells_the_forward_line(self):
        message = self.failing(True)
        assert message.startswith(
            "Error detected in SqrtBackward0. Traceback of forward call that caused the error:\n"
        )
        assert "the forward line" in message

    def test_says_that_it_knows_nothing(self):
        assert "No forward pass information available" in self.failing(False)

    def test_without_nan_checks(self):
        a = t.zeros(1, requires_grad=True)
        with t.autograd.set_detect_anomaly(True, check_nan=False):
            (a.sqrt() * 0).backward()
        assert a.grad.isnan().item() and not t.is_anomaly_enabled()

    def test_names_the_run_that_made_the_failing_node(self):
        class Bad(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone()

            @staticmethod
            def backward(ctx, grad):
                raise ValueError("bad")

        class Outer(Bad):
            @staticmethod
            def backward(ctx, grad):
                return Bad.apply(grad)

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with t.autograd.detect_anomaly():
                a = leaf(1)
                y = Outer.apply(a)
                seed = t.ones(1, requires_grad=True)
                (grad,) = t.autograd.grad(y, a, seed, create_graph=True)
                with pytest.raises(ValueError, match="bad"):
                    grad.backward()
        messages = [str(entry.message).strip() for entry in caught]
        assert messages[0].startswith("Anomaly Detection has been enabled.")
        assert messages[1].startswith("Error detected in BadBackward. Traceback of forward call")
        assert messages[2].startswith("Previous calculation was induced by OuterBackward.")

    def test_tells_of_it_where_warnings_are_errors(self, capsys):
        x = leaf(1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with t.autograd.detect_anomaly():
                y = x + 1
                z = y**2
                y += 1
                warnings.simplefilter("error")
                with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                    z.backward()
        assert "Error detected in PowBackward0" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_comparisons_in_place_end_what_led_there(name):
    a, b = (t.randn(3, requires_grad=True) for _ in range(2))
    y, z, w = a * 1, a * 1, t.zeros(2, 3)
    getattr(y, name + "_")(0.0)
    getattr(z[:2], name + "_")(0.5)
    getattr(w, name + "_")(b)
    assert (y.grad_fn.name(), w.grad_fn.name()) == (
        name.capitalize() + "Backward0",
        name.capitalize() + "Backward1",
    )
    assert t.autograd.grad(y.sum(), a)[0].tolist() == [0, 0, 0]
    assert t.autograd.grad(z.sum(), a)[0].tolist() == [0, 0, 1]
    assert t.autograd.grad(w.sum(), b)[0].tolist() == [0, 0, 0]

    def f(x):
        x = x * 3
        return getattr(x, name + "_")(0.5) + x.sin().detach()

    assert t.func.jvp(f, (t.ones(2),), (t.ones(2),))[1].tolist() == [0, 0]
    assert t.func.vmap(t.func.grad(f))(t.ones(2)).tolist() == [0, 0]


def test_renorm_in_place_has_the_gradients_of_renorm():
    x = t.randn(3, 4, requires_grad=True)
    y = x * 2
    (y.renorm_(2, 0, 1.0) * t.arange(4.0)).sum().backward()
    (want,) = t.autograd.grad(((x * 2).renorm(2, 0, 1.0) * t.arange(4.0)).sum(), x)
    assert t.equal(x.grad, want) and want.any()
