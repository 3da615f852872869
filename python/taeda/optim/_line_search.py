"""A line search: a step size that fulfils the strong Wolfe conditions."""

from typing import NamedTuple

from taeda import _C


class _Point(NamedTuple):
    """A step size, with the loss, the gradient and its part along the direction there."""

    t: object
    loss: object
    grad: object
    slope: object


def strong_wolfe(obj_func, x, t, d, f, g, gtd, c1=1e-4, c2=0.9, tolerance_change=1e-9, max_ls=25):
    """Loss, gradient and step size at a good point on the line `x + t * d`, and evaluations used.

    `obj_func(x, t, d)` gives loss and gradient. The loss falls by at least `c1` of what the slope
    at the start promises, and the slope is at most `c2` of that one.
    """
    search = _LineSearch(obj_func, x, d, _Point(0, f, _copy(g), gtd), c1, c2, max_ls)
    points = search.bracket(t)
    best = search.narrow(points, tolerance_change) if len(points) == 2 else points[0]
    return best.loss, best.grad, best.t, search.evals


def _copy(grad):
    return grad.clone(memory_format=_C.contiguous_format)


class _LineSearch:
    def __init__(self, obj_func, x, d, start, c1, c2, max_ls):
        self.obj_func, self.x, self.d, self.start = obj_func, x, d, start
        self.c1, self.c2, self.max_ls = c1, c2, max_ls
        self.evals = self.iterations = 0

    def _at(self, t):
        loss, grad = self.obj_func(self.x, t, self.d)
        self.evals += 1
        return _Point(t, loss, _copy(grad), grad.dot(self.d))

    def _is_too_high(self, point):
        start = self.start
        return point.loss > start.loss + self.c1 * point.t * start.slope

    def _is_flat(self, point):
        return abs(point.slope) <= -self.c2 * self.start.slope

    def bracket(self, t):
        """Two points with a good one between them, or a good one alone."""
        before, point = self.start, self._at(t)
        while self.iterations < self.max_ls:
            is_higher = self.iterations > 1 and point.loss >= before.loss
            if self._is_too_high(point) or is_higher:
                return [before, point]
            if self._is_flat(point):
                return [point]
            if point.slope >= 0:
                return [before, point]
            least = point.t + 0.01 * (point.t - before.t)
            t = _cubic_interpolate(before, point, (least, point.t * 10))
            before, point = point, self._at(t)
            self.iterations += 1
        return [self.start, point]

    def narrow(self, points, tolerance_change):
        """The best point found while the two points come closer."""
        d_norm = self.d.abs().max()
        is_slow = False
        low = 0 if points[0].loss <= points[1].loss else 1
        while self.iterations < self.max_ls:
            if abs(points[1].t - points[0].t) * d_norm < tolerance_change:
                break
            t, is_slow = self._inside(*points, is_slow)
            point = self._at(t)
            self.iterations += 1
            if self._is_too_high(point) or point.loss >= points[low].loss:
                points[1 - low] = point
                low = 0 if points[0].loss <= points[1].loss else 1
                continue
            if self._is_flat(point):
                return point
            if point.slope * (points[1 - low].t - points[low].t) >= 0:
                points[1 - low] = points[low]
            points[low] = point
        return points[low]

    def _inside(self, first, second, is_slow):
        """A step size between two, away from both ends when progress is slow; whether it is."""
        t = _cubic_interpolate(first, second)
        least, most = min(first.t, second.t), max(first.t, second.t)
        margin = 0.1 * (most - least)
        if min(most - t, t - least) >= margin:
            return t, False
        if is_slow or t >= most or t <= least:
            return (most - margin if abs(t - most) < abs(t - least) else least + margin), False
        return t, True


def _cubic_interpolate(first, second, bounds=None):
    """The minimum of the cubic through two points with their slopes, within bounds."""
    (x1, f1, _, g1), (x2, f2, _, g2) = first, second
    least, most = bounds if bounds is not None else sorted((x1, x2))
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1**2 - g1 * g2
    if square < 0:
        return (least + most) / 2.0
    d2 = square.sqrt()
    if x1 <= x2:
        t = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        t = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(t, least), most)
