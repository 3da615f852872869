"""Event files, read back by a reader of the tests' own."""

import errno
import os
import resource
import signal
import struct
import subprocess
import sys
import zlib

import pytest
from event_files import events, fields, records, summaries
from taeda.utils.tensorboard import SummaryWriter

import taeda as t


@pytest.fixture
def writer(tmp_path):
    with SummaryWriter(tmp_path / "run") as made:
        yield made


def written(writer):
    writer.flush()
    return summaries(writer.log_dir)


def doubles(data):
    return list(struct.unpack(f"<{len(data) // 8}d", data))


def floats(data):
    return list(struct.unpack(f"<{len(data) // 4}f", data))


def pixels(png):
    """(width, height, channels, the rows' bytes)"""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    place, data = 8, b""
    while place < len(png):
        (length,), kind = struct.unpack_from(">I", png, place), png[place + 4 : place + 8]
        content = png[place + 8 : place + 8 + length]
        assert struct.unpack_from(">I", png, place + 8 + length)[0] == zlib.crc32(kind + content)
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack_from(">IIBB", content)
            assert depth == 8
        if kind == b"IDAT":
            data += content
        place += 12 + length
    channels = {0: 1, 2: 3, 6: 4}[color]
    data, line = zlib.decompress(data), width * channels + 1
    rows = [data[line * i : line * (i + 1)] for i in range(height)]
    assert {row[0] for row in rows} == {0}
    return width, height, channels, [list(row[1:]) for row in rows]


def test_a_file_begins_with_its_version(writer):
    (_, first), *_ = events(writer.log_dir)
    assert first[3] == [b"brain.Event:2"] and first[1][0] > 1.7e9


def test_scalars(writer):
    for step in range(3):
        writer.add_scalar("loss", 0.5 * step, step)
    writer.add_scalar("tensor", t.tensor([[2.5]], requires_grad=True), 7, walltime=12.0)
    writer.add_scalar("large", 1e300)
    seen = written(writer)
    assert [(step, value[2][0]) for step, value in seen["loss"]] == [(0, 0.0), (1, 0.5), (2, 1.0)]
    assert seen["tensor"][0][0] == 7 and seen["tensor"][0][1][2] == [2.5]
    assert seen["large"][0][1][2] == [float("inf")]
    assert [event[1][0] for step, event in events(writer.log_dir) if step == 7] == [12.0]
    with pytest.raises(AssertionError, match="should contain one element"):
        writer.add_scalar("loss", t.zeros(2))


def test_scalars_as_tensors(writer):
    writer.add_scalar("x", 0.1, new_style=True, double_precision=True)
    ((_, value),) = written(writer)["x"]
    tensor = fields(value[8][0])
    assert tensor[1] == [2] and doubles(tensor[6][0]) == [0.1]
    assert fields(fields(value[9][0])[1][0])[1] == [b"scalars"]


def test_several_curves_have_files_of_their_own(writer):
    writer.add_scalars("group/x", {"a": 1.0, "b": 2.0}, 5)
    writer.flush()
    for name, number in (("a", 1.0), ("b", 2.0)):
        seen = summaries(writer.log_dir.parent / "run" / f"group_x_{name}")
        assert [(s, v[2]) for s, v in seen["group/x"]] == [(5, [number])]


def test_histograms(writer):
    values = t.tensor([-1.0, 0.0, 0.5, 0.5, 3.0])
    writer.add_histogram("limits", values, bins=[-2, -1, 0, 1, 2, 3])
    writer.add_histogram("number", values, bins=4)
    writer.add_histogram("default", values)
    writer.add_histogram("fewer", values, max_bins=20)
    seen = {tag: fields(value[5][0]) for tag, ((_, value),) in written(writer).items()}
    for histogram in seen.values():
        head = [histogram[i][0] for i in range(1, 6)]
        assert head == [-1.0, 3.0, 5.0, 3.0, 10.5]
        assert sum(doubles(histogram[7][0])) == 5
        assert len(histogram[7][0]) == len(histogram[6][0])
    assert doubles(seen["limits"][6][0]) == [-1, 0, 1, 2, 3]
    assert doubles(seen["limits"][7][0]) == [0, 1, 3, 0, 1]
    assert doubles(seen["number"][7][0]) == [0, 1, 3, 0, 1]
    assert len(seen["fewer"][7][0]) < len(seen["default"][7][0])
    with pytest.raises(ValueError, match="has no element"):
        writer.add_histogram("x", t.empty(0))
    with pytest.raises(ValueError, match="it can be 'tensorflow'"):
        writer.add_histogram("x", values, bins="doane")


def test_raw_histograms(writer):
    writer.add_histogram_raw("h", 0, 2, 3, 3.0, 5.0, [1, 2], [1, 2])
    ((_, value),) = written(writer)["h"]
    assert doubles(fields(value[5][0])[7][0]) == [1, 2]
    with pytest.raises(ValueError, match="bucket_limits"):
        writer.add_histogram_raw("h", 0, 2, 3, 3.0, 5.0, [1, 2], [1])


def image_of(writer, tag):
    ((_, value),) = written(writer)[tag]
    message = fields(value[4][0])
    width, height, channels, rows = pixels(message[4][0])
    assert [message[i][0] for i in (1, 2, 3)] == [height, width, channels]
    return (height, width, channels), rows


def test_images(writer):
    picture = t.tensor([[[0.0, 1.0]], [[0.5, 2.0]], [[-1.0, 0.2]]])  # (3, 1, 2)
    writer.add_image("floats", picture)
    assert image_of(writer, "floats") == ((1, 2, 3), [[0, 127, 0, 255, 255, 51]])
    writer.add_image("bytes", t.tensor([[1, 2], [3, 4]], dtype=t.uint8), dataformats="HW")
    assert image_of(writer, "bytes") == ((2, 2, 3), [[1] * 3 + [2] * 3, [3] * 3 + [4] * 3])
    writer.add_image("last", picture.permute(1, 2, 0), dataformats="HWC")
    assert image_of(writer, "last") == image_of(writer, "floats")
    with pytest.raises(AssertionError, match="size of input tensor and input format are diff"):
        writer.add_image("bad", picture, dataformats="HW")


def test_batches_of_images_are_a_grid(writer):
    batch = t.arange(9, dtype=t.uint8).view(9, 1, 1, 1).expand(9, 1, 2, 1)
    writer.add_images("grid", batch)
    (height, width, _), rows = image_of(writer, "grid")
    assert (height, width) == (4, 8)
    assert rows[0][::3] == list(range(8)) and rows[2][::3] == [8] + [0] * 7


def test_texts(writer):
    writer.add_text("note", "größer **than**", 2)
    ((step, value),) = written(writer)["note/text_summary"]
    tensor = fields(value[8][0])
    assert step == 2 and tensor[1] == [7] and tensor[8][0].decode() == "größer **than**"


def test_sound(writer):
    writer.add_audio("sound", t.tensor([0.0, 1.0, -1.0, 2.0]), sample_rate=8000)
    sound = fields(written(writer)["sound"][0][1][6][0])
    assert sound[1] == [8000.0] and sound[3] == [4]
    assert struct.unpack("<4h", sound[4][0][-8:]) == (0, 32767, -32767, 32767)


def test_tensors(writer):
    writer.add_tensor("x", t.tensor([[1, -2], [3, 4]]))
    tensor = fields(written(writer)["x"][0][1][8][0])
    assert tensor[1] == [9]
    assert [fields(dim)[1] for dim in fields(tensor[2][0])[2]] == [[2], [2]]
    assert tensor[10][0] == b"\x01" + b"\xfe" + b"\xff" * 8 + b"\x01" + b"\x03\x04"
    with pytest.raises(ValueError, match="unsupported tensor dtype"):
        writer.add_tensor("x", t.zeros(1, dtype=t.complex64))


def test_precision_and_recall(writer):
    writer.add_pr_curve(
        "pr", t.tensor([0, 1, 1, 0]), t.tensor([0.1, 0.9, 0.6, 0.7]), num_thresholds=3
    )
    tensor = fields(written(writer)["pr"][0][1][8][0])
    numbers = floats(tensor[5][0])
    tp, fp, tn, fn, precision, recall = (numbers[3 * i : 3 * i + 3] for i in range(6))
    # Thresholds 0, 1/2 and 1.
    assert (tp, fp, tn, fn) == ([2, 2, 0], [2, 1, 0], [0, 1, 2], [0, 0, 2])
    assert precision == pytest.approx([0.5, 2 / 3, 0]) and recall == [1, 1, 0]


def test_hyperparameters(writer):
    writer.add_hparams(
        {"lr": 0.1, "name": "sgd", "fast": True, "size": 3, "none": None},
        {"accuracy": 0.9},
        {"name": ["sgd", "adam"]},
        run_name="trial",
    )
    seen = summaries(writer.log_dir / "trial")

    def content(tag):
        metadata = fields(seen[f"_hparams_/{tag}"][0][1][9][0])
        plugin = fields(metadata[1][0])
        assert plugin[1] == [b"hparams"]
        return fields(plugin[2][0])

    start = fields(content("session_start_info")[3][0])
    values = {fields(entry)[1][0]: fields(fields(entry)[2][0]) for entry in start[1]}
    assert values == {
        b"lr": {2: [0.1]},
        b"name": {3: [b"sgd"]},
        b"fast": {4: [1]},
        b"size": {2: [3.0]},
    }
    experiment = fields(content("experiment")[2][0])
    assert len(experiment[4]) == 4 and len(experiment[5]) == 1
    assert fields(content("session_end_info")[4][0]) == {1: [1]}
    assert seen["accuracy"][0][1][2] == [pytest.approx(0.9)]
    with pytest.raises(TypeError, match="should be dictionary"):
        writer.add_hparams([], {})
    with pytest.raises(ValueError, match="value should be one of int"):
        writer.add_hparams({"x": []}, {})


class Net(t.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.ReLU())
        self.head = t.nn.Linear(4, 1)

    def forward(self, x):
        return self.head(self.body(x))


def test_graphs(writer):
    writer.add_graph(Net(), t.ones(2, 3))
    writer.flush()
    (graph,) = (event[4][0] for _, event in events(writer.log_dir) if 4 in event)
    nodes = {fields(node)[1][0].decode(): fields(node) for node in fields(graph)[1]}
    assert nodes["body/1/relu"][2] == [b"aten.relu.default"]
    assert nodes["body/1/relu"][3] == [b"body/0/linear"]
    with pytest.raises(ValueError, match="input_to_model is None"):
        writer.add_graph(Net())


def test_layouts_of_charts(writer):
    writer.add_custom_scalars_marginchart(["a", "b", "c"], "category", "title")
    tensor = fields(written(writer)["custom_scalars__config__"][0][1][8][0])
    category = fields(fields(tensor[8][0])[2][0])
    chart = fields(category[2][0])
    assert (category[1], chart[1]) == ([b"category"], [b"title"])
    assert fields(fields(chart[3][0])[1][0]) == {1: [b"a"], 2: [b"b"], 3: [b"c"]}
    with pytest.raises(AssertionError, match="Expected 3 tags"):
        writer.add_custom_scalars_marginchart(["a"])


def test_events_wait_in_the_queue(tmp_path):
    writer = SummaryWriter(tmp_path, max_queue=2)
    (path,) = tmp_path.iterdir()
    for step, count in ((0, 1), (1, 1), (2, 4)):
        writer.add_scalar("x", 1.0, step)
        assert len(records(path)[0]) == count
    writer.add_scalar("x", 1.0, 3)
    del writer  # what waits is written
    assert len(records(path)[0]) == 5


def test_a_writer_goes_on_after_it_was_closed(tmp_path):
    writer = SummaryWriter(tmp_path)
    writer.add_scalar("x", 1.0)
    writer.close()
    writer.add_scalar("x", 2.0)
    writer.close()
    assert len(list(tmp_path.iterdir())) == 2


def test_purging_says_where_a_run_starts_again(tmp_path):
    SummaryWriter(tmp_path, purge_step=5).close()
    (_, _), (version_step, _), (step, event) = events(tmp_path)
    assert (version_step, step) == (5, 5) and fields(event[7][0]) == {1: [1]}


def test_a_full_disk_leaves_whole_records(tmp_path):
    """A limit on the size of files stands for the disk."""
    writer = SummaryWriter(tmp_path)
    (path,) = tmp_path.iterdir()
    before = path.stat().st_size
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before + 100, limits[1]))
        writer.add_text("long", "x" * 1000)
        with pytest.raises(OSError) as raised:
            writer.flush()
        assert raised.value.errno == errno.EFBIG
        assert path.stat().st_size == before
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    writer.close()  # the text is written now
    assert len(records(path)[0]) == 2 and records(path)[1] == 0


PROGRAM = """
import os, signal, sys
from taeda.utils.tensorboard import SummaryWriter
writer = SummaryWriter(sys.argv[1], max_queue=0)
for step in range(50):
    writer.add_scalar("x", float(step), step)
{end}
"""


@pytest.mark.parametrize(
    "end", ["os.kill(os.getpid(), signal.SIGKILL)", "writer.add_text('a', 'b')"]
)
def test_a_process_that_ends_leaves_its_events(tmp_path, end):
    subprocess.run([sys.executable, "-c", PROGRAM.format(end=end), tmp_path], env=os.environ)
    (path,) = tmp_path.iterdir()
    found, left = records(path)
    assert len(found) == 51 + ("text" in end) and left == 0


def test_a_figure_is_an_image(writer):
    class Canvas:
        def draw(self):
            pass

        def buffer_rgba(self):
            return t.tensor([[[1, 2, 3, 255]]], dtype=t.uint8)

    class Figure:
        canvas = Canvas()

    writer.add_figure("figure", Figure(), close=False)
    assert image_of(writer, "figure") == ((1, 1, 3), [[1, 2, 3]])
