"""Lists and dicts that cannot be changed: the containers in the arguments of nodes."""

from taeda.utils._pytree import (
    _dict_flatten_with_keys,
    _list_flatten_with_keys,
    register_pytree_node,
)

__all__ = ["immutable_dict", "immutable_list"]

_HINT = """If you are attempting to modify the kwargs or args of a torch.fx.Node object,
instead create a new copy of it and assign the copy to the node:

    new_args = ...  # copy and mutate args
    node.args = new_args"""


def _refuse(self, *args, **kwargs):
    raise TypeError(f"'{type(self).__name__}' object does not support mutation. {_HINT}")


class immutable_list(list):
    """A list that refuses changes and can be hashed."""

    __slots__ = ()
    __delitem__ = __iadd__ = __imul__ = __setitem__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __hash__(self):
        return hash(tuple(self))

    def __reduce__(self):
        return immutable_list, (tuple(self),)


class immutable_dict(dict):
    """A dict that refuses changes and can be hashed."""

    __slots__ = ()
    __delitem__ = __ior__ = __setitem__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self):
        return hash(frozenset(self.items()))

    def __reduce__(self):
        return immutable_dict, (tuple(self.items()),)


register_pytree_node(
    immutable_list,
    lambda x: (list(x), None),
    lambda children, _: immutable_list(children),
    flatten_with_keys_fn=_list_flatten_with_keys,
)
register_pytree_node(
    immutable_dict,
    lambda d: (list(d.values()), list(d)),
    lambda children, keys: immutable_dict(zip(keys, children)),
    flatten_with_keys_fn=_dict_flatten_with_keys,
)
