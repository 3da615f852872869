"""Writes a GraphModule as a package of Python files and pickles."""

import pickle
import sys
from pathlib import Path

from taeda._own_names import own_module
from taeda.fx._code import KNOWN_GLOBALS

# Modules whose printed form is the expression that makes them again.
_PRINTED = (
    "Linear",
    "ReLU",
    "Identity",
    "Dropout",
    "Tanh",
    "Sigmoid",
    "Conv1d",
    "Conv2d",
    "Conv3d",
)


def import_statement(name, value):
    """The statement after which `name` means `value`."""
    if name in KNOWN_GLOBALS:
        return KNOWN_GLOBALS[name][0]
    module, own_name = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if module == "_operator":
        module = "operator"
    found = getattr(sys.modules.get(module), own_name, None) if own_name else None
    if found is not value:
        raise RuntimeError(
            f"no import gives {value!r}, which the code calls {name}: what to_folder writes may "
            "call functions at the top level of a module"
        )
    return f"from {module} import {own_name} as {name}"


def import_block(table):
    """The imports that a table of globals needs."""
    return "\n".join(sorted({import_statement(name, value) for name, value in table.items()}))


def _is_printable(module):
    return type(module).__name__ in _PRINTED and own_module(type(module)).startswith("taeda.nn")


def write_folder(module, folder, module_name):
    """`module.py` with the class, a pickle for its state and for each part that needs one."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    code = module._python_code
    state = {name: value.detach() for name, value in module.state_dict().items()}
    (folder / "state_dict.pkl").write_bytes(pickle.dumps(state))
    lines = [
        '"""Written by GraphModule.to_folder."""',
        "",
        "import pickle",
        "from pathlib import Path",
        "",
        import_block(code.globals),
        "from taeda.nn import *",
        "",
        "_folder = Path(__file__).parent",
        "",
        "",
        f"class {module_name}(taeda.nn.Module):",
        "    def __init__(self):",
        "        super().__init__()",
    ]
    for number, (name, child) in enumerate(module.named_children()):
        file = name if name.isidentifier() else f"module_{number}"
        lines.append(f"        setattr(self, {name!r}, {_expression(child, file, folder)})")
    for name, buffer in module._buffers.items():
        shape, dtype = tuple(buffer.shape), repr(buffer.dtype)
        lines.append(f"        self.register_buffer({name!r}, torch.empty({shape}, dtype={dtype}))")
    for name, parameter in module._parameters.items():
        shape, dtype = tuple(parameter.shape), repr(parameter.dtype)
        made = f"taeda.nn.Parameter(torch.empty({shape}, dtype={dtype}))"
        lines.append(f"        self.register_parameter({name!r}, {made})")
    lines.append(
        '        self.load_state_dict(pickle.loads((_folder / "state_dict.pkl").read_bytes()))'
    )
    body = code.src.strip("\n").rstrip()
    text = "\n".join(lines) + "\n\n    " + body.replace("\n", "\n    ") + "\n"
    (folder / "module.py").write_text(text)
    (folder / "__init__.py").write_text(f"from .module import {module_name}\n")


def _expression(child, name, folder):
    if _is_printable(child):
        return repr(child)
    (folder / f"{name}.pkl").write_bytes(pickle.dumps(child))
    return f'pickle.loads((_folder / "{name}.pkl").read_bytes())'
