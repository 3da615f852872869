"""Datasets, samplers and collating."""

import collections
import pickle

import numpy as np
import pytest
from under_test import NAME, t

data = __import__(f"{NAME}.utils.data", fromlist=["data"])
collate = data._utils.collate


class Stream(data.IterableDataset):
    def __init__(self, *values):
        self.values = values

    def __iter__(self):
        return iter(self.values)

    def __len__(self):
        return len(self.values)


class TestDatasets:
    def test_tensors(self):
        rows = data.TensorDataset(t.arange(6).view(3, 2), t.arange(3))
        assert len(rows) == 3 and [x.tolist() for x in rows[1]] == [[2, 3], 1]
        with pytest.raises(AssertionError, match="Size mismatch between tensors"):
            data.TensorDataset(t.zeros(2), t.zeros(3))

    def test_stack(self):
        both = data.StackDataset(a=[1, 2, 3], b="xyz")
        assert both[1] == {"a": 2, "b": "y"} and len(both) == 3
        assert both.__getitems__([2, 0]) == [{"a": 3, "b": "z"}, {"a": 1, "b": "x"}]
        assert data.StackDataset([1, 2], [3, 4]).__getitems__([1]) == [(2, 4)]
        with pytest.raises(ValueError, match="Size mismatch between datasets"):
            data.StackDataset([1], [1, 2])
        with pytest.raises(ValueError, match="At least one dataset"):
            data.StackDataset()
        with pytest.raises(ValueError, match="both types are given"):
            data.StackDataset([1], a=[1])

    def test_concatenation(self):
        rows = data.TensorDataset(t.arange(2)) + data.TensorDataset(t.arange(2, 5))
        assert [int(rows[i][0]) for i in (*range(5), -1, -5)] == [0, 1, 2, 3, 4, 4, 0]
        assert rows.cumulative_sizes == [2, 5]
        with pytest.raises(ValueError, match="absolute value of index"):
            rows[-6]
        with pytest.raises(IndexError):
            rows[5]
        with pytest.raises(AssertionError, match="does not support IterableDataset"):
            data.ConcatDataset([Stream(1)])
        with pytest.warns(FutureWarning, match="renamed to `cumulative_sizes`"):
            assert rows.cummulative_sizes == [2, 5]

    def test_chain(self):
        both = Stream(1, 2) + Stream(3)
        assert list(both) == [1, 2, 3] and len(both) == 3
        with pytest.raises(AssertionError, match="only supports IterableDataset"):
            list(data.ChainDataset([[1]]))

    def test_subset(self):
        part = data.Subset("abcdef", [5, 0, 2])
        assert [part[i] for i in range(3)] == ["f", "a", "c"]
        assert part.__getitems__([2, 0]) == ["c", "f"] and len(part) == 3

    def test_no_getitem(self):
        with pytest.raises(NotImplementedError, match="should implement __getitem__"):
            data.Dataset()[0]

    def test_random_split(self):
        a, b, c = data.random_split(range(10), [0.5, 0.3, 0.2])
        assert (len(a), len(b), len(c)) == (5, 3, 2)
        assert sorted([*a, *b, *c]) == list(range(10))
        assert [len(p) for p in data.random_split(range(7), [0.5, 0.5])] == [4, 3]
        with pytest.raises(ValueError, match="Sum of input lengths does not equal"):
            data.random_split(range(3), [1, 1])
        with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
            data.random_split(range(1), [0.5, 0.5])

    def test_a_split_of_a_seed(self):
        def split():
            return data.random_split(range(9), [4, 5], generator=t.Generator().manual_seed(1))

        assert [list(part) for part in split()] == [list(part) for part in split()]


class TestSamplers:
    def test_random(self):
        assert sorted(data.RandomSampler(range(50))) == list(range(50))
        drawn = list(data.RandomSampler(range(5), replacement=True, num_samples=100))
        assert len(drawn) == 100 and set(drawn) == set(range(5))
        more = list(data.RandomSampler(range(5), num_samples=12))
        assert sorted(more[:5]) == sorted(more[5:10]) == list(range(5)) and len(more) == 12
        with pytest.raises(TypeError, match="replacement should be a boolean"):
            data.RandomSampler(range(5), replacement=1)
        with pytest.raises(ValueError, match="num_samples should be a positive integer"):
            data.RandomSampler(range(0))

    def test_subset(self):
        assert sorted(data.SubsetRandomSampler([7, 3, 9])) == [3, 7, 9]

    def test_weights(self):
        drawn = list(data.WeightedRandomSampler([0.0, 1.0, 3.0], 4000))
        counts = collections.Counter(drawn)
        assert counts[0] == 0 and 2.5 < counts[2] / counts[1] < 3.6
        assert sorted(data.WeightedRandomSampler([1, 2, 3], 3, replacement=False)) == [0, 1, 2]
        for bad in (
            {"num_samples": 0},
            {"num_samples": True},
            {"num_samples": 1, "replacement": 0},
        ):
            with pytest.raises(ValueError):
                data.WeightedRandomSampler([1.0], **bad)
        with pytest.raises(ValueError, match="weights should be a 1d sequence"):
            data.WeightedRandomSampler([[1.0]], 1)

    def test_batches(self):
        assert list(data.BatchSampler(range(7), 3, False)) == [[0, 1, 2], [3, 4, 5], [6]]
        dropped = data.BatchSampler(range(7), 3, True)
        assert list(dropped) == [[0, 1, 2], [3, 4, 5]] and len(dropped) == 2
        assert len(data.BatchSampler(range(7), 3, False)) == 3

    @pytest.mark.parametrize("size", [2, 9, 10, 11])
    @pytest.mark.parametrize("drop_last", [False, True])
    @pytest.mark.parametrize("shuffle", [False, True])
    def test_distributed(self, size, drop_last, shuffle):
        samplers = [
            data.DistributedSampler(
                range(size), num_replicas=3, rank=rank, shuffle=shuffle, drop_last=drop_last
            )
            for rank in range(3)
        ]
        shares = [list(sampler) for sampler in samplers]
        assert len({len(share) for share in shares}) == 1
        assert [len(sampler) for sampler in samplers] == [len(share) for share in shares]
        seen = [i for share in shares for i in share]
        if drop_last:
            assert len(set(seen)) == len(seen) == size // 3 * 3
        else:
            assert set(seen) == set(range(size)) and len(seen) - size < 3

    def test_epochs_of_distributed(self):
        sampler = data.DistributedSampler(range(30), num_replicas=2, rank=1, seed=4)
        first = list(sampler)
        assert first == list(sampler)
        sampler.set_epoch(1)
        assert list(sampler) != first
        with pytest.raises(ValueError, match="Invalid rank 2, rank should be in the interval"):
            data.DistributedSampler(range(3), num_replicas=2, rank=2)


Point = collections.namedtuple("Point", "x y")


class Named(dict):
    """A mapping with more than elements."""

    def __init__(self, *args, note=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.note = note


class TestCollate:
    def test_values(self):
        join = data.default_collate
        assert t.equal(join([t.ones(2), t.zeros(2)]), t.tensor([[1.0, 1.0], [0.0, 0.0]]))
        assert join([1, 2]).dtype == t.int64 and join([1.0, 2.0]).dtype == t.float64
        assert join([True, False]).tolist() == [True, False]
        assert join(["a", b"b"]) == ["a", b"b"]
        assert join([np.float32(1), np.float32(2)]).dtype == t.float32
        assert join([np.ones(2), np.zeros(2)]).shape == (2, 2)
        assert join([np.float64(1.5)]).tolist() == [1.5]

    def test_containers(self):
        join = data.default_collate
        assert join([(1, "a"), (2, "b")])[1] in (["a", "b"], ("a", "b"))
        assert [x.tolist() for x in join([[1, 2], [3, 4]])] == [[1, 3], [2, 4]]
        point = join([Point(1, 2), Point(3, 4)])
        assert type(point) is Point and point.y.tolist() == [2, 4]
        named = join([Named({"a": 1}, note="n"), Named({"a": 2})])
        assert type(named) is Named and named.note == "n" and named["a"].tolist() == [1, 2]
        assert join([{"a": [1]}, {"a": [2]}])["a"][0].tolist() == [1, 2]
        assert [x.tolist() for x in join([range(2), range(2)])] == [[0, 0], [1, 1]]

    def test_refusals(self):
        with pytest.raises(TypeError, match="batch must contain tensors, numpy arrays, numbers"):
            data.default_collate([object()])
        with pytest.raises(TypeError, match="found <U1"):
            data.default_collate([np.array(["a"])])
        with pytest.raises(RuntimeError, match="each element in list of batch should be of equal"):
            data.default_collate([[1], [1, 2]])
        with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
            data.default_collate([t.ones(1), t.ones(2)])

    def test_functions_of_ones_own(self):
        class Item:
            pass

        def count(batch, *, collate_fn_map):
            return len(batch)

        known = {**collate.default_collate_fn_map, Item: count}
        joined = collate.collate([(Item(), 1), (Item(), 2)], collate_fn_map=known)
        assert joined[0] == 2 and joined[1].tolist() == [1, 2]

    def test_conversion(self):
        convert = data.default_convert
        kept = t.ones(1)
        assert convert(kept) is kept and convert("a") == "a" and convert(3) == 3
        assert t.equal(convert(np.arange(2)), t.arange(2))
        assert convert((np.ones(1), 2))[1] == 2 and isinstance(convert((1,)), list)
        assert type(convert(Point(np.ones(1), 1))) is Point
        assert isinstance(convert(np.array(["a"])), np.ndarray)
        named = convert(Named({"a": np.ones(2)}, note="n"))
        assert named.note == "n" and t.is_tensor(named["a"])


@pytest.mark.skipif(NAME != "taeda", reason="classes of Taeda's own")
class TestTokenFile:
    def test_windows(self, tmp_path):
        path = tmp_path / "tokens.bin"
        np.arange(11, dtype=np.uint16).tofile(path)
        tokens = data.TokenFile(path, 4)
        assert len(tokens) == 2 and tokens.num_tokens == 11
        x, y = tokens[1]
        assert x.tolist() == [4, 5, 6, 7] and y.tolist() == [5, 6, 7, 8] and x.dtype == t.int64
        assert tokens[-1][0].tolist() == [4, 5, 6, 7]
        overlapping = data.TokenFile(path, 4, stride=3)
        assert [x.tolist()[0] for x, _ in (overlapping[i] for i in range(len(overlapping)))] == [
            0,
            3,
            6,
        ]
        for i in (2, -3):
            with pytest.raises(IndexError):
                tokens[i]

    def test_a_pickle_holds_the_path_alone(self, tmp_path):
        path = tmp_path / "tokens.bin"
        np.arange(100_000, dtype=np.int32).tofile(path)
        tokens = data.TokenFile(path, 8, dtype=t.int32)
        text = pickle.dumps(tokens)
        assert len(text) < 1000
        assert pickle.loads(text)[12_000][0].tolist() == list(range(96_000, 96_008))

    def test_in_workers(self, tmp_path):
        path = tmp_path / "tokens.bin"
        np.arange(1000, dtype=np.uint16).tofile(path)
        loader = data.DataLoader(data.TokenFile(path, 9), batch_size=10, num_workers=2)
        starts = [i for x, _ in loader for i in x[:, 0].tolist()]
        assert starts == list(range(0, 991, 9))

    def test_refusals(self, tmp_path):
        path = tmp_path / "tokens.bin"
        path.write_bytes(b"abc")
        with pytest.raises(ValueError, match="has 3 bytes, which is no number of"):
            data.TokenFile(path, 4)
        path.write_bytes(b"abcdefgh")
        with pytest.raises(
            ValueError, match="has 4 tokens and ends at byte 8; a window and its next token need 5"
        ):
            data.TokenFile(path, 4)
        with pytest.raises(ValueError, match="block_size should be at least 1"):
            data.TokenFile(path, 0)
        with pytest.raises(FileNotFoundError):
            data.TokenFile(tmp_path / "none", 4)


@pytest.mark.skipif(NAME != "taeda", reason="classes of Taeda's own")
class TestImageFolder:
    @staticmethod
    def write(path, width, height, value, magic=b"P6", comment=b""):
        path.parent.mkdir(parents=True, exist_ok=True)
        channels = 3 if magic == b"P6" else 1
        size = b"%d %d\n255\n" % (width, height)
        path.write_bytes(
            magic + b"\n" + comment + size + bytes([value]) * width * height * channels
        )

    def test_classes_are_folders(self, tmp_path):
        self.write(tmp_path / "cat" / "deep" / "b.ppm", 3, 2, 9)
        self.write(tmp_path / "cat" / "a.ppm", 3, 2, 7, comment=b"# a note\n")
        self.write(tmp_path / "ant" / "c.pgm", 4, 4, 5, b"P5")
        (tmp_path / "ant" / "notes.txt").write_text("no picture")
        pictures = data.ImageFolder(tmp_path)
        assert pictures.classes == ["ant", "cat"] and pictures.targets == [0, 1, 1]
        image, target = pictures[1]
        assert image.shape == (3, 2, 3) and image.dtype == t.uint8 and target == 1
        assert image.unique().tolist() == [7] and pictures[0][0].shape == (1, 4, 4)

    def test_pixels_lie_as_in_the_file(self, tmp_path):
        path = tmp_path / "a" / "x.ppm"
        path.parent.mkdir()
        path.write_bytes(b"P6 2 1 255\n" + bytes([1, 2, 3, 4, 5, 6]))
        image, _ = data.ImageFolder(tmp_path)[0]
        assert image.tolist() == [[[1, 4]], [[2, 5]], [[3, 6]]]

    def test_transforms(self, tmp_path):
        self.write(tmp_path / "a" / "x.ppm", 2, 2, 255)
        pictures = data.ImageFolder(tmp_path, lambda image: image / 255, lambda i: i + 10)
        image, target = pictures[0]
        assert image.max() == 1.0 and target == 10

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"P6",
            b"P3 1 1 255\n0 0 0",
            b"P6 1 1 65535\n123456",
            b"P6 2 2 255\nabc",
            b"P6 x 1 255\n",
        ],
    )
    def test_files_that_are_no_pictures(self, tmp_path, content):
        path = tmp_path / "a" / "x.ppm"
        path.parent.mkdir()
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"x\.ppm"):
            data.ImageFolder(tmp_path)[0]

    def test_folders_without_pictures(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="Couldn't find any class folder"):
            data.ImageFolder(tmp_path)
        (tmp_path / "empty").mkdir()
        with pytest.raises(FileNotFoundError, match="Found no valid file for the classes empty"):
            data.ImageFolder(tmp_path)

    def test_other_kinds_need_pillow(self, tmp_path, monkeypatch):
        path = tmp_path / "a" / "x.png"
        path.parent.mkdir()
        path.write_bytes(b"")
        monkeypatch.setitem(__import__("sys").modules, "PIL", None)
        with pytest.raises(ImportError, match="pip install pillow"):
            data.ImageFolder(tmp_path)[0]

    def test_with_pillow(self, tmp_path):
        image_module = pytest.importorskip("PIL.Image")
        (tmp_path / "a").mkdir()
        image_module.new("RGB", (3, 2), (1, 2, 3)).save(tmp_path / "a" / "x.png")
        image, _ = data.ImageFolder(tmp_path)[0]
        assert image.shape == (3, 2, 3) and image[:, 0, 0].tolist() == [1, 2, 3]
