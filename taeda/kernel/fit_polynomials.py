"""Fits the polynomials of math_polynomials.h and prints that header.

Run `python fit_polynomials.py > math_polynomials.h` (needs mpmath). Each polynomial is the
Chebyshev interpolant of a smooth remainder function, so the leading terms that decide the rounding
are written out in math.h and only a small correction is approximated here. Where errors weigh
differently along the interval, it is the weighted fit.
"""

from mpmath import (
    cos,
    erf,
    erfc,
    erfinv,
    exp,
    log,
    loggamma,
    lu_solve,
    matrix,
    mp,
    mpf,
    pi,
    sqrt,
    tanh,
)

mp.prec = 240


def chebyshev_fit(function, low, high, degree):
    """Monomial coefficients around 0 of the Chebyshev interpolant on [low, high]."""
    count = degree + 1
    middle, half = (low + high) / 2, (high - low) / 2
    nodes = [cos(pi * (2 * k + 1) / (2 * count)) for k in range(count)]
    values = [function(middle + half * node) for node in nodes]
    series = []
    for j in range(count):
        total = sum(v * cos(pi * j * (2 * k + 1) / (2 * count)) for k, v in enumerate(values))
        series.append(total * (1 if j == 0 else 2) / count)
    # Clenshaw on polynomials in x: T_j((x - middle) / half).
    shift, scale = -middle / half, 1 / half

    def times_argument(poly):
        result = [mpf(0)] * (len(poly) + 1)
        for i, c in enumerate(poly):
            result[i] += c * shift
            result[i + 1] += c * scale
        return result

    def add(a, b, factor=1):
        size = max(len(a), len(b))
        a = a + [mpf(0)] * (size - len(a))
        b = b + [mpf(0)] * (size - len(b))
        return [x + factor * y for x, y in zip(a, b)]

    previous, current = [mpf(1)], times_argument([mpf(1)])
    result = [series[0]]
    for j in range(1, count):
        result = add(result, [series[j] * c for c in current])
        previous, current = current, add([2 * c for c in times_argument(current)], previous, -1)
    return result[:count]


def weighted_fit(function, weight, low, high, degree):
    """Monomial coefficients of the polynomial whose largest weighted error is about the least.

    Lawson's iteration: least squares again and again, each time with more weight where the error is
    large.
    """
    count = 12 * (degree + 1)
    middle, half = (low + high) / 2, (high - low) / 2
    points = [cos(pi * (2 * k + 1) / (2 * count)) for k in range(count)]
    values = [function(middle + half * x) for x in points]
    weights = [weight(middle + half * x) for x in points]
    share = [mpf(1) / count] * count
    for _ in range(60):
        scale = [sqrt(s) * w for s, w in zip(share, weights)]
        rows = matrix([[r * x**j for j in range(degree + 1)] for r, x in zip(scale, points)])
        solution = lu_solve(rows, matrix([r * v for r, v in zip(scale, values)]))
        errors = [
            w * abs(sum(solution[j] * x**j for j in range(degree + 1)) - v)
            for x, v, w in zip(points, values, weights)
        ]
        total = sum(s * e for s, e in zip(share, errors))
        share = [s * e / total for s, e in zip(share, errors)]
    # From ((x - middle) / half)^j to x^j.
    result = [mpf(0)] * (degree + 1)
    power = [mpf(1)]
    for j in range(degree + 1):
        for i, c in enumerate(power):
            result[i] += solution[j] * c
        shifted = [mpf(0)] + [c / half for c in power]
        power = [s - c * middle / half for s, c in zip(shifted, power + [mpf(0)])]
    return result


def hex_literal(value, bits):
    """`value` rounded to `bits` bits of mantissa, as a C hexadecimal literal."""
    if bits == 24:
        mp.prec, old = 24, mp.prec
        rounded = +value
        mp.prec = old
        return float(rounded).hex() + "f"
    return float(value).hex()


def quotient(numerator_series, exact):
    """Returns exact(x), or the series around 0 where exact would cancel."""

    def value(x):
        small = numerator_series(x)
        return exact(x) if small is None else small

    return value


def series(terms):
    return lambda x: sum(c * x**i for i, c in enumerate(terms)) if abs(x) < mpf("0.01") else None


def factorial(n):
    result = mpf(1)
    for i in range(2, n + 1):
        result *= i
    return result


def functions():
    """(name, comment, function, (low, high, degree[, weight]) for float, same for double)"""
    ln2 = log(mpf(2))
    exp_tail = quotient(
        series([1 / factorial(k + 2) for k in range(40)]), lambda r: (exp(r) - 1 - r) / r**2
    )
    exp2_tail = quotient(
        series([ln2 ** (k + 1) / factorial(k + 1) for k in range(40)]),
        lambda r: (exp(r * ln2) - 1) / r,
    )
    log_cubic = quotient(
        series([mpf((-1) ** k) / (k + 3) for k in range(60)]),
        lambda f: (log(1 + f) - f + f * f / 2) / f**3,
    )

    def atanh_tail(skip):
        # sum 2 z^k/(2k+1), k >= skip, divided by z^skip
        def value(z):
            return sum(2 * z**k / (2 * (k + skip) + 1) for k in range(90))

        return value

    sin_tail = lambda z: sum((-1) ** (k + 1) * z**k / factorial(2 * k + 3) for k in range(30))
    cos_tail = lambda z: sum((-1) ** k * z**k / factorial(2 * k + 4) for k in range(30))
    sinh_tail = lambda z: sum(z**k / factorial(2 * k + 3) for k in range(40))
    tanh_tail = lambda z: (tanh(sqrt(z)) / sqrt(z) - 1) / z if z > mpf(10) ** -30 else -mpf(1) / 3
    atan_tail = lambda z: sum((-1) ** (k + 1) * z**k / (2 * k + 3) for k in range(120))
    asin_coefficients = []
    c = mpf(1)
    for k in range(1, 140):
        c = c * (2 * k - 1) / (2 * k)
        asin_coefficients.append(c / (2 * k + 1))
    asin_tail = lambda z: sum(a * z**k for k, a in enumerate(asin_coefficients))
    erf_small = lambda z: erf(sqrt(z)) / sqrt(z) - 1 if z > 0 else 2 / sqrt(pi) - 1
    erf_log = lambda x: -log(erfc(x))
    erf_log2 = lambda x: -log(erfc(x), 2)
    # What an error of erf_log2 does to erf.
    erf_log2_weight = lambda x: erfc(x) * ln2

    def erfcx_scaled(center):
        def value(t):
            x = center * (1 + t) / (1 - t)
            return exp(x * x) * erfc(x) * (1 + 2 * x)

        return value

    def erfinv_central(shift):
        def value(u):
            w = u + shift
            if w < mpf(10) ** -30:
                return sqrt(pi) / 2
            y = sqrt(1 - exp(-w))
            return inverse_erf(y, w) / y

        return value

    def inverse_erf(y, w):
        # Newton on log(erfc): stable next to y = 1, where 1 - y is given exactly by w.
        complement = exp(-w) / (1 + y)
        x = erfinv(mpf(float(y))) if y < mpf("0.99") else sqrt(-log(complement))
        for _ in range(60):
            error = log(erfc(x)) - log(complement)
            step = error * erfc(x) / (2 / sqrt(pi) * exp(-x * x))
            x += step
            if abs(step) < mpf(10) ** -60 * abs(x):
                break
        return x

    def erfinv_tail(shift):
        def value(u):
            s = u + shift
            w = s * s
            y = sqrt(1 - exp(-w))
            return inverse_erf(y, w) / y

        return value

    lgamma_two = lambda z: loggamma(2 + z) / z if abs(z) > mpf(10) ** -30 else 1 - mp.euler
    lgamma_one = lambda z: loggamma(1 + z) / z if abs(z) > mpf(10) ** -30 else -mp.euler
    half_ln2 = mpf("0.3467")
    root = lambda a, b: (sqrt(mpf(a)) - 1, sqrt(mpf(b)) - 1)
    t_of = lambda x, k: (x - k) / (x + k)
    return [
        (
            "exp",
            "(e^r - 1 - r) / r^2 for |r| <= ln2/2",
            exp_tail,
            (-half_ln2, half_ln2, 4),
            (-half_ln2, half_ln2, 10),
        ),
        (
            "exp2",
            "(2^r - 1) / r for |r| <= 1/2",
            exp2_tail,
            (mpf("-0.5"), mpf("0.5"), 5),
            (mpf("-0.5"), mpf("0.5"), 11),
        ),
        (
            "log_cubic",
            "(log(1+f) - f + f^2/2) / f^3 for sqrt(1/2) <= 1+f < sqrt(2)",
            log_cubic,
            (root("0.5", "2")[0], root("0.5", "2")[1], 8),
            None,
        ),
        (
            "log_quotient",
            "(log((1+s)/(1-s))/s - 2) / s^2 in z = s^2",
            atanh_tail(1),
            None,
            (mpf(0), mpf("0.02945"), 7),
        ),
        (
            "log_fifth",
            "(log((1+s)/(1-s))/s - 2 - 2/3 z) / z^2 in z = s^2",
            atanh_tail(2),
            (mpf(0), mpf("0.02945"), 2),
            (mpf(0), mpf("0.02945"), 7),
        ),
        (
            "sin",
            "(sin(r) - r) / r^3 in z = r^2, |r| <= pi/4",
            sin_tail,
            (mpf(0), mpf("0.6175"), 3),
            (mpf(0), mpf("0.6175"), 6),
        ),
        (
            "cos",
            "(cos(r) - 1 + z/2) / z^2 in z = r^2, |r| <= pi/4",
            cos_tail,
            (mpf(0), mpf("0.6175"), 3),
            (mpf(0), mpf("0.6175"), 6),
        ),
        (
            "sinh",
            "(sinh(x) - x) / x^3 in z = x^2, |x| <= 1",
            sinh_tail,
            (mpf(0), mpf(1), 3),
            (mpf(0), mpf(1), 7),
        ),
        (
            "tanh",
            "(tanh(x) - x) / x^3 in z = x^2, |x| <= 0.5625",
            tanh_tail,
            (mpf(0), mpf("0.3165"), 4),
            (mpf(0), mpf("0.3165"), 10),
        ),
        (
            "atan",
            "(atan(t) - t) / t^3 in z = t^2, |t| <= tan(pi/8)",
            atan_tail,
            (mpf(0), mpf("0.1718"), 4),
            (mpf(0), mpf("0.1718"), 12),
        ),
        (
            "asin",
            "(asin(x) - x) / x^3 in z = x^2, |x| <= 1/2",
            asin_tail,
            (mpf(0), mpf("0.25"), 5),
            (mpf(0), mpf("0.25"), 13),
        ),
        (
            "erf",
            "erf(x)/x - 1 in z = x^2, |x| <= 3/4 and |x| <= 1",
            erf_small,
            (mpf(0), mpf("0.5625"), 5),
            (mpf(0), mpf(1), 12),
        ),
        (
            "erf_log",
            "-log(erfc(x)) for 1 <= x, to the point where erf is 1",
            erf_log,
            None,
            (mpf(1), mpf("6.05"), 25),
        ),
        (
            "erf_log2",
            "-log2(erfc(x)) for 3/4 <= x, to the point where erf is 1, weighted by erfc(x) ln2",
            erf_log2,
            (mpf("0.75"), mpf(4), 6, erf_log2_weight),
            None,
        ),
        (
            "erfcx",
            "e^(x^2) erfc(x) (1+2x) in t = (x-2)/(x+2), x >= 0.45",
            erfcx_scaled(mpf(2)),
            (t_of(mpf("0.45"), 2), t_of(mpf("10.2"), 2), 10),
            (t_of(mpf("0.45"), 2), t_of(mpf("27.5"), 2), 23),
        ),
        (
            "erfinv_central",
            "erfinv(y)/y in w - 1, w = -log(1-y^2) <= 5",
            erfinv_central(mpf(1)),
            (mpf(-1), mpf(4), 9),
            (mpf(-1), mpf(4), 22),
        ),
        (
            "erfinv_outer",
            "erfinv(y)/y in sqrt(w) - 3.1, 5 < w <= 16",
            erfinv_tail(mpf("3.1")),
            (mpf("-0.87"), mpf("0.95"), 10),
            (mpf("-0.87"), mpf("0.95"), 24),
        ),
        (
            "erfinv_edge",
            "erfinv(y)/y in sqrt(w) - 5, 16 < w <= 37",
            erfinv_tail(mpf(5)),
            None,
            (mpf("-1.05"), mpf("1.1"), 20),
        ),
        (
            "lgamma",
            "lgamma(2+z)/z for -0.6 <= z <= 1/2",
            lgamma_two,
            None,
            (mpf("-0.605"), mpf("0.5"), 22),
        ),
        (
            "lgamma_one",
            "lgamma(1+z)/z for -0.3 <= z <= 0.4",
            lgamma_one,
            None,
            (mpf("-0.3"), mpf("0.4"), 24),
        ),
    ]


def worst_error(function, coefficients, low, high, weight):
    worst = mpf(0)
    for i in range(201):
        x = low + (high - low) * i / 200
        value = sum(c * x**k for k, c in enumerate(coefficients))
        worst = max(worst, weight(x) * abs(value - function(x)))
    return worst


def call(coefficients, bits, as_pair):
    literals = [hex_literal(c, bits) for c in coefficients]
    if as_pair:
        rounded = mpf(float.fromhex(literals[0].rstrip("f")))
        rest = hex_literal(coefficients[0] - rounded, bits)
        text = "    F sum = x * td_poly(x"
        literals, first = literals[1:], literals[0]
    else:
        text = "    return td_poly(x"
    lines = []
    for literal in literals:
        if len(text) + 2 + len(literal) > 97:
            lines.append(text + ",")
            text = "        " + literal
        else:
            text += ", " + literal
    lines.append(text + ");")
    if as_pair:
        lines.append(f"    td_pair<F> p = td_fast_two_sum(td_broadcast<F>::of({first}), sum);")
        lines.append(f"    return {{p.hi, p.lo + {rest}}};")
    return "\n".join(lines)


def main():
    print("// Polynomial cores of math.h; printed by fit_polynomials.py, not edited by hand.")
    print("#pragma once\n")
    print('#include "taeda/kernel/math_types.h"\n')
    print("TAEDA_MATH_BEGIN\n")
    for name, comment, function, single, double in functions():
        bodies = []
        as_pair = name.startswith(("erfcx", "erfinv", "lgamma"))
        for interval, bits in ((single, 24), (double, 53)):
            if interval is None:
                bodies.append(None)
                continue
            low, high, degree, *weights = interval
            if weights:
                coefficients = weighted_fit(function, weights[0], low, high, degree)
            else:
                coefficients = chebyshev_fit(function, low, high, degree)
            weight = weights[0] if weights else lambda x: 1
            error = worst_error(function, coefficients, low, high, weight)
            bodies.append((call(coefficients, bits, as_pair), f"{float(log(error, 2)):.1f}"))
        errors = ", ".join(f"2^{b[1]}" for b in bodies if b)
        print(f"// {comment}; absolute error {errors}.")
        print("template <class F>")
        result = "td_pair<F>" if as_pair else "F"
        print(f"TD_FN {result} td_poly_{name}(F x) {{")
        if bodies[0] and bodies[1]:
            print("  if constexpr (td_is_single<F>) {")
            print(bodies[0][0])
            print("  } else {")
            print(bodies[1][0])
            print("  }")
        else:
            print((bodies[0] or bodies[1])[0].replace("\n    ", "\n  ")[2:])
        print("}\n")
    print("TAEDA_MATH_END")


if __name__ == "__main__":
    main()
