"""`./run`: sets the environment up, then builds, tests, formats or runs Taeda."""

import os
import shlex
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from driver.build import PACKAGE, Build, build_command
from driver.environment import ensure_environment, ensure_peers
from driver.process import ROOT, VENV_PYTHON, StepError, UsageError, check_call, say

HELP = """\
usage: ./run COMMAND [arguments]

  demo                    build what is needed and run the demonstration
  test [--quick|--full]   checks, C++ tests, Python tests; --quick leaves out the slow ones and
                          those that need PyTorch, --full adds the tests marked full,
                          sanitizers, other Pythons and the other architecture
  test --peers            the Python tests that need PyTorch, which the others skip without it
  build [--clean] [--keep-going] [--report] [target...]
                          build the library and the Python package with CMake and Ninja (target
                          `all` adds the C++ tests); --clean from nothing and without ccache,
                          --keep-going past errors, --report prints seconds by folder
  bench [name...]         run the benchmarks, or those whose names contain a given word
  bench --peers [...]     Taeda and PyTorch on the same work; bench --peers --help has the options
  parity [...]            PyTorch's operator records on Taeda; parity --help has the options
  golden [family...]      keep PyTorch's results and gradients of the operators' samples in
                          tests/golden, which every test compares
  format                  format C++ and Python in place
  docs                    collect the documentation in build/docs and check its links
  python ...              the environment's interpreter, with Taeda as last built
  peers                   add PyTorch and other packages that Taeda is compared with; the
                          commands that need them do so themselves
  help                    this text; so does --help after a command

Everything is installed on first use: Debian packages through apt-get (as root or with sudo),
wheels into .venv. Versions stand in tools/pins.toml. TAEDA_JOBS limits parallel compiles.
"""

# The commands that hand --help on to the program they start.
OWN_HELP = {"demo", "python", "parity", "golden"}


def demo(arguments: list[str]) -> int:
    build = Build()
    build.run(*PACKAGE)
    # Options are those of the second program, which then runs alone.
    programs = [
        ("train_a_model.py", []),
        ("char_gpt.py", ["--compare", "--compile", "--steps=500"]),
        ("vae.py", ["--compile", "--steps=800"]),
    ]
    for name, options in [("char_gpt.py", arguments)] if arguments else programs:
        program = ROOT / "examples" / name
        say(f"Running {shlex.join([str(program.relative_to(ROOT)), *options])}")
        check_call([VENV_PYTHON, program, *options], env=build.python_env())
    return 0


def python(arguments: list[str]) -> int:
    build = Build()
    if not build.is_built():
        build.run(*PACKAGE)
    build.link_package()
    os.environ.update(build.python_env())
    os.execv(VENV_PYTHON, [str(VENV_PYTHON), *arguments])


def bench(arguments: list[str]) -> int:
    if arguments[:1] == ["--peers"]:
        from driver.peers import bench_command

        return bench_command(arguments[1:])
    options = [argument for argument in arguments if argument.startswith("-")]
    if options:
        usage = "./run bench [name...], or ./run bench --peers [options]"
        raise UsageError(f"unknown option {shlex.join(options)}; usage: {usage}")
    build = Build()
    build.run("all", "benchmarks")
    programs = [*sorted((build.folder / "bench").glob("bench_*")), *sorted(ROOT.glob("bench/*.py"))]
    chosen = [
        program
        for program in programs
        if not arguments or any(word in program.name for word in arguments)
    ]
    if not chosen:
        names = ", ".join(program.name for program in programs) or "none"
        raise StepError(f"nothing is called {' or '.join(arguments)}; the benchmarks are: {names}")
    for program in chosen:
        say(f"Running {program.name}")
        command = [VENV_PYTHON, program] if program.suffix == ".py" else [program]
        check_call(command, env=build.python_env())
    return 0


def test(arguments: list[str]) -> int:
    from driver.testing import test_command

    return test_command(arguments)


def parity(arguments: list[str]) -> int:
    from driver.peers import parity_command

    return parity_command(arguments)


def golden(arguments: list[str]) -> int:
    from driver.peers import golden_command

    return golden_command(arguments)


def format_sources(arguments: list[str]) -> int:
    from driver.checks import format_in_place

    refuse("format", arguments)
    return format_in_place()


def docs(arguments: list[str]) -> int:
    from driver.docs import docs_command

    refuse("docs", arguments)
    return docs_command()


def peers(arguments: list[str]) -> int:
    refuse("peers", arguments)
    ensure_peers()
    say("the peers are installed")
    return 0


def refuse(name: str, arguments: list[str]) -> None:
    if arguments:
        raise UsageError(f"./run {name} takes no arguments: got {shlex.join(arguments)}")


COMMANDS = {
    "demo": demo,
    "test": test,
    "build": build_command,
    "bench": bench,
    "parity": parity,
    "golden": golden,
    "format": format_sources,
    "docs": docs,
    "python": python,
    "peers": peers,
}


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("help", "-h", "--help"):
        print(HELP, end="")
        return 0
    name, *rest = arguments
    if name not in COMMANDS:
        print(f"run: unknown command {name!r}\n\n{HELP}", end="", file=sys.stderr)
        return 2
    hands_help_on = name in OWN_HELP or [name, *rest[:1]] == ["bench", "--peers"]
    if not hands_help_on and {"-h", "--help"} & set(rest):
        print(HELP, end="")
        return 0
    try:
        ensure_environment()
        return COMMANDS[name](rest)
    except KeyboardInterrupt:
        print(f"\nrun {name}: interrupted; what is done so far is kept", file=sys.stderr)
        return 130
    except (StepError, OSError) as error:
        print(f"run {name}: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
