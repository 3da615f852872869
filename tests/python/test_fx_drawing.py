"""Pictures of graphs: dot, SVG and pages."""

import html.parser
import shutil
import xml.etree.ElementTree as ElementTree

import pytest
from under_test import NAME, t

pytestmark = pytest.mark.skipif(NAME != "taeda", reason="PyTorch draws with pydot")

if NAME == "taeda":
    from taeda.fx.passes import graph_drawer
    from taeda.fx.passes.shape_prop import ShapeProp
    from taeda.fx.passes.split_module import split_module

    from taeda import fx, nn


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


def test_own_layout(module, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    dot = graph_drawer.FxGraphDrawer(module, "model").get_dot_graph()
    root = ElementTree.fromstring(dot.create_svg())
    space = {"s": "http://www.w3.org/2000/svg"}
    boxes = {
        group.get("id"): {k: float(group.find("s:rect", space).get(k)) for k in "xy"}
        for group in root.findall("s:g", space)
    }
    assert set(boxes) == {node.name for node in module.graph.nodes}
    for node in module.graph.nodes:
        for used in node.all_input_nodes:
            assert boxes[used.name]["y"] < boxes[node.name]["y"]
    assert len(root.findall("s:path", space)) == len(dot.edges)


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
    assert "a &lt;model&gt;" in page


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
