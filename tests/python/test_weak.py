"""Weak references to tensors and dictionaries by identity."""

import gc
import importlib

import pytest
from under_test import NAME, t

weak = importlib.import_module(f"{NAME}.utils.weak")


def test_tensors_are_keys_by_identity():
    a, b = t.ones(2), t.ones(2)
    table = weak.WeakTensorKeyDictionary({a: 1})
    table[b] = 2
    assert (table[a], table[b], len(table)) == (1, 2, 2)
    assert a in table and t.ones(2) not in table and 3 not in table
    assert {id(key) for key in table} == {id(a), id(b)}
    with pytest.raises(KeyError):
        table[t.ones(2)]


def test_an_entry_goes_with_its_key():
    a, b = t.ones(2), t.ones(2)
    table = weak.WeakTensorKeyDictionary({a: "a", b: "b"})
    del a
    gc.collect()
    assert len(table) == 1 and list(table.values()) == ["b"]
    assert table.pop(b) == "b" and not table


def test_dictionaries_are_copied_joined_and_compared():
    a, b = t.ones(2), t.ones(2)
    table = weak.WeakIdKeyDictionary({a: 1})
    both = table | {b: 2}
    assert table.copy() == table and both != table and len(both) == 2
    table |= {b: 2}
    assert both == table
    assert {ref() is a or ref() is b for ref in table.keyrefs()} == {True}


def test_references_to_one_object_are_equal():
    a, b = t.ones(2), t.ones(2)
    assert weak.WeakIdRef(a) == weak.WeakIdRef(a) and weak.WeakIdRef(a) != weak.WeakIdRef(b)
    assert hash(weak.WeakIdRef(a)) == hash(weak.WeakIdRef(a))
    gone = weak.WeakIdRef(a)
    del a
    gc.collect()
    assert gone() is None and gone == gone and gone != weak.WeakIdRef(b)


def test_a_reference_does_not_keep_a_tensor():
    a = t.ones(2)
    ref = weak.TensorWeakRef(a)
    assert ref() is a
    del a
    gc.collect()
    assert ref() is None
    with pytest.raises(AssertionError, match=r"expected torch\.Tensor"):
        weak.TensorWeakRef(3)
