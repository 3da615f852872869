"""Statements of fuzz_views that change something: writes, flags, hooks, backward.

A statement's maker takes the scope and returns a line of Python, or None where no variable fits.
Values stay small integers, so that results are exact in any order of evaluation.
"""

from fuzz_scope import has_dims, is_matrix

# ---- in place ----


def write_number(s):
    v = s.any()
    n = s.number()
    return v + s.rng.choice(
        (
            f".add_({n})",
            f".mul_({n})",
            ".zero_()",
            f".fill_({n})",
            ".neg_()",
            ".clamp_(min=0)",
            ".relu_()",
        )
    )


def write_tensor(s):
    a = s.any()
    b = s.any(lambda shape: shape in (s.shapes[a], ()))
    return f"{a}.{s.rng.choice(('add_', 'mul_', 'sub_', 'copy_'))}({b})" if b else None


def set_item(s):
    v = s.any(has_dims)
    if v:
        shape = s.shapes[v]
        i = s.rng.randrange(shape[0])
        b = s.any(lambda other: other in (shape[1:], ())) if s.rng.random() < 0.6 else None
        return f"{v}[{i}] = {b or s.number()}"


def write_through_view(s):
    v = s.any(has_dims)
    if v:
        i = s.rng.randrange(s.shapes[v][0])
        return f"{v}[{i}].{s.rng.choice(('add_(1)', 'mul_(2)', 'zero_()'))}"


def write_some(s):
    v = s.any(has_dims)
    if v:
        i = s.rng.randrange(s.shapes[v][0])
        n = s.number()
        return v + s.rng.choice(
            (
                f".index_fill_(0, t.tensor([{i}]), {n})",
                f".masked_fill_({v} > 0, {n})",
                f"[{v} > 1] = {n}",
                f"[t.tensor([{i}])] = {n}",
                ".cumsum_(0)",
                ".triu_()",
            )
        )


def write_out(s):
    a = s.any()
    b = s.any(lambda shape: shape == s.shapes[a])
    c = s.any(lambda shape: shape == s.shapes[a])
    return f"t.{s.rng.choice(('add', 'mul'))}({a}, {b}, out={c})"


def write_grad(s):
    return f"{s.any()}.grad.{s.rng.choice(('mul_(2)', 'zero_()', 'detach_()'))}"


def reshape_in_place(s):
    v = s.any(is_matrix)
    if v:
        a, b = s.shapes[v]
        how, shape = s.rng.choice(
            ((".t_()", (b, a)), (".transpose_(0, 1)", (b, a)), (".unsqueeze_(0)", (1, a, b)))
        )
        s.shapes[v] = shape
        return v + how


# ---- autograd ----


def set_flag(s):
    v = s.any()
    return v + s.rng.choice(
        (
            ".requires_grad_()",
            ".requires_grad_()",
            ".requires_grad_(False)",
            ".detach_()",
            ".retain_grad()",
            ".requires_grad = True",
        )
    )


def add_hook(s):
    v = s.any()
    s.handles += 1
    name = f"h{s.handles}"
    factor = s.rng.choice(("", ", 2"))
    call = s.rng.choices(
        (
            f"register_hook(hook('{name}'{factor}))",
            f"register_post_accumulate_grad_hook(leaf_hook('{name}'))",
        ),
        (4, 1),
    )[0]
    # Reading the node first renews it: PyTorch crashes at a hook on a view that is out of date.
    return f"{v}.grad_fn; {name} = {v}.{call}"


def remove_hook(s):
    if s.handles:
        return f"h{s.rng.randint(1, s.handles)}.remove()"


def backward(s):
    v = s.any()
    retain = s.rng.choice(("", "", "retain_graph=True", "create_graph=True"))
    call = s.rng.choice(
        (f"{v}.sum().backward({retain})", f"{v}.backward(t.ones_like({v}), {retain})")
    )
    return call.replace(", )", ")")


def gradient(s):
    a, b = s.any(), s.any()
    options = s.rng.choice(
        ("", ", allow_unused=True", ", retain_graph=True", ", create_graph=True")
    )
    return f"{s.name(s.shapes[b])}, = t.autograd.grad({a}.sum(), {b}{options})"


def add_node_hook(s):
    v = s.any()
    s.handles += 1
    kind, maker = s.rng.choice(
        (("register_hook", "node_hook"), ("register_prehook", "node_prehook"))
    )
    return f"h{s.handles} = {v}.grad_fn.{kind}({maker}('h{s.handles}'))"


def backward_of_several(s):
    a, b, c = s.any(), s.any(), s.any()
    inputs = s.rng.choice(("", f", inputs=[{c}]", ", retain_graph=True"))
    return f"t.autograd.backward([{a}.sum(), {b}.sum()]{inputs})"


def gradients_of_several(s):
    a, b, c = s.any(), s.any(), s.any()
    names = f"{s.name(s.shapes[b])}, {s.name(s.shapes[c])}"
    options = s.rng.choice(
        (", allow_unused=True", ", materialize_grads=True", ", create_graph=True")
    )
    return f"{names} = t.autograd.grad({a}.sum(), [{b}, {c}]{options})"


def forget(s):
    """A variable that goes takes with it what only it kept alive."""
    if len(s.shapes) > 3:
        v = s.any()
        kept = {name: shape for name, shape in s.shapes.items() if name != v}
        s.gone += 1
        s.shapes = kept
        s.complex_names.discard(v)
        return f"del {v}"


def set_mode(s):
    return f"t.set_grad_enabled({s.rng.choice((True, False))})"


def clear_grad(s):
    return f"{s.any()}.grad = None"


def set_grad(s):
    v = s.any()
    return f"{v}.grad = t.ones_like({v})"


def set_data(s):
    a = s.any()
    b = s.any(lambda shape: shape == s.shapes[a])
    return f"{a}.data = {b}.detach() * 2"


def new_leaf(s):
    return s.new_leaf()


WRITE_STATEMENTS = [
    (write_number, 9),
    (write_tensor, 7),
    (write_some, 3),
    (write_out, 1),
    (write_grad, 1),
    (set_item, 5),
    (write_through_view, 3),
    (reshape_in_place, 2),
    (set_flag, 7),
    (add_hook, 5),
    (add_node_hook, 1),
    (remove_hook, 1),
    (backward, 10),
    (backward_of_several, 2),
    (gradient, 4),
    (gradients_of_several, 2),
    (forget, 1),
    (set_mode, 0.3),
    (clear_grad, 1),
    (set_grad, 1),
    (set_data, 1),
    (new_leaf, 2),
]
