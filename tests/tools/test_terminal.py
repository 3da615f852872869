"""Progress is a line that a terminal shows, and nothing elsewhere."""

import io

from driver.terminal import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_shows_the_latest_line(monkeypatch):
    monkeypatch.setenv("COLUMNS", "19")
    terminal = Terminal()
    progress = Progress(12, terminal)
    progress.show(3, "add")
    progress.show(4, "a name that is longer than a line")
    progress.clear()
    assert terminal.getvalue().split("\r\x1b[K") == ["", "[3/12] add", "[4/12] a name that", ""]


def test_a_file_stays_empty():
    file = io.StringIO()
    progress = Progress(12, file)
    progress.show(3, "add")
    progress.clear()
    assert file.getvalue() == ""
