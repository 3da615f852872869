"""Pytrees: every function beside PyTorch's, on the containers of Python and on classes of one's own."""

import dataclasses
import enum
import importlib
import pickle
import time
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest
from taeda.utils import _cxx_pytree
from taeda.utils import _pytree as pytree

Point = namedtuple("Point", "x y")

TREES = [
    1,
    None,
    [],
    [1, (2, {"a": 3, "b": [4]})],
    Point(5, [6, 7]),
    deque([7, 8], maxlen=3),
    OrderedDict(z=1, y=(2,)),
    defaultdict(list, {"q": 1}),
    {"b": [1, {"c": Point(1, (2, 3))}], "a": ()},
    time.gmtime(0),
]


@pytest.fixture
def reference(torch):
    """PyTorch's functions of the same names."""
    return importlib.import_module("torch.utils._pytree")


def outcome(f):
    try:
        return f()
    except Exception as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_flatten_and_paths_as_pytorch(reference, tree):
    leaves, spec = pytree.tree_flatten(tree)
    expected, expected_spec = reference.tree_flatten(tree)
    assert leaves == expected and repr(spec) == repr(expected_spec)
    assert spec.unflatten(leaves) == tree
    assert (spec.num_leaves, spec.num_nodes, spec.num_children) == (
        expected_spec.num_leaves,
        expected_spec.num_nodes,
        expected_spec.num_children,
    )
    assert pytree.treespec_pprint(spec) == reference.treespec_pprint(expected_spec)
    paths = pytree.tree_leaves_with_path(tree)
    expected_paths = reference.tree_leaves_with_path(tree)
    assert [pytree.keystr(p) for p, _ in paths] == [reference.keystr(p) for p, _ in expected_paths]
    assert all(pytree.key_get(tree, path) == leaf for path, leaf in paths)
    named = pytree.tree_map_with_path(lambda path, leaf: (pytree.keystr(path), leaf), tree)
    assert named == reference.tree_map_with_path(lambda p, x: (reference.keystr(p), x), tree)


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_specs_in_files_and_hashes(reference, tree):
    spec = pytree.tree_structure(tree)
    text = outcome(lambda: pytree.treespec_dumps(spec))
    expected = outcome(lambda: reference.treespec_dumps(reference.tree_structure(tree)))
    if isinstance(text, tuple):
        assert text[0] == expected[0]
        return
    assert text == expected and pytree.treespec_loads(text) == spec
    assert hash(pytree.treespec_loads(text)) == hash(spec)
    assert pickle.loads(pickle.dumps(spec)) == spec


PAIRS = [
    ([1, 2], [1]),
    ([1], (2,)),
    ({"a": 1}, {"b": 2}),
    ({"a": 1, "b": 2}, OrderedDict(b=1, a=[2])),
    (Point(1, 2), (2, 3)),
    (deque([1], maxlen=2), deque([(2,)])),
    (1, [1, 2]),
]


@pytest.mark.parametrize("tree, rest", PAIRS, ids=repr)
def test_second_trees_as_pytorch(reference, tree, rest):
    ours = outcome(lambda: pytree.tree_map(lambda a, b: (a, b), tree, rest))
    assert ours == outcome(lambda: reference.tree_map(lambda a, b: (a, b), tree, rest))
    assert pytree._broadcast_to_and_flatten(tree, pytree.tree_structure(rest)) == (
        reference._broadcast_to_and_flatten(tree, reference.tree_structure(rest))
    )


@dataclasses.dataclass
class Fields:
    x: object
    y: object = None
    z: object = 3


class Colour(enum.Enum):
    RED = 1


class Box:
    def __init__(self, value, colour):
        self.value, self.colour = value, colour


@pytest.fixture
def registered(reference):
    """Registers a class in both libraries until the test ends."""
    done = []

    def register(cls, function, **settings):
        for module in (pytree, reference):
            getattr(module, function)(cls, **settings)
            done.append((module, cls))

    yield register
    for module, cls in done:
        module._deregister_pytree_node(cls)


def test_dataclass(reference, registered):
    registered(Fields, "register_dataclass", serialized_type_name="Fields")
    value = Fields(1, None, [2])
    leaves, spec = pytree.tree_flatten(value)
    assert leaves == [1, 2] and spec.unflatten([5, 6]) == Fields(5, None, [6])
    assert repr(spec) == repr(reference.tree_structure(value))
    assert [pytree.keystr(p) for p, _ in pytree.tree_leaves_with_path(value)] == [".x", ".z[0]"]
    text = pytree.treespec_dumps(spec)
    assert text == reference.treespec_dumps(reference.tree_structure(value))
    assert pytree.treespec_loads(text) == spec


@pytest.mark.parametrize(
    "cls, names",
    [(Fields, ["x"]), (Fields, ["x", "y", "z", "w"]), (Box, None)],
)
def test_dataclass_fields_must_agree(reference, cls, names):
    with pytest.raises(ValueError) as ours:
        pytree.register_dataclass(cls, field_names=names)
    with pytest.raises(ValueError) as theirs:
        reference.register_dataclass(cls, field_names=names)
    assert str(ours.value).split("{")[0] == str(theirs.value).split("{")[0]


@dataclasses.dataclass(frozen=True)
class Setting:
    name: str


def test_constant(registered):
    registered(Setting, "register_constant")
    leaves, spec = pytree.tree_flatten([Setting("a"), 1])
    assert leaves == [1] and pytree.is_constant_class(Setting)
    assert spec != pytree.tree_structure([Setting("b"), 1])
    assert pytree._retrieve_constant(spec.child(0)) == Setting("a")
    for cls, what in ((Box, "__eq__"), (Fields, "__hash__")):
        with pytest.raises(TypeError, match=what):
            pytree.register_constant(cls)


def test_own_class(registered):
    registered(
        Box,
        "register_pytree_node",
        flatten_fn=lambda b: ([b.value], b.colour),
        unflatten_fn=lambda values, colour: Box(values[0], colour),
        serialized_type_name="Box",
    )
    spec = pytree.tree_structure(Box((1, 2), Colour.RED))
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
    with pytest.raises(ValueError, match="already registered"):
        pytree.register_pytree_node(Box, None, None)
    with pytest.raises(ValueError, match="Did not find a flatten_with_keys_fn"):
        pytree.tree_leaves_with_path(Box(1, Colour.RED))
    with pytest.raises(ValueError, match="context mismatch for custom node type"):
        pytree.tree_map(lambda a, b: a, Box(1, Colour.RED), Box(1, None))


def test_named_tuple_in_files(reference, registered):
    text = outcome(lambda: pytree.treespec_dumps(pytree.tree_structure(Point(1, 2))))
    assert text[0] == "NotImplementedError" and "_register_namedtuple" in text[1]
    registered(Point, "_register_namedtuple", serialized_type_name="tests.Point")
    spec = pytree.tree_structure([Point(1, 2)])
    text = pytree.treespec_dumps(spec)
    assert text == reference.treespec_dumps(reference.tree_structure([Point(1, 2)]))
    assert pytree.treespec_loads(text) == spec


def test_results_of_operators_are_nodes():
    import taeda

    result = taeda.max(taeda.ones(2, 2), 0)
    leaves, spec = pytree.tree_flatten(result)
    assert len(leaves) == 2 and type(spec.unflatten(leaves)) is type(result)
    assert repr(spec.unflatten([1, 2])) == "torch.return_types.max(\nvalues=1,\nindices=2)"


def test_bad_input():
    spec = pytree.tree_structure([1, 2])
    for call, message in (
        (lambda: pytree.tree_unflatten([1], spec), "`leaves` has length 1"),
        (lambda: pytree.tree_unflatten([1], 3), "instance of PyTreeSpec"),
        (lambda: pytree.treespec_dumps("text"), "instance of PyTreeSpec"),
        (lambda: pytree.treespec_dumps(spec, 2), "Unknown protocol"),
        (lambda: pytree.treespec_loads('[1, {"type": "x", "context": "1", "children_spec": []}]'),
         "not registered"),
        (lambda: pytree.treespec_tuple([1]), "Expected a tuple of TreeSpec"),
        (lambda: pytree.tree_map_only(3, repr, [1]), "must be a type"),
    ):  # fmt: skip
        kind, text = outcome(call)
        assert message in text, (kind, text)


def test_the_other_path_has_the_same_functions():
    assert _cxx_pytree.tree_map is pytree.tree_map
    assert _cxx_pytree.PyTreeSpec is pytree.TreeSpec
