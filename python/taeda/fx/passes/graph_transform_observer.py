"""GraphTransformObserver: what a pass did to a graph, as names and pictures."""

from pathlib import Path

from taeda.fx.passes.graph_drawer import FxGraphDrawer

__all__ = ["GraphTransformObserver"]


class GraphTransformObserver:
    """A context around a pass: collects the names of nodes that it made and erased.

    With `log_url`, a folder, pages of the graph before and after are written there if the pass
    changed something.
    """

    __pass_count = 0

    def __init__(self, gm, passname, subsystem=None, log_url=None):
        self.gm = gm
        self.passname = passname
        self.subsystem = subsystem
        self.log_url = log_url
        self.erased_nodes = set()
        self.created_nodes = set()
        GraphTransformObserver.__pass_count += 1

    @classmethod
    def get_current_pass_count(cls):
        return cls.__pass_count

    def apply_gm_pass(self, pass_fn):
        """Runs a function of the module."""
        with self:
            return pass_fn(self.gm)

    def apply_graph_pass(self, pass_fn):
        """Runs a function of the graph."""
        with self:
            return pass_fn(self.gm.graph)

    def _on_create(self, node):
        self.created_nodes.add(node.name)

    def _on_erase(self, node):
        self.erased_nodes.add(node.name)

    def __enter__(self):
        self.gm._register_create_node_hook(self._on_create)
        self.gm._register_erase_node_hook(self._on_erase)
        if self.log_url is not None:
            self._before = FxGraphDrawer(self.gm, self.passname).get_dot_graph()
        return self

    def __exit__(self, *_):
        self.gm._unregister_create_node_hook(self._on_create)
        self.gm._unregister_erase_node_hook(self._on_erase)
        if self.log_url is None or not (self.created_nodes or self.erased_nodes):
            return
        stem = f"pass_{GraphTransformObserver.__pass_count}_{self.passname}"
        folder = Path(self.log_url)
        self._before.write(folder / f"{stem}_input_graph.html")
        after = FxGraphDrawer(self.gm, self.passname).get_dot_graph()
        after.write(folder / f"{stem}_output_graph.html")
