"""Draws boxes and arrows without graphviz, as SVG or as a page with search and zoom."""

from html import escape

from taeda.fx.passes._drawing_page import PAGE
from taeda.fx.passes._layout import _LINE, _PAD, Layout

# The colors of graphviz that the drawers use, for browsers, which know only some of the names.
_COLORS = {
    "AliceBlue": "#f0f8ff",
    "LemonChiffon1": "#fffacd",
    "Yellow2": "#eeee00",
    "LightGoldenrod1": "#ffec8b",
    "PowderBlue": "#b0e0e6",
    "PaleTurquoise1": "#bbffff",
    "DarkSeaGreen3": "#9bcd9b",
    "LightSalmon1": "#ffa07a",
    "Khaki1": "#fff68f",
    "Thistle2": "#eed2ee",
    "LightGrey": "#d3d3d3",
}


def svg_of(graph):
    """The picture as SVG."""
    layout = Layout(graph)
    boxes = layout.places.values()
    xs = [x for route in layout.routes for x, _ in route] + [x + w for x, _, w, _ in boxes]
    width = max(xs, default=0) + _PAD
    height = max((y + h for _, y, _, h in boxes), default=0) + _PAD
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" font-family="monospace" font-size="12">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#777"/></marker></defs>',
        '<g id="world">',
    ]
    for (source, target), route in zip(graph.edges, layout.routes):
        out.append(
            f'<path class="edge" data-from="{escape(source)}" data-to="{escape(target)}" '
            f'd="{_curve(route)}" fill="none" stroke="#777" marker-end="url(#tip)"/>'
        )
    for name, (lines, color) in graph.nodes.items():
        out += _box(name, lines, _COLORS.get(color, color), layout.places[name])
    return "\n".join([*out, "</g></svg>"]) + "\n"


def _curve(route):
    """Straight through the layers, bent in the gaps between them."""
    (x, y), *rest = route
    parts = [f"M{x:.0f} {y:.0f}"]
    for i, (to_x, to_y) in enumerate(rest):
        if i % 2 == 0 and i < len(rest) - 1:
            parts.append(f"V{to_y:.0f}")
        else:
            half = (y + to_y) / 2
            parts.append(f"C{x:.0f} {half:.0f} {to_x:.0f} {half:.0f} {to_x:.0f} {to_y:.0f}")
        x, y = to_x, to_y
    return "".join(parts)


def _box(name, lines, color, place):
    x, y, width, height = place
    out = [
        f'<g class="node" data-name="{escape(name)}"><rect x="{x:.0f}" y="{y:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" rx="6" fill="{escape(color)}" stroke="#555"/>'
    ]
    for i, line in enumerate(lines):
        weight = ' font-weight="bold"' if i == 0 else ""
        at = y + _PAD + 11 + i * _LINE
        out.append(f'<text x="{x + _PAD:.0f}" y="{at:.0f}"{weight}>{escape(line)}</text>')
    return [*out, "</g>"]


def html_page(graph):
    """A page with the picture that needs nothing else: search, zoom, move, neighbours."""
    return PAGE.replace("{{title}}", escape(graph.name)).replace("{{svg}}", svg_of(graph))
