"""Pytrees: leaves, paths, specs and their form in files, as PyTorch writes them.

test_pytree_against_pytorch.py runs every function beside PyTorch's where that is installed.
"""

import dataclasses
import pickle
from collections import OrderedDict, deque

import pytest
from taeda._export.utils import register_dataclass_as_pytree_node
from taeda.utils import _pytree as pytree

LEAF = '{"type": null, "context": null, "children_spec": []}'

# tree, leaves, paths, spec
TREES = [
    (1, [1], [""], "*"),
    ([], [], [], "TreeSpec(list, None, [])"),
    (
        [1, (2, {"a": 3, "b": [4]})],
        [1, 2, 3, 4],
        ["[0]", "[1][0]", "[1][1]['a']", "[1][1]['b'][0]"],
        "TreeSpec(list, None, [*,\n  TreeSpec(tuple, None, [*,\n    TreeSpec(dict, ['a', 'b'], [*,\n"
        "      TreeSpec(list, None, [*])])])])",
    ),
    (deque([7, 8], maxlen=3), [7, 8], ["[0]", "[1]"], "TreeSpec(deque, 3, [*,\n  *])"),
    (
        OrderedDict(z=1, y=(2,)),
        [1, 2],
        ["['z']", "['y'][0]"],
        "TreeSpec(OrderedDict, ['z', 'y'], [*,\n  TreeSpec(tuple, None, [*])])",
    ),
]


@pytest.mark.parametrize(("tree", "leaves", "paths", "spec"), TREES, ids=repr)
def test_flatten(tree, leaves, paths, spec):
    found, structure = pytree.tree_flatten(tree)
    assert found == leaves and repr(structure) == spec
    assert pytree.tree_unflatten(found, structure) == tree
    with_path = pytree.tree_leaves_with_path(tree)
    assert [pytree.keystr(path) for path, _ in with_path] == paths
    assert [pytree.key_get(tree, path) for path, _ in with_path] == leaves
    assert pickle.loads(pickle.dumps(structure)) == structure
    assert pytree.treespec_loads(pytree.treespec_dumps(structure)) == structure


def test_files_hold_json():
    spec = pytree.tree_structure(OrderedDict(z=1, y=(2,)))
    assert pytree.treespec_dumps(spec) == (
        '[1, {"type": "collections.OrderedDict", "context": "[\\"z\\", \\"y\\"]", '
        f'"children_spec": [{LEAF}, {{"type": "builtins.tuple", "context": "null", '
        f'"children_spec": [{LEAF}]}}]}}]'
    )


def test_trees_of_other_shapes_are_refused():
    with pytest.raises(ValueError, match="Node arity mismatch"):
        pytree.tree_map(lambda a, b: (a, b), [1, 2], [1])
    with pytest.raises(ValueError, match=r"(Node type|Type) mismatch"):
        pytree.tree_map(lambda a, b: (a, b), [1], (2,))
    with pytest.raises(ValueError, match="register"):
        pytree.register_pytree_node(list, None, None)


def test_fields_that_are_none_may_be_leaves():
    @dataclasses.dataclass
    class Pair:
        x: int
        y: int | None = None

    register_dataclass_as_pytree_node(Pair, return_none_fields=True, serialized_type_name="Pair")
    leaves, spec = pytree.tree_flatten(Pair(3))
    assert leaves == [3, None] and spec.context == [["x", "y"], []]
    assert pytree.tree_unflatten([1, 2], spec) == Pair(1, 2)
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
    pytree._deregister_pytree_node(Pair)
