"""Memory of results and inputs is that of eager: layouts, sharing, writes, versions, refusals."""

import pytest
from watched_programs import BACKENDS, check, errors, is_shared, leaf, line, look, looks

import taeda as t

PROGRAMS = []


def program(f):
    PROGRAMS.append(f)
    return f


# ---- results that are expanded ----


@program
def expanded_sum(run):
    x = line(3, 2)
    out = run(lambda x: x.sum().expand(3, 4))(x)
    return looks(out)


@program
def expanded_sum_with_gradients(run):
    x = leaf(3, 2)
    out = run(lambda x: (x * x).sum().expand(3, 4))(x)
    (out * line(3, 4)).sum().backward()
    return looks(out, x.grad)


@program
def writing_to_an_expanded_result(run):
    x, seen = leaf(3, 2), []
    out = run(lambda x: (x * 2).sum().expand(3, 4))(x)
    with errors(seen):
        out.add_(1)
    with errors(seen):
        out.detach().zero_()
    out.sum().backward()
    return [*seen, *looks(out, x.grad)]


@program
def expanded_row_beside_its_value(run):
    x = leaf(3, 4)

    def f(x):
        h = x * 2
        return h, h[:1].expand(5, 4)

    h, rows = run(f)(x)
    with t.no_grad():
        h[0].mul_(3)
    rows.sum().backward()
    return [*looks(h, rows, x.grad), is_shared(h, rows)]


@program
def expanded_row_of_an_input(run):
    x = line(3, 4)
    rows = run(lambda x: x[1].expand(2, 4))(x)
    x.mul_(2)
    return [*looks(rows, x), is_shared(x, rows)]


@program
def expanded_gradient(run):
    x = leaf(3, 4)
    out = run(lambda x: x.exp())(x)
    out.backward(t.ones(()).expand(3, 4))
    return looks(out, x.grad)


@program
def windows_that_overlap(run):
    x = leaf(7)

    def f(x):
        return (x * 3).unfold(0, 3, 2)

    out = run(f)(x)
    (out * line(3, 3)).sum().backward()
    return looks(out, x.grad)


@program
def overlapping_strides(run):
    x = leaf(6)
    out = run(lambda x: x.sin().as_strided((3, 3), (1, 1)))(x)
    (out * line(3, 3)).sum().backward()
    return looks(out, x.grad)


def overwritten(run, x, view):
    """A view of a tensor that then gets the elements of the input: the memory is copied."""

    def f(x):
        a = x.exp()
        b = view(a)
        a.copy_(x)
        return b

    out = run(f)(x)
    return looks(out, x)


@program
def expanded_and_overwritten(run):
    return overwritten(run, line(4), lambda a: a.unsqueeze(-1).expand(4, 3))


@program
def gaps_and_overwritten(run):
    return overwritten(run, line(4, 6), lambda a: a.t()[::2])


@program
def expanded_gaps_and_overwritten(run):
    return overwritten(run, line(6), lambda a: a[::2].expand(2, 3))


@program
def expanded_and_transposed(run):
    x = leaf(4, 1)
    out = run(lambda x: (x + 1).expand(4, 3).t())(x)
    (out * line(3, 4)).sum().backward()
    return looks(out, x.grad)


@program
def expanded_constant(run):
    x = line(2)
    return looks(*run(lambda x: (t.zeros(()).expand(2, 3), x + 1))(x))


@program
def expanded_twice(run):
    x = leaf(2, 1)

    def f(x):
        h = x * 2
        return h.expand(2, 3), h.expand(2, 5)

    a, b = run(f)(x)
    (a.sum() + (b * line(2, 5)).sum()).backward()
    return [*looks(a, b, x.grad), is_shared(a, b)]


# ---- results that share memory ----


@program
def one_result_twice(run):
    x = leaf(2, 3)

    def f(x):
        h = x + 1
        return h, h

    a, b = run(f)(x)
    a.mul_(2)
    (a + b).sum().backward()
    return [*looks(a, b, x.grad), a is b]


@program
def a_value_and_its_view(run):
    x = leaf(2, 3)

    def f(x):
        h = x * x
        return h, h.view(-1)

    a, b = run(f)(x)
    a.mul_(3)
    (b * line(6)).sum().backward()
    return [*looks(a, b, x.grad), is_shared(a, b)]


@program
def views_of_a_hidden_value(run):
    x = leaf(2, 3)

    def f(x):
        h = x * x
        return h.t(), h[1]

    a, b = run(f)(x)
    b.mul_(2)
    (a * line(3, 2)).sum().backward()
    return [*looks(a, b, x.grad), is_shared(a, b)]


@program
def parts_are_not_written(run):
    x, seen = leaf(3, 2), []
    parts = run(lambda x: (x * 3).unbind(0))(x)
    with errors(seen):
        parts[0].mul_(2)
    sum(p.sum() * (i + 1) for i, p in enumerate(parts)).backward()
    return [*seen, *looks(*parts, x.grad), is_shared(*parts)]


@program
def parts_without_gradients_are_written(run):
    x = line(4, 2)
    parts = run(lambda x: (x * 3).split(2))(x)
    parts[0].mul_(2)
    return [*looks(*parts), is_shared(*parts)]


@program
def disjoint_rows(run):
    x = leaf(4, 2)

    def f(x):
        h = x * 2
        return h[:2], h[2:]

    a, b = run(f)(x)
    a.add_(1)
    (a * b).sum().backward()
    return [*looks(a, b, x.grad), is_shared(a, b)]


@program
def a_value_and_itself_detached(run):
    x = leaf(2, 3)

    def f(x):
        h = x * 2
        return h, h.detach()

    a, b = run(f)(x)
    b.zero_()
    (a * 3).sum().backward()
    return [*looks(a, b, x.grad), is_shared(a, b)]


@program
def an_input_is_given_back(run):
    x = line(2, 3)
    out = run(lambda x: (x, x + 1))(x)
    return [*looks(*out), out[0] is x]


@program
def a_view_of_an_input_is_written(run):
    x = line(2, 3)
    out = run(lambda x: x.t())(x)
    before = x._version
    out.add_(1)
    return [*looks(out, x), is_shared(x, out), x._version > before]


@program
def a_view_of_a_leaf_is_not_written(run):
    x, seen = leaf(2, 3), []
    out = run(lambda x: x.view(-1))(x)
    with errors(seen):
        out.add_(1)
    return [*seen, *looks(out, x), out._base is x]


@program
def a_view_of_an_inner_input_is_written(run):
    x = leaf(2, 3)
    y = x * 2
    out = run(lambda y: y[0])(y)
    out.mul_(5)
    y.sum().backward()
    return looks(out, y, x.grad)


@program
def real_and_imaginary_parts(run):
    x = t.complex(line(3), line(3).flip(0)).requires_grad_()

    def f(x):
        h = x * x
        return h.real, h.imag

    a, b = run(f)(x)
    (a + 2 * b).sum().backward()
    return [is_shared(a, b), *looks(a, b), look(t.view_as_real(x.grad))]


@program
def a_view_made_without_recording(run):
    x = leaf(2, 3)

    def f(x):
        with t.no_grad():
            v = x.view(-1)
        return v, x * 2

    v, y = run(f)(x)
    y.sum().backward()
    return [*looks(v, y, x.grad), is_shared(x, v)]


@program
def a_result_written_before_backward(run):
    x = leaf(2, 3)
    out = run(lambda x: x * 2)(x)
    out.mul_(line(2, 3))
    out.sum().backward()
    return looks(out, x.grad)


@program
def layouts_of_results(run):
    x = line(2, 3, 4)

    def f(x):
        a = x.permute(2, 0, 1)
        return a + 1, a.contiguous(), a[::2], a.flip(0), x[:, 1:].exp(), x.sum(1, keepdim=True)

    return looks(*run(f)(x))


@program
def channels_last(run):
    x = line(2, 3, 4, 4).to(memory_format=t.channels_last).requires_grad_()
    out = run(lambda x: (x * 2, x.relu().sum((2, 3)), x.clone()))(x)
    (out[0] * out[2]).sum().backward()
    return looks(*out, x.grad)


@program
def empty_results(run):
    x = leaf(0, 3)
    a, b = run(lambda x: (x * 2, x.sum(0)))(x)
    (a.sum() + b.sum()).backward()
    return looks(a, b, x.grad)


# ---- inputs that share memory ----


@program
def a_tensor_and_its_row(run):
    x = line(3, 4)

    def f(x, row):
        x.mul_(2)
        return row + 1

    return looks(run(f)(x, x[1]), x)


@program
def a_row_that_is_written(run):
    x = line(3, 4)

    def f(row, x):
        row.fill_(7)
        return x.sum(1)

    return looks(run(f)(x[1], x), x)


@program
def the_same_input_twice(run):
    x = line(3, 4)

    def f(a, b):
        a.add_(1)
        return a * b

    return looks(run(f)(x, x), x)


@program
def overlapping_rows(run):
    x = line(4, 3)

    def f(a, b):
        a.mul_(2)
        b.add_(1)
        return a + b

    return looks(run(f)(x[:3], x[1:]), x)


@program
def rows_apart(run):
    x = line(4, 3)

    def f(a, b):
        a.mul_(2)
        b.add_(1)
        return a + b

    return looks(run(f)(x[:2], x[2:]), x)


@program
def a_matrix_and_its_transpose(run):
    x = line(3, 3)

    def f(a, b):
        a[0].add_(10)
        return b + 1

    return looks(run(f)(x, x.t()), x)


@program
def views_with_gradients_that_are_written(run):
    x = leaf(3, 4)
    y = x * 2

    def f(a, b):
        a.add_(b)
        return a * 2 + b

    out = run(f)(y[0], y[1])
    (out * line(4)).sum().backward()
    return looks(out, y, x.grad)


@program
def an_input_and_itself_detached(run):
    x = leaf(3, 4)
    y = x * 2

    def f(y, d):
        d.add_(1)
        return y * 3

    out = run(f)(y, y.detach())
    out.sum().backward()
    return looks(out, y, x.grad)


@program
def columns_with_gaps(run):
    x = line(4, 6)

    def f(a, b):
        a.mul_(2)
        return a + b

    return looks(run(f)(x[:, ::2], x[:, 1::2]), x)


@program
def an_expanded_input_is_not_written(run):
    x, seen = line(3, 1).expand(3, 4), []
    with errors(seen):
        run(lambda x: x.add_(1))(x)
    return [*seen, look(x)]


@program
def one_input_by_two_views_with_gradients(run):
    x = leaf(6)

    def f(a, b):
        return a * b

    out = run(f)(x.view(2, 3), x.view(3, 2).t())
    out.sum().backward()
    return looks(out, x.grad)


# ---- histories ----


@program
def a_leaf_and_its_view_written_without_recording(run):
    x = leaf(2, 3)

    def f(w, v):
        with t.no_grad():
            w.add_(1)
            v.mul_(2)
        return (w * 3).sum()

    view = x.view(-1)[2:]
    run(f)(x, view).backward()
    return looks(x, view, x.grad)


@program
def a_tensor_and_its_view_written_without_recording(run):
    x = leaf(6)
    y = x * 2
    view = y[2:]

    def f(w, v):
        with t.no_grad():
            w.add_(1)
            v.mul_(2)
        return (w * v.sum()).sum()

    run(f)(y, view)
    y.sum().backward()
    return looks(y, view, x.grad)


@program
def a_view_of_an_unrecorded_view_of_a_result(run):
    x = leaf(6)

    def f(x):
        b = x * 2
        with t.no_grad():
            v = b[1:]
        return b, v, v[1:]

    b, v, u = run(f)(x)
    seen = t.autograd.grad(u.sum(), [x, b, u], allow_unused=True)
    return [*looks(b, v, u, *seen), is_shared(b, v, u)]


@program
def a_view_of_an_unrecorded_view_of_an_input(run):
    x = line(6).clone().requires_grad_()

    def f(x):
        with t.inference_mode():
            v = x[1:]
        return v[1:]

    u = run(f)(x)
    seen = t.autograd.grad(u.sum(), [x, u], allow_unused=True)
    return [*looks(u, *seen), is_shared(x, u)]


@program
def an_unrecorded_view_of_what_nobody_sees(run):
    def f(x):
        b = x * 2
        with t.no_grad():
            return b[1:]

    return looks(run(f)(leaf(6)))


@program
def a_view_that_is_written_beside_one_that_is_read(run):
    x = leaf(6)
    y = x * 2

    def f(a, b):
        r = (a * 2).sin()
        b.mul_(3)
        return r.sum() + b.sum()

    run(f)(y[:3], y[3:]).backward()
    return looks(y, x.grad)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_programs_see_the_same(program, backend):
    check(program, backend)


def unrecorded_view():
    y = leaf(3) * 2
    with t.no_grad():
        return y[1:]


REFUSING = {
    "leaf": lambda: leaf(3),
    "view of a leaf": lambda: leaf(3)[1:],
    "unrecorded view": unrecorded_view,
    "one of several views": lambda: (leaf(2, 3) * 2).unbind()[0],
}


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("make", REFUSING.values(), ids=REFUSING)
def test_a_write_that_is_refused_comes_before_all_others(make, backend):
    def f(w, v):
        w.add_(1)
        v.mul_(2)
        return v * 2

    compiled = t.compile(f, backend=backend)
    compiled(line(3), leaf(3) * 2)
    compiled(line(3), (leaf(3) * 2)[1:])
    seen = []
    for run in (f, compiled):
        w, v = line(3), make()
        with pytest.raises(RuntimeError) as error:
            run(w, v)
        seen.append([str(error.value), *looks(w, v)])
    assert seen[0] == seen[1]
