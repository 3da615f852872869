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
    with pytest.raises(ValueError, match="is not a valid estimator"):
        writer.add_histogram("x", values, bins="nonsense")


def test_histograms_by_a_rule_of_numpy(writer):
    writer.add_histogram("x", t.arange(100.0), bins="sturges")
    seen = fields(written(writer)["x"][0][1][5][0])
    assert doubles(seen[6][0]) == [99 / 8 * i for i in range(9)]  # 1 + log2(100) bins
    assert doubles(seen[7][0]) == [0, 13, 12, 13, 12, 12, 13, 12, 13]


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


def test_pictures_in_another_size(writer):
    from taeda.utils.tensorboard import summary

    value = fields(fields(summary.image("x", t.ones(3, 4, 6), 0.5, "CHW"))[1][0])
    message = fields(value[4][0])
    assert [message[i][0] for i in (1, 2, 3)] == [4, 6, 3]
    assert pixels(message[4][0]) == (3, 2, 3, [[255] * 9] * 2)


def test_boxes_are_drawn(writer):
    writer.add_image_with_boxes("boxes", t.zeros(3, 8, 10), t.tensor([[2.0, 3.0, 7.0, 6.0]]))
    (height, width, _), rows = image_of(writer, "boxes")
    assert (height, width) == (8, 10)
    reds = ["".join("#" if row[3 * x] else "." for x in range(10)) for row in rows]
    assert reds == [
        "..........",
        "..........",
        ".#######..",
        ".#######..",
        ".##...##..",
        ".#######..",
        ".#######..",
        "..........",
    ]
    assert all(row[1::3] == row[2::3] == [0] * 10 for row in rows)


def test_boxes_beyond_the_picture_are_cut_off(writer):
    writer.add_image_with_boxes("box", t.zeros(1, 4, 4), t.tensor([[-5, -5, 20, 20]]))
    assert image_of(writer, "box")[0] == (4, 4, 3)
    writer.add_image_with_boxes("none", t.zeros(1, 4, 4), t.zeros(0, 4), labels=["lost"])
    assert image_of(writer, "none")[1] == [[0] * 12] * 4


def test_labels_of_boxes(writer):
    picture, box = t.zeros(3, 40, 60), t.tensor([[10, 25, 50, 35]])
    try:
        import PIL  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match="Pillow"):
            writer.add_image_with_boxes("x", picture, box, labels="cat")
        return
    writer.add_image_with_boxes("with", picture, box, labels="cat")
    writer.add_image_with_boxes("without", picture, box)
    assert image_of(writer, "with") != image_of(writer, "without")


def unpacked(content):
    """The bytes that LZW with codes of 9 to 12 bits was made of."""
    bits, count, width = int.from_bytes(content, "little"), 0, 9
    table, previous, result = None, None, b""
    while True:
        code = bits >> count & (1 << width) - 1
        count += width
        if code == 257:
            return result
        if code == 256:
            table, previous, width = {i: bytes([i]) for i in range(256)}, None, 9
            continue
        if previous is not None and len(table) < 4096 - 2:
            start = table.get(code, previous)
            table[len(table) + 2] = previous + start[:1]
        previous = table[code]
        result += previous
        width = min(max((len(table) + 2).bit_length(), 9), 12)


def frames_of(gif):
    """(width, height, [colors of the pixels of each frame])"""
    assert gif[:6] == b"GIF89a" and gif[-1:] == b"\x3b"
    width, height, flags = struct.unpack_from("<HHB", gif, 6)
    place = 13 + 3 * (2 << (flags & 7))
    palette = [gif[13 + 3 * i : 16 + 3 * i] for i in range(256)]
    frames = []
    while gif[place] != 0x3B:
        is_image = gif[place] == 0x2C
        place += 11 if is_image else 2
        content = b""
        while size := gif[place]:
            content += gif[place + 1 : place + 1 + size]
            place += 1 + size
        place += 1
        if is_image:
            frames.append([palette[i] for i in unpacked(content)])
    return width, height, frames


def test_videos(writer):
    video = t.zeros(3, 2, 1, 2, 3)  # three of two frames, in two rows of two
    video[1, 0] = 1
    video[2, 1] = 0.5
    writer.add_video("film", video, 4, fps=5)
    ((step, value),) = written(writer)["film"]
    message = fields(value[4][0])
    assert step == 4 and [message[i][0] for i in (1, 2, 3)] == [4, 6, 3]
    width, height, frames = frames_of(message[4][0])
    black, grey, white = b"\0\0\0", b"\x7f\x7f\x7f", b"\xff\xff\xff"
    assert (width, height) == (6, 4) and len(frames) == 2
    assert frames[0] == [*[black] * 3, *[white] * 3] * 2 + [black] * 12
    assert frames[1] == [black] * 12 + [*[grey] * 3, *[black] * 3] * 2
    with pytest.raises(ValueError, match=r"expected \(N, T, C, H, W\)"):
        writer.add_video("film", t.zeros(2, 3, 4, 5))


def test_videos_of_many_colors(writer):
    video = t.randint(0, 256, (1, 2, 3, 60, 90), dtype=t.uint8)
    writer.add_video("film", video)
    _, _, frames = frames_of(fields(written(writer)["film"][0][1][4][0])[4][0])
    for frame, drawn in zip(video[0], frames):
        expected = frame.permute(1, 2, 0).flatten().int()
        found = t.tensor(list(b"".join(drawn)), dtype=t.int32)
        assert (expected - found).abs().max() <= 26  # half a level of six


def test_bodies(writer):
    corners = t.tensor([[[1.0, 1, 1], [-1, -1, 1], [1, -1, -1]]])
    colors, faces = t.tensor([[[255, 0, 0]] * 3]), t.tensor([[[0, 1, 2]]])
    writer.add_mesh("body", corners, colors, faces, {"camera": {"cls": "Perspective"}}, 3)
    seen = {}
    for _, event in events(writer.log_dir) if writer.flush() is None else ():
        for summary in event.get(5, []):
            for value in map(fields, fields(summary)[1]):
                seen[value[1][0].decode()] = value
    assert list(seen) == ["body_VERTEX", "body_FACE", "body_COLOR"]
    vertex = seen["body_VERTEX"]
    tensor, plugin = fields(vertex[8][0]), fields(fields(vertex[9][0])[1][0])
    assert floats(tensor[5][0]) == corners.flatten().tolist()
    assert [fields(dim)[1][0] for dim in fields(tensor[2][0])[2]] == [1, 3, 3]
    assert plugin[1] == [b"mesh"]
    content = fields(plugin[2][0])
    assert content[2] == [b"body"] and content[3] == [1] and content[7] == [2 + 4 + 8]
    assert content[5] == [b'{"camera": {"cls": "Perspective"}}'] and content[6] == [b"\1\3\3"]
    writer.add_mesh("cloud", corners)
    with pytest.raises(ValueError, match=r"expected \(batch, count, 3\): got \(3, 3\)"):
        writer.add_mesh("bad", corners[0])


def test_points_for_the_projector(writer):
    points = t.tensor([[0.5, 1.0], [2.0, -3.0], [0.0, 0.25]])
    pictures = t.arange(3.0).view(3, 1, 1, 1).expand(3, 1, 2, 1) / 2
    writer.add_embedding(points, ["a", "b", 3], pictures, 7, 'sp"it/ze')
    folder = writer.log_dir / "00007" / 'sp"it%2fze'
    assert (folder / "tensors.tsv").read_text() == "0.5\t1.0\n2.0\t-3.0\n0.0\t0.25\n"
    assert (folder / "metadata.tsv").read_text() == "a\nb\n3\n"
    width, height, channels, rows = pixels((folder / "sprite.png").read_bytes())
    assert (width, height, channels) == (2, 4, 3)
    assert [row[::3] for row in rows] == [[0, 127], [0, 127], [255, 0], [255, 0]]
    writer.add_embedding(points, [[1, 2], [3, 4], [5, 6]], metadata_header=["x", "y"])
    second = (writer.log_dir / "00000" / "default" / "metadata.tsv").read_text()
    assert second == "x\ty\n1\t2\n3\t4\n5\t6\n"
    assert (writer.log_dir / "projector_config.pbtxt").read_text() == (
        "embeddings {\n"
        '  tensor_name: "sp\\"it/ze:00007"\n'
        '  metadata_path: "00007/sp\\"it%2fze/metadata.tsv"\n'
        "  sprite {\n"
        '    image_path: "00007/sp\\"it%2fze/sprite.png"\n'
        "    single_image_dim: 1\n"
        "    single_image_dim: 2\n"
        "  }\n"
        '  tensor_path: "00007/sp\\"it%2fze/tensors.tsv"\n'
        "}\n"
        "embeddings {\n"
        '  tensor_name: "default:00000"\n'
        '  metadata_path: "00000/default/metadata.tsv"\n'
        '  tensor_path: "00000/default/tensors.tsv"\n'
        "}\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mat": t.ones(3)}, "mat should be 2D"),
        ({"mat": t.ones(3, 2), "metadata": ["a"]}, "#labels should equal"),
        ({"mat": t.ones(3, 2), "label_img": t.ones(2, 3, 4, 4)}, "#images should equal"),
        (
            {"mat": t.ones(1, 2), "metadata": [[1, 2]], "metadata_header": ["x"]},
            "len of header must be equal",
        ),
    ],
)
def test_points_that_do_not_fit(writer, arguments, message):
    with pytest.raises(AssertionError, match=message):
        writer.add_embedding(**arguments)


def onnx_file():
    """A model of ONNX: y = Gemm(x, w) with two attributes."""
    from taeda.utils.tensorboard import _protobuf as proto

    def value(name, *sizes):
        dims = b"".join(proto.data(1, proto.integer(1, size)) for size in sizes)
        tensor = proto.integer(1, 1) + proto.data(2, dims)
        return proto.text(1, name) + proto.data(2, proto.data(1, tensor))

    attributes = (
        proto.text(1, "alpha") + proto.single(2, 0.5),
        proto.text(1, "axes") + proto.integers(8, [1, -1]),
        proto.text(1, "mode") + proto.text(4, "linear"),
    )
    node = proto.text(1, "x") + proto.text(1, "w") + proto.text(2, "y") + proto.text(4, "Gemm")
    node += b"".join(proto.data(5, attribute) for attribute in attributes)
    graph = proto.data(1, node) + proto.text(2, "g")
    graph += proto.data(11, value("x", 2, 3)) + proto.data(12, value("y", 2))
    return proto.integer(1, 8) + proto.data(7, graph)


def test_graphs_of_onnx(writer, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx_file())
    writer.add_onnx_graph(path)
    writer.flush()
    (graph,) = (event[4][0] for _, event in events(writer.log_dir) if 4 in event)
    nodes = [fields(node) for node in fields(graph)[1]]
    assert [(node[1][0], node[2][0]) for node in nodes] == [
        (b"x", b"Variable"),
        (b"y", b"Variable"),
        (b"y", b"Gemm"),
    ]
    assert nodes[2][3] == [b"x", b"w"]
    assert b"alpha = 0.5, axes = [1, -1], mode = linear" in nodes[2][5][0]


def test_damaged_files_of_onnx(writer, tmp_path):
    path, whole = tmp_path / "model.onnx", onnx_file()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"damaged|cut off|has no graph"):
            writer.add_onnx_graph(path)


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
