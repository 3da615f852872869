"""Functions of the standard library that work on numbers, dates and addresses."""

import _pydecimal
import bisect
import calendar
import colorsys
import fractions
import heapq
import importlib
import ipaddress
import random
import statistics
import sys
import uuid

from frames_corpus import over


def _pure(name):
    """A second copy of a module that has no C accelerator."""
    saved = {key: sys.modules.pop(key, None) for key in (name, f"_{name}")}
    sys.modules[f"_{name}"] = None
    try:
        return importlib.import_module(name)
    finally:
        for key, module in saved.items():
            sys.modules.pop(key, None)
            if module is not None:
                sys.modules[key] = module


pure_heapq = _pure("heapq")
pure_bisect = _pure("bisect")
if sys.version_info < (3, 12):
    pydatetime = _pure("datetime")
else:
    pydatetime = importlib.import_module("_pydatetime")


@over(pure_heapq._siftup, pure_heapq._siftdown, pure_heapq.heapify)
def case_heapq(p):
    data = [5, 3, 8, 1, 9]
    pure_heapq.heapify(data)
    pure_heapq.heappush(data, 2)
    return [pure_heapq.heappop(data) for _ in range(6)]


@over(heapq.merge, heapq.nsmallest, heapq.nlargest)
def case_heapq_merge(p):
    merged = list(heapq.merge([1, 4], [2, 3], []))
    return merged, heapq.nsmallest(2, [4, 1, 3], key=lambda x: -x), heapq.nlargest(2, "bca")


@over(heapq.merge)
def case_heapq_merge_key(p):
    return list(heapq.merge(["b", "aaa"], ["cc"], key=len)), list(
        heapq.merge([3, 1], [2], reverse=True)
    )


@over(pure_bisect.bisect_left, pure_bisect.bisect_right, pure_bisect.insort_right)
def case_bisect(p):
    data = [1, 3, 3, 7]
    pure_bisect.insort_right(data, 4, key=lambda x: x)
    try:
        pure_bisect.bisect_left(data, 3, -1)
    except ValueError as error:
        p.log(str(error))
    return pure_bisect.bisect_left(data, 3), pure_bisect.bisect_right(data, 3), data


@over(statistics.mean, statistics._sum, statistics._exact_ratio, statistics.median)
def case_statistics(p):
    try:
        statistics.mean([])
    except statistics.StatisticsError as error:
        p.log(str(error))
    return statistics.mean([1, 2.5, 3]), statistics.median([3, 1, 2, 5]), statistics.mode("aab")


@over(statistics.variance, statistics._ss, statistics.quantiles)
def case_statistics_spread(p):
    data = [1, 2, 4, 7]
    return statistics.variance(data), statistics.quantiles(data, n=4), statistics.multimode("aabb")


@over(statistics.linear_regression, statistics.correlation)
def case_statistics_regression(p):
    return tuple(statistics.linear_regression([1, 2, 3], [2, 4, 7])), statistics.correlation(
        [1, 2], [3, 5]
    )


@over(fractions.Fraction.__new__)
def case_fraction_making(p):
    make = fractions.Fraction
    out = [make(6, 4), make("3/9"), make("-1.25e1"), make(0.5), make(make(1, 2), 3)]
    for bad in (("x",), (1, 0), (1.5, 2)):
        try:
            make(*bad)
        except (ValueError, ZeroDivisionError, TypeError) as error:
            out.append(str(error))
    return out


@over(fractions.Fraction._add, fractions.Fraction._mul, fractions.Fraction._richcmp)
def case_fraction_arithmetic(p):
    a, b = fractions.Fraction(1, 3), fractions.Fraction(3, 4)
    return a + b, a - 1, 2 * b, a / b, b**2, a < b, a == 0.5, b // a, divmod(b, a), 1.5 + a


@over(fractions.Fraction.limit_denominator, fractions.Fraction.__round__)
def case_fraction_limits(p):
    return (
        fractions.Fraction(3.14159).limit_denominator(100),
        round(fractions.Fraction(7, 4)),
        round(fractions.Fraction(22, 7), 2),
    )


@over(_pydecimal.Decimal.__add__, _pydecimal._normalize, _pydecimal.Decimal._fix)
def case_decimal_addition(p):
    d = _pydecimal.Decimal
    return str(d("1.10") + d("2.205")), str(d("1e3") - d("0.5")), str(-d("5") + 7)


@over(_pydecimal.Decimal.__mul__, _pydecimal.Decimal._divide, _pydecimal.Decimal.__truediv__)
def case_decimal_products(p):
    d = _pydecimal.Decimal
    with _pydecimal.localcontext() as context:
        context.prec = 6
        return str(d(1) / d(7)), str(d("1.5") * d("-2")), str(d(17) % d(5)), str(d(17) // d(5))


@over(_pydecimal.Decimal.__str__, _pydecimal.Decimal.quantize, _pydecimal.Decimal._rescale)
def case_decimal_text(p):
    d = _pydecimal.Decimal
    try:
        d("abc")
    except _pydecimal.InvalidOperation:
        p.log("invalid")
    return (
        str(d("2.675").quantize(d("0.01"))),
        str(d("1E+5")),
        str(d("0.000001")),
        f"{d('1234.5'):,.2f}",
    )


@over(_pydecimal.Decimal.sqrt, _pydecimal.Decimal._cmp)
def case_decimal_roots(p):
    d = _pydecimal.Decimal
    with _pydecimal.localcontext(prec=8) as context:
        return str(d(2).sqrt()), d(1) < d(2), max(d(3), d("3.5")) == d("3.5"), context.prec


@over(pydatetime._ymd2ord, pydatetime._ord2ymd, pydatetime.date.isoformat)
def case_dates(p):
    day = pydatetime.date(2024, 2, 28) + pydatetime.timedelta(days=2)
    try:
        pydatetime.date(2023, 2, 29)
    except ValueError as error:
        p.log(str(error))
    return day.isoformat(), day.toordinal(), day.weekday(), tuple(day.isocalendar())


@over(pydatetime.timedelta.__new__, pydatetime.timedelta.__str__)
def case_timedelta(p):
    t = pydatetime.timedelta(days=1.5, seconds=-3, milliseconds=1)
    return str(t), t.total_seconds(), str(t * 2), str(-t), t // pydatetime.timedelta(hours=1)


@over(pydatetime.datetime.isoformat, pydatetime._wrap_strftime, pydatetime.datetime.__sub__)
def case_datetime(p):
    a = pydatetime.datetime(2024, 5, 6, 7, 8, 9, 10)
    b = a.replace(tzinfo=pydatetime.timezone.utc)
    try:
        a - b
    except TypeError as error:
        p.log(str(error))
    return (
        a.isoformat(),
        a.strftime("%Y %H:%M %f"),
        b.isoformat(),
        str(a - pydatetime.datetime(2024, 1, 1)),
    )


@over(pydatetime._parse_isoformat_date, pydatetime._parse_isoformat_time)
def case_datetime_parsing(p):
    parse = pydatetime.datetime.fromisoformat
    out = [str(parse("2024-02-03T04:05:06.789+02:00")), str(parse("20240203"))]
    try:
        parse("2024-13-01")
    except ValueError as error:
        out.append(str(error).split(",")[0])
    return out


@over(calendar.Calendar.itermonthdays2, calendar.TextCalendar.formatmonth, calendar.monthrange)
def case_calendar(p):
    return (
        calendar.TextCalendar().formatmonth(2024, 2),
        calendar.monthrange(2023, 2),
        calendar.isleap(1900),
    )


@over(
    colorsys.rgb_to_hsv, colorsys.hsv_to_rgb, colorsys.rgb_to_hls, colorsys._v, colorsys.hls_to_rgb
)
def case_colorsys(p):
    hls = colorsys.rgb_to_hls(0.2, 0.4, 0.6)
    return (
        colorsys.rgb_to_hsv(0.2, 0.4, 0.4),
        colorsys.hsv_to_rgb(0.5, 0.5, 0.4),
        colorsys.hls_to_rgb(*hls),
    )


@over(ipaddress._BaseV4._ip_int_from_string, ipaddress._BaseV4._parse_octet)
def case_ip_addresses(p):
    out = [str(ipaddress.ip_address("10.0.0.1") + 5), int(ipaddress.ip_address("1.2.3.4"))]
    for bad in ("1.2.3", "1.2.3.256", "01.2.3.4", "a.b.c.d"):
        try:
            ipaddress.IPv4Address(bad)
        except ipaddress.AddressValueError as error:
            out.append(str(error))
    return out


@over(ipaddress._BaseV6._ip_int_from_string, ipaddress._BaseV6._compress_hextets)
def case_ip_version_six(p):
    a = ipaddress.IPv6Address("2001:db8::1:0:0:1")
    return (
        str(a),
        a.exploded,
        str(ipaddress.IPv6Address(1)),
        str(ipaddress.IPv6Address("::ffff:1.2.3.4")),
    )


@over(ipaddress._BaseNetwork.subnets, ipaddress.collapse_addresses, ipaddress._find_address_range)
def case_ip_networks(p):
    net = ipaddress.ip_network("10.0.0.0/29")
    halves = list(net.subnets())
    hosts = ipaddress.collapse_addresses(net.hosts())
    p.log([str(n) for n in hosts])
    return (
        list(map(str, halves)),
        [str(n) for n in ipaddress.collapse_addresses(halves)],
        len(list(net.hosts())),
    )


@over(uuid.UUID.__init__, uuid.UUID.__str__, uuid.uuid5)
def case_uuid(p):
    a = uuid.UUID("12345678123456781234567812345678")
    try:
        uuid.UUID("short")
    except ValueError as error:
        p.log(str(error))
    return (
        str(a),
        a.version,
        str(uuid.uuid5(uuid.NAMESPACE_DNS, "example.org")),
        a < uuid.UUID(int=2**127),
    )


@over(random.Random.shuffle, random.Random.sample, random.Random._randbelow_with_getrandbits)
def case_random(p):
    chance = random.Random(5)
    data = list(range(6))
    chance.shuffle(data)
    return data, chance.sample(range(20), 3), chance.randint(1, 6), chance.choice("abc")


@over(random.Random.gauss, random.Random.choices, random.Random.triangular)
def case_random_distributions(p):
    chance = random.Random("seed")
    return (
        round(chance.gauss(0, 1), 9),
        chance.choices("ab", [1, 3], k=4),
        round(chance.triangular(), 9),
    )
