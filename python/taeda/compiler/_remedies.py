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
    ("left alone", "the function is marked with taeda.compiler.disable"),
    ("as a text", "format the tensor behind the compiled function"),
    ("call of graph_break", "the program asks for this break"),
    ("numpy", "use functions of tensors, or make the call an operator of its own (custom_op)"),
    (
        "call of ",
        "make the function an operator (taeda.library.custom_op), call it behind the compiled "
        "function, or name a function that captures enter (taeda.compiler.substitute_in_graph)",
    ),
    ("__torch_function__", "call the function with plain tensors"),
    ("first import", "import the module before the compiled function is called"),
    ("hooks", "register hooks before the compiled function is called"),
    ("generator", "consume the generator before the break, or make a list of it"),
    ("handler of exceptions", "move the break out of the except block"),
    ("not strided", "compile the part that works on dense tensors"),
)


def remedy_of(reason):
    """A sentence; empty where nothing is known."""
    lower = reason.lower()
    return next((text for part, text in _REMEDIES if part in lower), "")
