"""What `./run` answers to wrong arguments, to failures of its steps and to Ctrl-C."""

import pytest
import run
from driver import environment, peers, process


@pytest.fixture(autouse=True)
def _no_installing(monkeypatch):
    monkeypatch.setattr(run, "ensure_environment", lambda: None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "unknown command 'nonsense'"),
        (["test", "--bogus"], "cannot take --bogus; usage: ./run test [--quick|--full|--peers]"),
        (["test", "--quick", "--full"], "cannot take --quick --full"),
        (["test", "--peers", "--full"], "cannot take --peers --full"),
        (["build", "--bogus"], "unknown option --bogus"),
        (["bench", "--bogus"], "unknown option --bogus; usage: ./run bench [name...]"),
        (["bench", "graph", "--peers"], "unknown option --peers; usage: ./run bench [name...]"),
        (["docs", "now"], "./run docs takes no arguments: got now"),
        (["format", "a b"], "./run format takes no arguments: got 'a b'"),
        (["peers", "x"], "./run peers takes no arguments: got x"),
    ],
)
def test_wrong_arguments_are_refused_before_any_work(arguments, message, capsys, monkeypatch):
    monkeypatch.setattr(process, "call", lambda *_, **__: pytest.fail("started a program"))
    assert run.main(arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["parity", "--bogus"], "./run parity: unrecognized arguments: --bogus"),
        (["golden", "nothing"], "./run golden: taeda/ops has no family 'nothing'"),
        (["bench", "--peers", "--sections", "tiny"], "./run bench --peers: argument --sections"),
    ],
)
def test_options_are_read_before_a_peer_is_installed(arguments, message, capsys, monkeypatch):
    monkeypatch.setattr(peers, "ensure_peers", lambda: pytest.fail("installed the peers"))
    with pytest.raises(SystemExit) as stopped:
        run.main(arguments)
    printed = capsys.readouterr().err
    assert stopped.value.code == 2 and message in printed and printed.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [[], ["help"], ["bench", "--help"], ["test", "-h"], ["test", "--peers", "-h"]]
)
def test_help(arguments, capsys):
    assert run.main(arguments) == 0
    assert capsys.readouterr().out == run.HELP


@pytest.mark.parametrize(
    ("arguments", "usage"),
    [(["parity", "--help"], "./run parity"), (["bench", "--peers", "-h"], "./run bench --peers")],
)
def test_help_of_programs(arguments, usage, capsys):
    with pytest.raises(SystemExit) as stopped:
        run.main(arguments)
    assert stopped.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: {usage} [-h]")


@pytest.mark.parametrize(
    "arguments", [["parity"], ["golden"], ["bench", "--peers"], ["test", "--peers"]]
)
def test_peers_that_cannot_be_installed_are_one_line(arguments, capsys, monkeypatch, tmp_path):
    def fail(*_, **__):
        raise process.StepError("exit status 1 from: pip install torch")

    monkeypatch.setattr(environment, "VENV", tmp_path)
    monkeypatch.setattr(environment, "ensure_environment", lambda: None)
    monkeypatch.setattr(environment, "check_call", fail)
    assert run.main(arguments) == 1
    message = (
        "PyTorch and the other peers cannot be installed: exit status 1 from: pip install torch"
    )
    assert capsys.readouterr().err == f"run {arguments[0]}: {message}\n"


def test_help_names_every_command():
    for name in run.COMMANDS:
        assert f"\n  {name} " in run.HELP


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (KeyboardInterrupt(), 130, "run demo: interrupted"),
        (process.StepError("no"), 1, "run demo: no"),
        (PermissionError(13, "Permission denied", "build"), 1, "Permission denied: 'build'"),
    ],
)
def test_failures_are_one_line(error, status, message, capsys, monkeypatch):
    def fail(_):
        raise error

    monkeypatch.setitem(run.COMMANDS, "demo", fail)
    assert run.main(["demo"]) == status
    printed = capsys.readouterr().err.strip()
    assert message in printed and "\n" not in printed


def test_an_environment_that_failed_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    folder = tmp_path / "venv"
    folder.mkdir()
    with pytest.raises(process.StepError, match="exit status"):
        environment.create_venv("false", folder)
    assert not folder.exists()


def test_without_rights_the_packages_to_install_are_named(monkeypatch):
    monkeypatch.setattr(environment, "_apt_prefix", lambda: None)
    required = {"some-compiler": "command no-such-command-here", "sh": "command sh"}
    optional = {"some-cache": "command no-such-cache-here"}
    with pytest.raises(process.StepError, match=r"apt-get install some-compiler some-cache$"):
        environment.install_system(required, optional)
