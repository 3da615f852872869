"""The strict mode of `functional`: errors where a derivative is zero for lack of a path."""

from taeda import _C

_NOT_ALLOWED = "This is not allowed in strict mode"

# What a missing gradient at entry {i} means at each stage of a computation.
_MISSING = {
    "back": "The output of the user-provided function is independent of input {i}. "
    + _NOT_ALLOWED
    + ".",
    "back_trick": "The gradient with respect to the input is independent of entry {i} in the "
    "grad_outputs when using the double backward trick to compute forward mode gradients. "
    + _NOT_ALLOWED
    + ".",
    "double_back": "The jacobian of the user-provided function is independent of input {i}. "
    + _NOT_ALLOWED
    + ".",
    "double_back_trick": "The hessian of the user-provided function is independent of entry {i} in "
    "the grad_jacobian. "
    + _NOT_ALLOWED
    + " as it prevents from using the double backward trick to replace forward mode AD.",
}

# What it means that a gradient exists but does not depend on the inputs.
_CONSTANT = {
    "grad_inputs": "The gradient with respect to input {i} is independent of the inputs of the "
    "user-provided function. " + _NOT_ALLOWED + ".",
    "jacobian": "While computing the hessian, found that the jacobian of the user-provided "
    "function with respect to input {i} is independent of the input. "
    + _NOT_ALLOWED
    + ". You should ensure that your function is twice differentiable and that the jacobian "
    "depends on the inputs (this would be violated by a linear function for example).",
    "hessian": "The hessian of the user-provided function with respect to input {i} is "
    "independent of the input. "
    + _NOT_ALLOWED
    + ". You should ensure that your function is thrice differentiable and that the hessian "
    "depends on the inputs.",
}


def check_differentiable(outputs, strict):
    """Strictly, every output of the function requires gradients."""
    for i, output in enumerate(outputs if strict else ()):
        if not output.requires_grad:
            raise RuntimeError(
                f"Output {i} of the user-provided function does not require gradients. The outputs "
                "must be computed in a differentiable manner from the input when running in "
                "strict mode."
            )


def check_depends(gradients, kind, strict):
    """Strictly, every gradient exists and depends on the inputs."""
    for i, gradient in enumerate(gradients if strict else ()):
        if gradient is None:
            raise RuntimeError(_MISSING["back"].format(i=i))
        if not gradient.requires_grad:
            raise RuntimeError(_CONSTANT[kind].format(i=i))


def fill_zeros(gradients, like, strict, create_graph, stage):
    """The gradients with zeros for those that are missing, which is an error in strict mode."""
    results = []
    for i, (gradient, tensor) in enumerate(zip(gradients, like)):
        if gradient is None:
            if strict:
                raise RuntimeError(_MISSING[stage].format(i=i))
            gradient = _C.zeros_like(tensor)
        elif strict and create_graph and not gradient.requires_grad:
            what = "hessian" if "double" in stage else "jacobian"
            raise RuntimeError(
                f"The {what} of the user-provided function is independent of input {i}. "
                f"{_NOT_ALLOWED} when create_graph=True."
            )
        results.append(gradient)
    return tuple(results)
