"""Bessel, Airy and error functions, orthogonal polynomials, divisors: identities, seams, edges."""

import math

import pytest
from under_test import t

INFINITY = float("inf")


def doubles(*values):
    return t.tensor(values, dtype=t.float64)


def near(got, expected, rel=1e-12, abs=1e-13):
    assert got.tolist() == pytest.approx(expected.tolist(), rel=rel, abs=abs, nan_ok=True)


# Both sides of the places where the method changes, and values far from them.
POSITIVE = doubles(1e-300, 1e-3, 0.7, 1.9999, 2.0001, 5.9999, 6.0001, 31.0, 1e4)


def test_bessel_functions_have_their_wronskian():
    s, x = t.special, POSITIVE
    found = s.bessel_j1(x) * s.bessel_y0(x) - s.bessel_j0(x) * s.bessel_y1(x)
    near(found, 2 / (math.pi * x))


def test_modified_bessel_functions_have_their_wronskian():
    s, x = t.special, POSITIVE[:-1]
    first, second = s.modified_bessel_i0, s.scaled_modified_bessel_k1
    found = s.i0e(x) * second(x) + s.i1e(x) * s.scaled_modified_bessel_k0(x)
    near(found, 1 / x)
    near(first(x) * s.modified_bessel_k1(x), s.i0e(x) * second(x))


def test_bessel_functions_beyond_five():
    x = doubles(5.032, 7.0)
    near(t.special.bessel_j0(x), doubles(-0.16705869505432683, 0.30007927051955563))
    near(t.special.bessel_j1(x), doubles(-0.3309930284308979, -0.0046828234823458369))
    near(t.special.bessel_y0(x), doubles(-0.31307575182407366, -0.025949743967209261))
    near(t.special.bessel_y1(x), doubles(0.13700796571607632, -0.30266723702418485))


def test_bessel_functions_of_negative_numbers():
    s, x = t.special, doubles(0.5, 7.0)
    near(s.bessel_j0(-x), s.bessel_j0(x))
    near(s.bessel_j1(-x), -s.bessel_j1(x))
    for name in ("bessel_y0", "bessel_y1", "modified_bessel_k0", "scaled_modified_bessel_k1"):
        assert getattr(s, name)(-x).isnan().all()


def test_bessel_functions_at_zero():
    s, zero = t.special, doubles(0.0)
    assert s.bessel_j0(zero).tolist() == s.spherical_bessel_j0(zero).tolist() == [1.0]
    assert s.bessel_y0(zero).tolist() == s.bessel_y1(zero).tolist() == [-INFINITY]
    assert s.modified_bessel_k0(zero).tolist() == s.modified_bessel_k1(zero).tolist() == [INFINITY]


def test_airy_function():
    known = doubles(
        0.3507610090241142, 0.5355608832923521, 0.1352924163128814, 1.104753255289869e-10
    )
    near(t.special.airy_ai(doubles(-5.0, -1.0, 1.0, 10.0)), known, abs=0)


@pytest.mark.parametrize("seam", [-5.0, 2.0])
def test_airy_function_is_smooth_where_its_method_changes(seam):
    left, right = t.special.airy_ai(doubles(seam - 1e-9, seam + 1e-9)).tolist()
    before, after = t.special.airy_ai(doubles(seam - 3e-9, seam + 3e-9)).tolist()
    assert right - left == pytest.approx((after - before) / 3, abs=1e-12)


def test_erfcx_goes_on_where_erfc_ends():
    near(t.special.erfcx(doubles(0.5, 30.0)), doubles(0.6156903441929258, 0.018795888861416751))
    beside = t.special.erfcx(doubles(26 - 1e-9, 26 + 1e-9)).tolist()
    assert beside[0] == pytest.approx(beside[1], rel=1e-10)
    assert t.special.erfcx(doubles(INFINITY, -INFINITY)).tolist() == [0.0, INFINITY]


def test_ndtri_inverts_the_cumulative_function():
    p = doubles(5e-324, 1e-300, 1e-9, 0.2499, 0.2501, 0.5, 0.6)
    near(t.special.log_ndtr(t.special.ndtri(p)), p.log())
    near(t.special.ndtri(1 - p[2:]), -t.special.ndtri(p[2:]), rel=1e-8)


def test_ndtri_outside_of_probabilities():
    found = t.special.ndtri(doubles(0.0, 1.0, -0.1, 1.1))
    assert found[:2].tolist() == [-INFINITY, INFINITY]
    assert found[2:].isnan().all()


@pytest.mark.parametrize("degree", [0, 1, 5, 8, 9, 40])
def test_chebyshev_polynomials_of_cosines(degree):
    s, angle = t.special, doubles(0.3, 1.2, 2.9)
    x, n = angle.cos(), degree
    near(s.chebyshev_polynomial_t(x, n), (n * angle).cos())
    near(s.chebyshev_polynomial_u(x, n), ((n + 1) * angle).sin() / angle.sin(), 1e-10)
    near(s.chebyshev_polynomial_v(x, n), ((n + 0.5) * angle).cos() / (angle / 2).cos(), 1e-10)
    near(s.chebyshev_polynomial_w(x, n), ((n + 0.5) * angle).sin() / (angle / 2).sin(), 1e-10)


@pytest.mark.parametrize("kind", "tuvw")
def test_shifted_chebyshev_polynomials(kind):
    x, n = t.linspace(-0.25, 1.25, 13, dtype=t.float64), t.arange(13)
    shifted = getattr(t.special, f"shifted_chebyshev_polynomial_{kind}")
    near(shifted(x, n), getattr(t.special, f"chebyshev_polynomial_{kind}")(2 * x - 1, n))


def test_polynomials_of_degree_three():
    s, x = t.special, doubles(-1.5, 0.25, 2.0)
    near(s.hermite_polynomial_h(x, 3), 8 * x**3 - 12 * x)
    near(s.hermite_polynomial_he(x, 3), x**3 - 3 * x)
    near(s.laguerre_polynomial_l(x, 3), (6 - 18 * x + 9 * x**2 - x**3) / 6)
    near(s.legendre_polynomial_p(x, 3), (5 * x**3 - 3 * x) / 2)


def around(last):
    """Degrees around the last one of a recurrence, and those between."""
    n = t.arange(last - 1, last + 4)[:, None]
    return n, n[1:-1].double()


# Each three values keep the recurrence, whatever method they come from, to what it loses itself.
@pytest.mark.parametrize(
    "dtype, last, error", [(t.float64, 2**17, 1e-10), (t.float32, 2**10, 2e-5)]
)
def test_legendre_polynomials_go_on_from_the_recurrence(dtype, last, error):
    n, k = around(last)
    x = t.tensor([-0.97, -0.3, 1e-9, 0.25, 0.4999, 0.5001, 0.75, 0.9], dtype=dtype)
    p = t.special.legendre_polynomial_p(x, n).double()
    expected = ((2 * k + 1) * x.double() * p[1:-1] - k * p[:-2]) / (k + 1)
    near(p[2:].flatten(), expected.flatten(), 0, error)


@pytest.mark.parametrize("dtype, last, error", [(t.float64, 2**13, 1e-8), (t.float32, 2**10, 5e-3)])
def test_laguerre_polynomials_go_on_from_the_recurrence(dtype, last, error):
    n, k = around(last)
    x = t.tensor([-0.01, 1e-9, 0.01, 1.0, 30.0], dtype=dtype)
    p = t.special.laguerre_polynomial_l(x, n).double() * (-x.double() / 2).exp()
    expected = ((2 * k + 1 - x.double()) * p[1:-1] - k * p[:-2]) / (k + 1)
    near(p[2:].flatten(), expected.flatten(), error, error)


@pytest.mark.parametrize("kind", "tuvw")
def test_chebyshev_polynomials_beyond_one_go_on_from_the_recurrence(kind):
    n, _ = around(2**17)
    x = doubles(1 + 1e-6, -1 - 1e-6)
    p = getattr(t.special, f"chebyshev_polynomial_{kind}")(x, n)
    near(p[2:].flatten(), (2 * x * p[1:-1] - p[:-2]).flatten(), 1e-9)


def test_values_of_high_degrees():
    """Values of a recurrence in sixty digits, and of series of hypergeometric functions."""
    s = t.special
    near(s.laguerre_polynomial_l(doubles(0.01), 131073), doubles(-0.075832065122203151))
    near(s.laguerre_polynomial_l(doubles(1.0), 131073), doubles(0.036449711909358481), 1e-11)
    near(s.laguerre_polynomial_l(doubles(900.0), 131073), doubles(1.0683672739366583e193), 1e-10)
    near(s.laguerre_polynomial_l(doubles(-0.5), 131073), doubles(3.1469415155685677e220), 1e-11)
    near(s.legendre_polynomial_p(doubles(-0.9999), 1048579), doubles(-0.0064528692011565115), 1e-11)
    near(s.legendre_polynomial_p(doubles(1.000001), 200001), doubles(1.6340617672098481e121), 1e-11)
    near(s.legendre_polynomial_p(doubles(0.0), 2**40), doubles((2 / math.pi / 2**40) ** 0.5))


@pytest.mark.parametrize("degree", [2**31, 2**62 - 1])
def test_the_highest_degrees_take_no_steps(degree):
    s, x = t.special, doubles(0.0, 1.0, -1.0, 0.5, 1 + 2.0**-52, 1e300, INFINITY, float("nan"))
    odd = -1.0 if degree % 2 else 1.0
    for name in ("legendre_polynomial_p", "chebyshev_polynomial_t"):
        found = getattr(s, name)(x.float(), degree).tolist()
        assert found[1] == 1.0 and found[2] == (1.0 if float(degree) % 2 == 0 else odd)
        assert abs(found[3]) <= 1 and math.isnan(found[5]) and math.isnan(found[7])
    laguerre = s.laguerre_polynomial_l(x, degree).tolist()
    assert laguerre[0] == 1.0 and abs(laguerre[1]) < 1e-2 and math.isnan(laguerre[2])
    for name in POLYNOMIALS:
        getattr(s, name)(x, degree)


def test_degrees_are_cut_to_integers():
    x = doubles(0.25)
    found = t.special.legendre_polynomial_p(x, doubles(2.9, -0.5, -1.0, INFINITY, float("nan")))
    near(found, doubles((3 * 0.25**2 - 1) / 2, 1.0, 0.0, 0.0, 0.0))


def test_functions_without_derivatives_leave_no_graph():
    x = doubles(0.5).requires_grad_()
    assert not t.special.bessel_j0(x).requires_grad
    assert not t.special.hermite_polynomial_h(x, 2).requires_grad
    assert t.special.log_ndtr(x).requires_grad


@pytest.mark.parametrize("power", [2.0, 3.0, 8.0])
def test_zeta_far_below_zero_is_its_terms_and_the_rest(power):
    start = doubles(-63.5, -64.25, -100.75, -999.375)
    terms = sum((start + k) ** -power for k in range(1020))
    near(
        t.special.zeta(t.tensor(power).double(), start), terms + t.special.zeta(power, start + 1020)
    )


def test_zeta_takes_few_steps_wherever_it_begins():
    left, right = t.special.zeta(3.0, doubles(0.75)), t.special.zeta(3.0, doubles(0.25))
    near(t.special.zeta(3.0, doubles(-1e15 - 0.25)), left - right)
    near(t.special.polygamma(2, doubles(-1e15 - 0.25)), 2 * (right - left))


def test_divisors_and_multiples():
    a, b = t.tensor([12, -18, 0, 7, 0]), t.tensor([8, 12, 5, 0, 0])
    assert t.gcd(a, b).tolist() == [4, 6, 5, 7, 0]
    assert t.lcm(a, b).tolist() == [24, 36, 0, 0, 0]
    assert t.gcd(a[:2, None], b[None, :2]).tolist() == [[4, 12], [2, 6]]


def test_divisors_of_the_smallest_integer():
    smallest = t.tensor([-128], dtype=t.int8)
    assert t.gcd(smallest, t.tensor([96], dtype=t.int8)).tolist() == [32]


def test_divisors_in_place_keep_the_dtype():
    a = t.tensor([12, 18], dtype=t.int32)
    assert a.gcd_(t.tensor([8, 27])).tolist() == [4, 9]
    assert a.lcm_(t.tensor([6, 6])).tolist() == [12, 18]
    assert a.dtype == t.int32


UNARY = ["modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1"]
UNARY += ["scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0"]
UNARY += ["erfcx", "log_ndtr", "ndtri"]


def compare_with_pytorch(name, torch, rel, abs):
    values = [k * 0.037 for k in range(-300, 900)] + [0.0, 1e-9, 1e3, float("nan")]
    expected = getattr(torch.special, name)(torch.tensor(values, dtype=torch.float64))
    near(getattr(t.special, name)(doubles(*values)), expected, rel, abs)


@pytest.mark.parametrize("name", UNARY)
def test_functions_are_pytorchs(name, torch):
    compare_with_pytorch(name, torch, 1e-10, 1e-11)


@pytest.mark.parametrize("name", ["bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "airy_ai"])
def test_waves_are_pytorchs(name, torch):
    """To 3e-6: so far are PyTorch's from the exact values where its methods change."""
    compare_with_pytorch(name, torch, 0, 3e-6)


POLYNOMIALS = [f"{shifted}chebyshev_polynomial_{k}" for shifted in ("", "shifted_") for k in "tuvw"]
POLYNOMIALS += ["hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l"]
POLYNOMIALS += ["legendre_polynomial_p"]


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_are_pytorchs(name, torch):
    points, degrees = [k / 8 for k in range(-16, 17)], list(range(-2, 20))

    def results(lib):
        x = lib.tensor(points, dtype=lib.float64)
        return getattr(lib.special, name)(x[:, None], lib.tensor(degrees)).flatten()

    near(results(t), results(torch), 1e-9, 1e-9)


def test_the_names_of_the_module_are_pytorchs(torch):
    assert sorted(t.special.__all__) == sorted(torch.special.__all__)
