"""The size report counts lines by folder and finds files that are too long."""

import size_report


def test_counts_and_limits(tmp_path):
    folder = tmp_path / "taeda" / "base"
    folder.mkdir(parents=True)
    for name, count in {"a.h": 10, "b.cpp": 30, "c.cpp": 401, "d.py": 801}.items():
        (folder / name).write_text("x\n" * count)
    (folder / "README.md").write_text("x\n" * 5000)
    lines = size_report.count_lines(tmp_path)
    assert lines["taeda/base/b.cpp"] == 30
    assert len(lines) == 4
    assert size_report.over(lines, 400) == ["   801  taeda/base/d.py", "   401  taeda/base/c.cpp"]
    assert size_report.over(lines, 800) == ["   801  taeda/base/d.py"]
    total = size_report.table(lines).splitlines()[-1].split()
    assert total == ["4", "1242", "216", "801", "801", "total"]


def test_percentile_of_one_and_of_ten():
    assert size_report.percentile_90([7]) == 7
    assert size_report.percentile_90(list(range(1, 11))) == 9
