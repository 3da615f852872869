"""Pictures of graphs: dot, SVG and pages."""

import html.parser
import re
import shutil
import xml.etree.ElementTree as ElementTree

import pytest
from under_test import NAME, t

pytestmark = pytest.mark.skipif(NAME != "taeda", reason="PyTorch draws with pydot")

if NAME == "taeda":
    from taeda.fx.passes._drawing import _COLORS
    from taeda.fx.passes.shape_prop import ShapeProp
    from taeda.fx.passes.split_module import split_module

    from taeda import fx, nn
    from taeda.fx.passes import graph_drawer


@pytest.fixture
def module():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 5)
            self.scale = nn.Parameter(t.ones(5))

        def forward(self, x):
            y = self.linear(x)
            return t.relu(y) * self.scale + y.sum(dim=1, keepdim=True)

    traced = fx.symbolic_trace(Model())
    ShapeProp(traced).propagate(t.rand(2, 4))
    return traced


def test_dot_has_every_node_and_edge(module):
    dot = graph_drawer.FxGraphDrawer(module, "model").get_dot_graph()
    text = dot.to_string()
    assert text.startswith('digraph "model" {')
    for node in module.graph.nodes:
        assert f'"{node.name}" [label=' in text
        for used in node.all_input_nodes:
            assert f'"{used.name}" -> "{node.name}";' in text
    assert "in_features=4" in text and r"f32\[" not in text and "f32[2, 5]" in text
    assert "keepdim: True" in text


def test_svg_is_well_formed(module, tmp_path):
    drawer = graph_drawer.FxGraphDrawer(module, "model")
    drawer.write(tmp_path / "model.svg")
    root = ElementTree.parse(tmp_path / "model.svg").getroot()
    assert root.tag.endswith("svg")


SPACE = {"s": "http://www.w3.org/2000/svg"}


def drawn(traced, monkeypatch):
    """The SVG of our own layout, and the boxes in it: (left, top, right, bottom) by name."""
    monkeypatch.setattr(shutil, "which", lambda name: None)
    dot = graph_drawer.FxGraphDrawer(traced, "model").get_dot_graph()
    root = ElementTree.fromstring(dot.create_svg())
    boxes = {}
    for group in root.findall(".//s:g[@class='node']", SPACE):
        rect = group.find("s:rect", SPACE)
        x, y, width, height = (float(rect.get(k)) for k in ("x", "y", "width", "height"))
        boxes[group.get("data-name")] = (x, y, x + width, y + height)
    return root, boxes


@pytest.fixture
def long_arrows():
    def program(x, y, view):
        first, late = x.exp(), y * 2
        for _ in range(6):
            x = t.relu(x) + view
        return x + first + late, x.sum()

    return fx.symbolic_trace(program)


def test_own_layout(module, monkeypatch):
    root, boxes = drawn(module, monkeypatch)
    assert set(boxes) == {node.name for node in module.graph.nodes}
    edges = 0
    for node in module.graph.nodes:
        for used in node.all_input_nodes:
            edges += 1
            assert boxes[used.name][3] < boxes[node.name][1]
    assert len(root.findall(".//s:path[@class='edge']", SPACE)) == edges


def test_boxes_do_not_overlap(long_arrows, monkeypatch):
    _, boxes = drawn(long_arrows, monkeypatch)
    places = list(boxes.values())
    for i, (left, top, right, bottom) in enumerate(places):
        assert left >= 0 and top >= 0
        for other in places[i + 1 :]:
            is_beside = other[0] >= right or other[2] <= left
            assert is_beside or other[1] >= bottom or other[3] <= top


def test_arrows_run_beside_boxes(long_arrows, monkeypatch):
    root, boxes = drawn(long_arrows, monkeypatch)
    passages = 0
    for path in root.findall(".//s:path[@class='edge']", SPACE):
        ends = (path.get("data-from"), path.get("data-to"))
        others = [box for name, box in boxes.items() if name not in ends]
        for x, begin, end in re.findall(r"([\d.]+) ([\d.]+)V([\d.]+)", path.get("d")):
            passages += begin != end
            for left, top, right, bottom in others:
                is_at_height = float(begin) < bottom and float(end) > top
                assert not (is_at_height and left < float(x) < right)
    assert passages > 5


def test_boxes_have_colors_that_browsers_know(long_arrows, monkeypatch):
    root, _ = drawn(long_arrows, monkeypatch)
    fills = {rect.get("fill") for rect in root.findall(".//s:rect", SPACE)}
    assert len(fills) > 2 and all(re.fullmatch("#[0-9a-f]{6}", fill) for fill in fills)
    assert set(_COLORS) == {*graph_drawer._PALETTE, *graph_drawer._FIXED.values()}


def test_page_stands_alone(module, tmp_path):
    graph_drawer.FxGraphDrawer(module, "a <model>").write(tmp_path / "model.html")
    page = (tmp_path / "model.html").read_text()

    class Tags(html.parser.HTMLParser):
        found = []

        def handle_starttag(self, tag, attrs):
            self.found.append((tag, dict(attrs)))

    parser = Tags()
    parser.feed(page)
    tags = [tag for tag, _ in parser.found]
    assert "svg" in tags and "script" in tags and "input" in tags
    assert not any("src" in attrs or "href" in attrs for _, attrs in parser.found)
    assert "a &lt;model&gt;" in page and "{{" not in page
    # Nodes have any names; what the script looks for by id is not among them.
    ids = [attrs["id"] for _, attrs in parser.found if "id" in attrs]
    assert len(set(ids)) == len(ids)
    wanted = re.findall(r'getElementById\("(\w+)"\)', page)
    assert wanted and set(wanted) <= set(ids)


def test_an_empty_graph_is_a_picture_too(tmp_path):
    drawer = graph_drawer.FxGraphDrawer(fx.GraphModule(nn.Module(), fx.Graph()), "empty")
    drawer.write(tmp_path / "empty.html")
    assert "<svg" in (tmp_path / "empty.html").read_text()


def test_modules_inside_are_drawn_too(module):
    split = split_module(module, module, lambda n: int(n.op == "call_method" or n.name == "add"))
    drawer = graph_drawer.FxGraphDrawer(split, "split")
    assert set(drawer.get_all_dot_graphs()) == {"split", "split_submod_0", "split_submod_1"}
    assert "linear" in drawer.get_dot_graph("submod_0").nodes


def test_attributes_may_be_left_out(module):
    dot = graph_drawer.FxGraphDrawer(module, "model", ignore_getattr=True).get_dot_graph()
    assert "scale" not in dot.nodes and all("scale" not in edge for edge in dot.edges)


def test_unknown_endings_are_refused(module, tmp_path):
    with pytest.raises(ValueError, match=r"\.dot, \.gv, \.svg or \.html, got 'model\.png'"):
        graph_drawer.FxGraphDrawer(module, "model").write(tmp_path / "model.png")
