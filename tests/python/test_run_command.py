"""`taeda run`: a program that says `import torch` runs as with python, and torch is Taeda."""

import os
import pty
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from child_programs import listen_to_interrupts

RUN = [sys.executable, "-m", "taeda.run"]


def run(*arguments, command=RUN, **options):
    return subprocess.run(
        [*command, *map(str, arguments)], capture_output=True, text=True, timeout=120, **options
    )


def code(text, **options):
    found = run("-c", text, **options)
    assert found.returncode == 0, found.stderr
    return found.stdout


@pytest.fixture
def script(tmp_path):
    def write(text, name="program.py"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


# What torch is.


def test_modules_are_one_object():
    code("""
import sys
import taeda, torch, torch.nn as nn, torch.nn.functional as F
from torch import optim, Tensor
from torch.utils.data import DataLoader
import torch.utils._pytree, torch._C, torch._C._nn, torch.version
assert torch is taeda and sys.modules["torch"] is sys.modules["taeda"]
assert nn is taeda.nn and F is taeda.nn.functional and optim is taeda.optim
assert torch._C is taeda._C and Tensor is taeda.Tensor
for name, module in list(sys.modules.items()):
    if name.startswith("taeda."):
        assert sys.modules["torch" + name[5:]] is module, name
assert isinstance(torch.ones(2), taeda.Tensor)
""")


def test_a_function_with_the_name_of_its_module_stays():
    code("""
import torch
import torch.nn.utils.weight_norm
assert callable(torch.nn.utils.weight_norm)
import torch.optim.lr_scheduler, torch.nn.parameter
torch.nn.utils.weight_norm(torch.nn.Linear(2, 2))
""")


def test_classes_say_torch():
    code("""
import torch
from torch import nn
assert str(type(torch.ones(2))) == "<class 'torch.Tensor'>"
assert nn.Linear.__module__ == "torch.nn.modules.linear"
assert nn.Parameter.__module__ == "torch.nn.parameter"
assert torch.optim.Adam.__module__ == "torch.optim.adam"
assert torch.Size.__module__ == torch.dtype.__module__ == torch.device.__module__ == "torch"
""")


def test_pickles_and_copies():
    code("""
import copy, io, pickle, sys, torch
model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
values = [model, torch.ones(2), torch.Size([1]), torch.float32, torch.device("cpu"), torch.nn.Linear,
          torch.strided, torch.optim.Adam, torch.preserve_format]
for value in values:
    again = pickle.loads(pickle.dumps(value))
    assert type(again) is type(value)
    assert type(copy.deepcopy(value)) is type(value)
file = io.BytesIO()
torch.save({"model": model.state_dict(), "size": torch.Size([2])}, file)
file.seek(0)
assert torch.load(file)["model"]["0.weight"].equal(model[0].weight)
file.seek(0)
torch.save(model, file)
file.seek(0)
assert type(torch.load(file, weights_only=False)) is torch.nn.Sequential
""")


def test_fx_knows_its_own_modules():
    code("""
import torch
from torch import fx, nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
    def forward(self, x):
        return torch.relu(self.linear(x)) + 1
traced = fx.symbolic_trace(Net())
assert [n.op for n in traced.graph.nodes] == ["placeholder", "call_module", "call_function", "call_function", "output"]
assert traced(torch.ones(1, 2)).shape == (1, 2)
""")


def test_versions():
    out = code("""
import importlib.metadata, importlib.util
print(importlib.metadata.version("torch"), importlib.metadata.version("Torch"))
assert importlib.util.find_spec("torch") is not None
assert importlib.util.find_spec("torch.nn.functional") is not None
assert "torch" in importlib.metadata.packages_distributions()
import torch
print(torch.__version__, torch.version.__version__, torch.version.cuda)
assert torch.__version__ >= "2.1" and torch.__version__ >= (2, 13) and torch.__version__ < "2.14.0a1"
""")
    assert out.split() == ["2.13.0", "2.13.0", "2.13.0", "2.13.0", "None"]


def test_without_run_the_version_is_its_own():
    out = run(
        command=[
            sys.executable,
            "-c",
            "import taeda; print(taeda.__version__, taeda.version.__version__)",
        ]
    )
    own = (Path(__file__).resolve().parents[2] / "VERSION").read_text().strip()
    assert out.stdout.split() == [own, own]


def test_an_installed_torch_is_not_touched(tmp_path):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise SystemExit('the other one')\n")
    (tmp_path / "torch" / "extra.py").write_text("raise SystemExit('the other one')\n")
    (tmp_path / "functorch.py").write_text("raise SystemExit('the other one')\n")
    (tmp_path / "torchgen.py").write_text("raise SystemExit('the other one')\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    code(
        """
import torch, functorch
assert functorch.vmap is torch.vmap
for name in ("torch.extra", "torchgen"):
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        assert name in str(error) and "\\n" not in str(error), error
    else:
        raise AssertionError(name)
""",
        env={**os.environ, "PYTHONPATH": path},
    )


def test_real_pytorch_stays_out(torch):
    folder = str(Path(torch.__file__).parent)
    code(f"""
import sys, torch, torch.nn
assert torch.__file__ and not torch.__file__.startswith({folder!r})
torch.ones(2) @ torch.ones(2)
assert {folder!r} not in open("/proc/self/maps").read()
assert not [m for m in sys.modules.values() if str(getattr(m, "__file__", "")).startswith({folder!r})]
""")


def test_random_numbers_are_those_of_pytorch(torch):
    torch.manual_seed(3)
    expected = [*torch.randn(20).tolist(), *torch.rand(3).tolist(), *torch.randperm(5).tolist()]
    out = code("""
import torch
torch.manual_seed(3)
print([*torch.randn(20).tolist(), *torch.rand(3).tolist(), *torch.randperm(5).tolist()])
""")
    assert eval(out) == pytest.approx(expected, rel=1e-6)


def test_the_engine_of_random_numbers_can_be_chosen():
    text = "import taeda; print(taeda.random.get_default_engine())"
    assert code(text).strip() == "mt19937"
    chosen = {**os.environ, "TAEDA_RANDOM_ENGINE": "philox"}
    assert code(text, env=chosen).strip() == "philox"


@pytest.mark.parametrize(
    ("statement", "line"),
    [
        ("import torch.onnx", "ModuleNotFoundError: No module named 'torch.onnx'"),
        ("import torch; torch.no_such_name", "has no attribute 'no_such_name'"),
        ("from torch import no_such_name", "ImportError: cannot import name 'no_such_name'"),
        ("from torch.nn import no_such_name", "ImportError: cannot import name 'no_such_name'"),
        ("import torch; torch.nn.no_such_name", "has no attribute 'no_such_name'"),
        ("from torch.onnx import export", "ModuleNotFoundError: No module named 'torch.onnx'"),
        ("import torch.utils.no_such_name", "No module named 'torch.utils.no_such_name'"),
        ("import torch; torch.ones(1).no_such_name()", "no attribute 'no_such_name'"),
        ("import torch; torch.ops.aten.no_such_name", "has no attribute 'no_such_name'"),
    ],
)
def test_a_missing_piece_is_named_in_one_line(statement, line):
    found = run("-c", statement)
    assert found.returncode == 1
    assert line in found.stderr.strip().splitlines()[-1]
    assert found.stderr.count("Error: ") == 1  # no chain of causes before it


# The program's surroundings.

SURROUNDINGS = """
import sys
print(__name__, __file__, sys.argv, sys.path[0], __spec__, __package__, type(__loader__).__name__)
print(sorted(globals()))
import __main__
assert vars(__main__) is globals()
"""


def test_a_script_sees_what_python_shows_it(script):
    path = script(SURROUNDINGS)
    arguments = [path, "-m", "--flag", "a b", "-c"]
    assert run(*arguments).stdout == run(*arguments, command=[sys.executable]).stdout != ""


def test_relative_paths_and_links(script, tmp_path):
    path = script(SURROUNDINGS)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "link.py").symlink_to(path)
    for name in ("program.py", "./elsewhere/link.py"):
        own, plain = run(name, cwd=tmp_path), run(name, cwd=tmp_path, command=[sys.executable])
        assert own.stdout == plain.stdout != ""


def test_modules_packages_and_archives(script, tmp_path):
    script(SURROUNDINGS, "single.py")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    (tmp_path / "package" / "__main__.py").write_text(
        "import sys, torch; print(__package__, sys.argv[1:])"
    )
    assert run("-m", "single", 1, cwd=tmp_path).stdout.splitlines()[0].startswith("__main__ ")
    assert run("-m", "package", 1, cwd=tmp_path).stdout == "package ['1']\n"
    assert run("-mpackage", 1, cwd=tmp_path).stdout == "package ['1']\n"
    assert run(tmp_path / "package", 1).stdout == " ['1']\n"
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.write(tmp_path / "package" / "__main__.py", "__main__.py")
    assert run(tmp_path / "archive.zip", 1).stdout == " ['1']\n"


def test_code_and_standard_input():
    assert (
        run("-c", "import sys; print(sys.argv, sys.path[0] == '')", "-x").stdout
        == "['-c', '-x'] True\n"
    )
    assert run("-", "x", input="import sys; print(sys.argv)").stdout == "['-', 'x']\n"


@pytest.mark.parametrize(
    "text",
    [
        "1 / 0",
        "def f():\n    raise ValueError('x')\nf()",
        "x = (",
        "import torch\ntorch.ones(2) @ torch.ones(3)",
    ],
)
def test_tracebacks_begin_in_the_program(script, text):
    path = script(text.replace("import torch", "import taeda as torch"))
    own, plain = run(path), run(path, command=[sys.executable])
    assert own.returncode == plain.returncode == 1
    assert own.stderr == plain.stderr


@pytest.mark.parametrize("argument", ["", "0", "3", "None", "'gone'", "True"])
def test_exit_statuses(argument):
    text = f"import sys; sys.exit({argument})"
    own, plain = run("-c", text), run("-c", text, command=[sys.executable])
    assert (own.returncode, own.stderr) == (plain.returncode, plain.stderr)


def test_what_is_not_there():
    assert (
        run("no_such_file.py").returncode
        == run("no_such_file.py", command=[sys.executable]).returncode
        == 2
    )
    assert "can't open file" in run("no_such_file.py").stderr
    found = run("-m", "no_such_module")
    assert found.returncode == 1 and found.stderr.endswith("No module named no_such_module\n")
    assert run().returncode == run("--what").returncode == run("-m").returncode == 2


def test_hooks_of_the_program():
    out = code("""
import atexit, sys
atexit.register(print, "at exit")
sys.excepthook = lambda *error: print("hook", error[0].__name__)
""")
    assert out == "at exit\n"
    found = run("-c", "import sys; sys.excepthook = lambda *e: print('hook', e[0].__name__); 1 / 0")
    assert found.stdout == "hook ZeroDivisionError\n" and found.returncode == 1


def test_an_interrupt_ends_it_as_it_ends_python(script):
    path = script("import time, torch\nprint('ready', flush=True)\ntime.sleep(60)")
    process = subprocess.Popen(
        [*RUN, path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=listen_to_interrupts,
    )
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert errors.rstrip().endswith("KeyboardInterrupt")


# Child processes.

CHILDREN = """
import sys
import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Dataset

class Numbers(Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, i):
        import torch as inner
        assert inner.__version__ == "2.13.0" and inner is sys.modules["taeda"]
        return inner.tensor(i)

def work(queue, tensor):
    queue.put((tensor + 1).tolist() + [torch.__version__])

if __name__ == "__main__":
    method = sys.argv[1]
    loader = DataLoader(Numbers(), batch_size=4, num_workers=2, multiprocessing_context=method)
    assert torch.cat(list(loader)).tolist() == list(range(8))
    context = mp.get_context(method)
    queue = context.SimpleQueue()
    process = context.Process(target=work, args=(queue, torch.ones(2)))
    process.start()
    assert queue.get() == [2.0, 2.0, "2.13.0"]
    process.join()
    print("done", process.exitcode)
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_and_processes(script, method):
    found = run(script(CHILDREN), method)
    assert found.stdout == "done 0\n", found.stderr


def test_commands_that_a_program_starts():
    code("""
import subprocess, sys
text = "import torch, taeda, sys; assert torch is taeda; assert not any('startup' in p for p in sys.path)"
subprocess.run([sys.executable, "-c", text], check=True)
subprocess.run([sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {text!r}], check=True)"], check=True)
""")


def test_another_sitecustomize_still_runs(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import os; os.environ['SEEN'] = 'yes'\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    code(
        "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import os, sitecustomize, torch; "
        'assert os.environ["SEEN"] == "yes"; assert sitecustomize.os\'], check=True)',
        env={**os.environ, "PYTHONPATH": path},
    )


# The commands.


def test_commands_of_taeda(tmp_path):
    taeda = [sys.executable, "-m", "taeda"]
    assert (
        run("run", "-c", "import torch; print(torch.__version__)", command=taeda).stdout
        == "2.13.0\n"
    )
    assert "usage: taeda" in run("--help", command=taeda).stdout
    assert run("nothing", command=taeda).returncode == 2
    assert run(command=taeda).returncode == 2


def test_the_shell(tmp_path):
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "taeda", "shell"],
        stdin=child,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHON_BASIC_REPL": "1", "HOME": str(tmp_path)},
    )
    os.write(parent, b"print(torch.ones(2) + 1, torch.__version__)\nexit()\n")
    out, _ = process.communicate(timeout=60)
    os.close(parent)
    os.close(child)
    assert "torch is Taeda" in out and "tensor([2., 2.]) 2.13.0" in out
