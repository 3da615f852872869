"""Draws a loss curve as SVG and as PNG with the standard library alone."""

import itertools
import math
import pathlib

from pictures import write_png

WIDTH, HEIGHT = 720, 448
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 60, 52
SMOOTH_FROM = 100  # series of at least so many points get a running mean, shorter ones dots
PAPER, INK, GRID = (255, 255, 255), (60, 64, 72), (226, 229, 234)
COLORS = ((214, 93, 14), (38, 99, 176), (60, 140, 80))

# Glyphs of 5 x 7 dots, one string per row, for the texts of the axes and the legend.
GLYPHS = {
    "0": "01110 10001 10011 10101 11001 10001 01110",
    "1": "00100 01100 00100 00100 00100 00100 01110",
    "2": "01110 10001 00001 00110 01000 10000 11111",
    "3": "11110 00001 00001 01110 00001 00001 11110",
    "4": "00010 00110 01010 10010 11111 00010 00010",
    "5": "11111 10000 11110 00001 00001 10001 01110",
    "6": "00110 01000 10000 11110 10001 10001 01110",
    "7": "11111 00001 00010 00100 01000 01000 01000",
    "8": "01110 10001 10001 01110 10001 10001 01110",
    "9": "01110 10001 10001 01111 00001 00010 01100",
    "a": "00000 00000 01110 00001 01111 10001 01111",
    "b": "10000 10000 10110 11001 10001 10001 11110",
    "c": "00000 00000 01110 10000 10000 10001 01110",
    "d": "00001 00001 01101 10011 10001 10001 01111",
    "e": "00000 00000 01110 10001 11111 10000 01110",
    "f": "00110 01001 01000 11100 01000 01000 01000",
    "g": "00000 01111 10001 10001 01111 00001 01110",
    "h": "10000 10000 10110 11001 10001 10001 10001",
    "i": "00100 00000 01100 00100 00100 00100 01110",
    "j": "00010 00000 00110 00010 00010 10010 01100",
    "k": "10000 10000 10010 10100 11000 10100 10010",
    "l": "01100 00100 00100 00100 00100 00100 01110",
    "m": "00000 00000 11010 10101 10101 10001 10001",
    "n": "00000 00000 10110 11001 10001 10001 10001",
    "o": "00000 00000 01110 10001 10001 10001 01110",
    "p": "00000 00000 11110 10001 11110 10000 10000",
    "q": "00000 00000 01101 10011 01111 00001 00001",
    "r": "00000 00000 10110 11001 10000 10000 10000",
    "s": "00000 00000 01110 10000 01110 00001 11110",
    "t": "01000 01000 11100 01000 01000 01001 00110",
    "u": "00000 00000 10001 10001 10001 10011 01101",
    "v": "00000 00000 10001 10001 10001 01010 00100",
    "w": "00000 00000 10001 10001 10101 10101 01010",
    "x": "00000 00000 10001 01010 00100 01010 10001",
    "y": "00000 00000 10001 10001 01111 00001 01110",
    "z": "00000 00000 11111 00010 00100 01000 11111",
    ".": "00000 00000 00000 00000 00000 01100 01100",
    "-": "00000 00000 00000 11111 00000 00000 00000",
    " ": "00000 00000 00000 00000 00000 00000 00000",
}


class SvgCanvas:
    """Collects shapes as SVG elements."""

    def __init__(self):
        self.elements = [f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{_hex(PAPER)}"/>']

    def line(self, points, color, width):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.elements.append(
            f'<polyline points="{path}" fill="none" stroke="{_hex(color)}" '
            f'stroke-width="{width}" stroke-linejoin="round"/>'
        )

    def dot(self, x, y, color, radius):
        self.elements.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{_hex(color)}"/>'
        )

    def text(self, x, y, text, color, anchor="middle"):
        self.elements.append(
            f'<text x="{x:.1f}" y="{y + 4:.1f}" fill="{_hex(color)}" text-anchor="{anchor}" '
            f'font-family="monospace" font-size="13">{text}</text>'
        )

    def save(self, path):
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">'
        path.write_text("\n".join([head, *self.elements, "</svg>"]) + "\n")


class PngCanvas:
    """Paints shapes into an RGB raster; lines are antialiased by their distance to each pixel."""

    def __init__(self):
        self.pixels = [bytearray(bytes(PAPER) * WIDTH) for _ in range(HEIGHT)]

    def _blend(self, x, y, color, cover):
        if 0 <= x < WIDTH and 0 <= y < HEIGHT and cover > 0:
            row = self.pixels[y]
            for i in range(3):
                row[3 * x + i] += round((color[i] - row[3 * x + i]) * min(cover, 1))

    def line(self, points, color, width):
        covered = {}
        for (x0, y0), (x1, y1) in itertools.pairwise(points):
            length = (x1 - x0) ** 2 + (y1 - y0) ** 2 or 1.0
            for y in range(math.floor(min(y0, y1) - 2), math.ceil(max(y0, y1) + 3)):
                for x in range(math.floor(min(x0, x1) - 2), math.ceil(max(x0, x1) + 3)):
                    along = ((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / length
                    along = min(max(along, 0.0), 1.0)
                    distance = math.hypot(x - x0 - along * (x1 - x0), y - y0 - along * (y1 - y0))
                    cover = width / 2 + 0.5 - distance
                    if cover > covered.get((x, y), 0):
                        covered[x, y] = cover
        for (x, y), cover in covered.items():
            self._blend(x, y, color, cover)

    def dot(self, x, y, color, radius):
        reach = math.ceil(radius) + 1
        for py in range(round(y) - reach, round(y) + reach + 1):
            for px in range(round(x) - reach, round(x) + reach + 1):
                self._blend(px, py, color, radius + 0.5 - math.hypot(px - x, py - y))

    def text(self, x, y, text, color, anchor="middle"):
        shift = {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor]
        left, top = round(x - 8 * len(text) * shift), round(y) - 5
        for place, character in enumerate(text):
            for row, dots in enumerate(GLYPHS.get(character.lower(), GLYPHS["-"]).split()):
                for column, dot in enumerate(dots):
                    if dot == "1":
                        self._ink(left + 8 * place + 1.4 * column, top + 1.4 * row, color)

    def _ink(self, x, y, color):
        """A square of 1.4 pixels, spread over the pixels that it covers."""
        for py in range(math.floor(y), math.floor(y + 1.4) + 1):
            for px in range(math.floor(x), math.floor(x + 1.4) + 1):
                wide = min(px + 1, x + 1.4) - max(px, x)
                high = min(py + 1, y + 1.4) - max(py, y)
                self._blend(px, py, color, max(wide, 0) * max(high, 0))

    def save(self, path):
        write_png(path, WIDTH, HEIGHT, self.pixels)


def _hex(color):
    return "#%02x%02x%02x" % color


def _ticks(low, high, count):
    """Round numbers that divide the range into about `count` parts."""
    rough = (high - low) / count or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= rough)
    return [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _pale(color):
    """The color on half-transparent film over the paper."""
    return tuple((part + paper) // 2 for part, paper in zip(color, PAPER, strict=True))


def running_mean(points, reach):
    """Each point with the mean of its neighbors: `reach` on either side, fewer at the ends."""
    means = []
    for i, (x, _) in enumerate(points):
        side = min(reach, i, len(points) - 1 - i)
        near = [y for _, y in points[i - side : i + side + 1]]
        means.append((x, sum(near) / len(near)))
    return means


def _draw_series(canvas, points, place, color):
    """The points as a line; many of them pale under their running mean, few of them with dots."""
    line = [place(*point) for point in points]
    if len(points) >= SMOOTH_FROM:
        canvas.line(line, _pale(color), 1)
        mean = running_mean(points, len(points) // 60)
        canvas.line([place(*point) for point in mean], color, 2)
        return
    canvas.line(line, color, 2)
    for x, y in line:
        canvas.dot(x, y, color, 3)


def _draw_axes(canvas, place, x_high, y_low, y_high, labels):
    for y in _ticks(y_low, y_high, 6):
        canvas.line([place(0, y), place(x_high, y)], GRID, 1)
        canvas.text(LEFT - 10, place(0, y)[1], f"{y:.1f}", INK, "end")
    for x in _ticks(0, x_high, 6):
        x_place, y_place = place(x, y_low)
        canvas.line([(x_place, y_place), (x_place, y_place + 4)], INK, 1)
        canvas.text(x_place, y_place + 16, f"{x:.0f}", INK)
    canvas.line([place(0, y_high), place(0, y_low), place(x_high, y_low)], INK, 1)
    canvas.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, labels[0], INK)
    canvas.text(LEFT, TOP - 14, labels[1], INK, "start")


def _draw(canvas, series, title, labels):
    every_x = [x for points in series.values() for x, _ in points]
    every_y = [y for points in series.values() for _, y in points]
    x_high = max(every_x)
    y_low, y_high = math.floor(min(every_y) * 2) / 2, math.ceil(max(every_y) * 2) / 2
    y_high = max(y_high, y_low + 0.5)

    def place(x, y):
        return (
            LEFT + (WIDTH - LEFT - RIGHT) * x / x_high,
            TOP + (HEIGHT - TOP - BOTTOM) * (y_high - y) / (y_high - y_low),
        )

    _draw_axes(canvas, place, x_high, y_low, y_high, labels)
    canvas.text((LEFT + WIDTH - RIGHT) / 2, 20, title, INK)
    for i, (name, points) in enumerate(series.items()):
        color = COLORS[i % len(COLORS)]
        _draw_series(canvas, points, place, color)
        y = TOP + 16 + 18 * i
        canvas.line([(WIDTH - 170, y), (WIDTH - 146, y)], color, 2)
        canvas.text(WIDTH - 138, y, name, INK, "start")


def save_plot(series, stem, title="loss", labels=("step", "loss")):
    """Writes `<stem>.svg` and `<stem>.png`; `series` maps names to (x, y) points, x above 0."""
    stem = pathlib.Path(stem)
    stem.parent.mkdir(parents=True, exist_ok=True)
    written = []
    for suffix, canvas in ((".svg", SvgCanvas()), (".png", PngCanvas())):
        _draw(canvas, series, title, labels)
        path = stem.with_suffix(suffix)
        canvas.save(path)
        written.append(path)
    return written
