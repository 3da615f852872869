"""What a program can do about a break, by its cause."""

__all__ = ["remedy_of"]

_REMEDIES = (
    (
        "call of print",
        "print behind the compiled function, or name print in "
        "taeda._dynamo.config.reorderable_logging_functions",
    ),
    (
        "call of logger._log",
        "name the function in taeda._dynamo.config.reorderable_logging_functions (it is called "
        "behind the graph) or ignore_logging_functions (it is not called)",
    ),
    ("only data tells", "use taeda.where or taeda.cond, or keep the value a tensor"),
    (
        "call of saved_tensors_hooks",
        "hooks see what a plain run saves: set them around the compiled function",
    ),
    ("call of graph_break", "the program asks for this break"),
    (
        "left alone",
        "the function is marked with taeda.compiler.disable or taeda._dynamo.disallow_in_graph",
    ),
    ("as a text", "format the tensor behind the compiled function"),
    ("numpy", "use functions of tensors, or make the call an operator of its own (custom_op)"),
    *dict.fromkeys(
        ("call of tensor.backward", "call of _run_backward"),
        "call it behind the compiled function, whose backward is compiled with it, or take "
        "gradients inside by taeda.func.grad",
    ).items(),
    (
        "call of tensor.retain_grad",
        "let one compiled function give the tensor and another take it, and call retain_grad in "
        "between",
    ),
    *dict.fromkeys(
        ("call of tensor._make_subclass", "call of tensor.requires_grad_", "requires_grad=true"),
        "make parameters and other leaves before the compiled function is called, and pass them",
    ).items(),
    ("_hook", "register hooks before the compiled function is called"),
    ("taeda.generator", "draw from the default generator, which taeda.manual_seed seeds"),
    (
        "call of ",
        "make the function an operator (taeda.library.custom_op), call it behind the compiled "
        "function, or name a function that captures enter (taeda.compiler.substitute_in_graph)",
    ),
    ("__torch_function__", "call the function with plain tensors"),
    ("first import", "import the module before the compiled function is called"),
    *dict.fromkeys(
        ("hooks", "hook of the program"), "register hooks before the compiled function is called"
    ).items(),
    ("generator", "consume the generator before the break, or make a list of it"),
    ("handler of exceptions", "move the break out of the except block"),
    ("not strided", "compile the part that works on dense tensors"),
)


def remedy_of(reason):
    """A sentence; empty where nothing is known."""
    lower = reason.lower()
    return next((text for part, text in _REMEDIES if part in lower), "")
