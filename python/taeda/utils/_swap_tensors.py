"""swap_tensors: exchanges what two tensor objects stand for, so that both keep their identity."""

import copyreg
import weakref

from taeda import _C


def swap_tensors(t1, t2):
    """Gives each tensor object the other's values, class and attributes.

    Nobody but the caller may hold the tensors; a leaf's gradient node may, and raises if it is
    used afterwards.
    """
    for name, tensor in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefs(tensor):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    slots = copyreg._slotnames(type(t1))
    if set(slots) != set(copyreg._slotnames(type(t2))):
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    _check_use_count("t1", t1)
    _check_use_count("t2", t2)
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    for slot in slots:
        _swap_slot(t1, t2, slot)
    _C.Tensor._swap_impl(t1, t2)


def _swap_slot(t1, t2, name):
    values = [(hasattr(t, name), getattr(t, name, None)) for t in (t2, t1)]
    for tensor, (is_set, value) in zip((t1, t2), values):
        if is_set:
            setattr(tensor, name, value)
        elif hasattr(tensor, name):
            delattr(tensor, name)


def _check_use_count(name, tensor):
    """Only the object and, of a leaf, its gradient node may hold the tensor."""
    count = _C.Tensor._use_count(tensor)
    if count == 1:
        return
    if count == 2 and tensor.is_leaf and tensor.requires_grad:
        from taeda.autograd.graph import get_gradient_edge

        node = get_gradient_edge(tensor).node
        # Else the node is new, and another one holds the tensor.
        if _C.Tensor._use_count(tensor) == 2:
            node.register_prehook(_refuse)
            return
    raise RuntimeError(
        f"Expected use_count of {name} to be 1 or 2 with an AccumulateGrad node but got {count} "
        "make sure you are not holding references to the tensor in other places."
    )


def _refuse(grad_outputs):
    raise RuntimeError(
        "Trying to execute AccumulateGrad node that was poisoned by swap_tensors this can happen "
        "when you try to run backward on a tensor that was swapped. For a module m with "
        "`torch.__future__.set_swap_module_params_on_conversion(True)` you should not change the "
        "device or dtype of the module (e.g. `m.cpu()` or `m.half()`) between running forward and "
        "backward. To resolve this, please only change the device/dtype before running forward (or "
        "after both forward and backward)."
    )
