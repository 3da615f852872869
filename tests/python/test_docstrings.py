"""Every public function, method and class says what it is: a signature or a sentence."""

import pytest
from under_test import NAME, t

pytestmark = pytest.mark.skipif(NAME != "taeda", reason="about Taeda's own texts")


def _public(owner):
    return sorted(name for name in dir(owner) if not name.startswith("_"))


def _is_documented(value):
    return bool((getattr(value, "__doc__", None) or "").strip())


def test_functions_and_classes_of_the_package_are_documented():
    named = {name: getattr(t, name) for name in _public(t)}
    assert [
        name for name, value in named.items() if callable(value) and not _is_documented(value)
    ] == []


@pytest.mark.parametrize("owner", [t.Tensor, t.Generator], ids=["Tensor", "Generator"])
def test_methods_and_properties_are_documented(owner):
    assert [name for name in _public(owner) if not _is_documented(getattr(owner, name))] == []


def test_an_operator_shows_its_signature_and_what_it_does():
    signature, _, text = t.add.__doc__.partition("\n\n")
    assert signature == "add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
    assert text.startswith("Adds `other`")


def test_a_method_shows_its_signature_and_what_it_does():
    assert t.Tensor.item.__doc__ == "item() -> number\n\nThe only element as a Python number."
