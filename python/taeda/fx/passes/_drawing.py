"""Draws boxes and arrows without graphviz: layers from inputs to outputs, as SVG or a page."""

from html import escape

_CHAR, _LINE, _GAP_X, _GAP_Y, _PAD = 7, 15, 24, 46, 8


def _layers(graph):
    """Names by layer: each box below all it gets arrows from."""
    inputs = {name: [] for name in graph.nodes}
    for source, target in graph.edges:
        inputs[target].append(source)
    depth = {}
    for name in graph.nodes:  # in the order of the graph, so inputs come first
        depth[name] = max((depth[i] + 1 for i in inputs[name] if i in depth), default=0)
    layers = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for name, level in depth.items():
        layers[level].append(name)
    return layers, inputs


def _places(graph):
    """(x, y, width, height) of every box; a box stands below the middle of its inputs."""
    layers, inputs = _layers(graph)
    places, y = {}, _PAD
    for layer in layers:

        def middle(name):
            known = [places[i][0] + places[i][2] / 2 for i in inputs[name] if i in places]
            return sum(known) / len(known) if known else 0.0

        x, height = _PAD, 0
        for name in sorted(layer, key=middle):
            lines = graph.nodes[name][0]
            width = max(len(line) for line in lines) * _CHAR + 2 * _PAD
            box = len(lines) * _LINE + 2 * _PAD
            x = max(x, middle(name) - width / 2)
            places[name] = (x, y, width, box)
            x += width + _GAP_X
            height = max(height, box)
        y += height + _GAP_Y
    return places


def svg_of(graph):
    """The picture as SVG."""
    places = _places(graph)
    width = max((x + w for x, _, w, _ in places.values()), default=0) + _PAD
    height = max((y + h for _, y, _, h in places.values()), default=0) + _PAD
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" font-family="monospace" font-size="12">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>',
    ]
    for source, target in graph.edges:
        x1, y1, w1, h1 = places[source]
        x2, y2, w2, _ = places[target]
        a, b, c, d = x1 + w1 / 2, y1 + h1, x2 + w2 / 2, y2
        bend = (d - b) / 2
        out.append(
            f'<path d="M{a:.0f} {b:.0f}C{a:.0f} {b + bend:.0f} {c:.0f} {d - bend:.0f} {c:.0f} '
            f'{d:.0f}" fill="none" stroke="#555" marker-end="url(#tip)"/>'
        )
    for name, (lines, color) in graph.nodes.items():
        x, y, w, h = places[name]
        out.append(
            f'<g class="node" id="{escape(name)}"><rect x="{x:.0f}" y="{y:.0f}" width="{w:.0f}" '
            f'height="{h:.0f}" rx="6" fill="{_color(color)}" stroke="#333"/>'
        )
        for i, line in enumerate(lines):
            at = y + _PAD + 11 + i * _LINE
            out.append(f'<text x="{x + _PAD:.0f}" y="{at:.0f}">{escape(line)}</text>')
        out.append("</g>")
    return "\n".join([*out, "</svg>"]) + "\n"


def _color(name):
    """Browsers know the names of X11 without the numbers behind them."""
    return name.rstrip("0123456789").lower()


_PAGE = """<!doctype html>
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ margin: 0; font-family: sans-serif; overflow: hidden; }}
#bar {{ position: fixed; padding: 8px; background: #fffc; z-index: 1; }}
#view {{ width: 100vw; height: 100vh; cursor: grab; }}
.node.found rect {{ stroke: #d00; stroke-width: 3; }}
</style>
<div id="bar"><b>{title}</b> <input id="search" placeholder="search nodes" autofocus>
<span id="count"></span> wheel: zoom, drag: move, Enter: next</div>
<div id="view">{svg}</div>
<script>
const svg = document.querySelector("svg"), box = svg.viewBox.baseVal;
svg.setAttribute("width", "100%"); svg.setAttribute("height", "100%");
const view = document.getElementById("view");
const scale = () => Math.max(box.width / view.clientWidth, box.height / view.clientHeight);
view.addEventListener("wheel", e => {{
  e.preventDefault();
  const f = e.deltaY > 0 ? 1.15 : 1 / 1.15;
  const x = box.x + e.clientX / view.clientWidth * box.width;
  const y = box.y + e.clientY / view.clientHeight * box.height;
  box.x = x - (x - box.x) * f; box.y = y - (y - box.y) * f;
  box.width *= f; box.height *= f;
}}, {{passive: false}});
view.addEventListener("pointermove", e => {{
  if (e.buttons) {{ box.x -= e.movementX * scale(); box.y -= e.movementY * scale(); }}
}});
let found = [], at = 0;
const search = document.getElementById("search");
const show = () => {{
  if (!found.length) return;
  const r = found[at++ % found.length].getBBox();
  box.x = r.x + r.width / 2 - box.width / 2; box.y = r.y + r.height / 2 - box.height / 2;
}};
search.addEventListener("input", () => {{
  const text = search.value.toLowerCase();
  found = []; at = 0;
  for (const node of document.querySelectorAll(".node")) {{
    const hit = text && node.textContent.toLowerCase().includes(text);
    node.classList.toggle("found", hit);
    if (hit) found.push(node);
  }}
  document.getElementById("count").textContent = text ? found.length + " found" : "";
  show();
}});
search.addEventListener("keydown", e => {{ if (e.key === "Enter") show(); }});
</script>
"""


def html_page(graph):
    """A page with the picture that needs nothing else: search, zoom, move."""
    return _PAGE.format(title=escape(graph.name), svg=svg_of(graph))
