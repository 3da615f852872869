"""DataLoader: order, batches, seeds, workers and what they are told."""

import importlib
import os
import random
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from under_test import NAME, t

data = __import__(f"{NAME}.utils.data", fromlist=["data"])
mp = __import__(f"{NAME}.multiprocessing", fromlist=["mp"])
DataLoader, Dataset, IterableDataset = data.DataLoader, data.Dataset, data.IterableDataset

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:This DataLoader will create")]


class Squares(Dataset):
    def __init__(self, count=20):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if not 0 <= i < self.count:
            raise IndexError(i)
        return t.full((3,), float(i * i)), i


class Draws(Dataset):
    """What each random number generator gives in the process that loads."""

    def __len__(self):
        return 8

    def __getitem__(self, i):
        info = data.get_worker_info()
        drawn = t.rand(1).item(), random.random(), float(np.random.rand())
        return (-1 if info is None else info.id), *drawn


class Stream(IterableDataset):
    """Numbers from 0, dealt out to the workers."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        info = data.get_worker_info()
        start, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(start, self.count, step))


def numbers(loader):
    return [batch[1].tolist() for batch in loader]


class TestOrder:
    @pytest.mark.parametrize("workers", [0, 1, 2, 3])
    @pytest.mark.parametrize("prefetch", [1, 5])
    def test_of_the_sampler(self, workers, prefetch):
        options = {"prefetch_factor": prefetch} if workers else {}
        loader = DataLoader(Squares(), batch_size=3, num_workers=workers, **options)
        assert len(loader) == 7
        assert numbers(loader) == [list(range(i, min(i + 3, 20))) for i in range(0, 20, 3)]

    def test_drop_last(self):
        loader = DataLoader(Squares(), batch_size=3, drop_last=True, num_workers=2)
        assert len(loader) == 6 == len(numbers(loader))

    @pytest.mark.parametrize("workers", [1, 2])
    def test_of_a_shuffle_does_not_depend_on_workers(self, workers):
        def shuffled(count):
            t.manual_seed(3)
            return numbers(DataLoader(Squares(), batch_size=4, shuffle=True, num_workers=count))

        assert shuffled(workers) == shuffled(0) != [list(range(i, i + 4)) for i in range(0, 20, 4)]

    def test_of_a_generator(self):
        def shuffled(workers):
            generator = t.Generator().manual_seed(11)
            loader = DataLoader(
                Squares(), batch_size=5, shuffle=True, num_workers=workers, generator=generator
            )
            return [numbers(loader), numbers(loader)]

        first, second = shuffled(0)
        assert first != second and shuffled(2) == [first, second]

    def test_of_arrival(self):
        class Uneven(Dataset):
            def __len__(self):
                return 4

            def __getitem__(self, i):
                if i == 0:
                    event.wait(60)
                return i

        event = mp.get_context("fork").Event()
        loader = DataLoader(
            Uneven(),
            num_workers=2,
            in_order=False,
            prefetch_factor=2,
            multiprocessing_context="fork",
        )
        seen = []
        for batch in loader:
            seen.append(batch.item())
            if seen[-1] == 1:  # which is here while the first one is still to come
                event.set()
        assert sorted(seen) == [0, 1, 2, 3] and seen.index(1) < seen.index(0)

    @pytest.mark.parametrize("workers", [0, 2])
    def test_no_batches(self, workers):
        loader = DataLoader(Squares(4), batch_size=None, num_workers=workers)
        assert [(x.tolist(), i) for x, i in loader] == [([i * i] * 3, i) for i in range(4)]

    @pytest.mark.parametrize("workers", [0, 2])
    def test_batch_sampler_and_getitems(self, workers):
        class Whole(Squares):
            def __getitems__(self, indices):
                return [("whole", i) for i in indices]

        loader = DataLoader(Whole(), batch_sampler=[[3, 1], [2]], num_workers=workers)
        assert [(list(a), b.tolist()) for a, b in loader] == [
            (["whole", "whole"], [3, 1]),
            (["whole"], [2]),
        ]

    def test_large_indices_do_not_block(self):
        class Long(Dataset):
            def __getitem__(self, i):
                return t.zeros(50_000), len(i)

        keys = ["x" * 300_000] * 12
        loader = DataLoader(Long(), sampler=keys, batch_size=2, num_workers=1, prefetch_factor=6)
        assert [b.tolist() for _, b in loader] == [[300_000] * 2] * 6


class TestStreams:
    @pytest.mark.parametrize("persistent", [False, True])
    def test_of_different_lengths(self, persistent):
        loader = DataLoader(Stream(11), batch_size=2, num_workers=3, persistent_workers=persistent)
        for _ in range(2):
            seen = sorted(i for batch in loader for i in batch.tolist())
            assert seen == list(range(11))

    def test_take_turns(self):
        loader = DataLoader(Stream(7), batch_size=1, num_workers=2)
        assert [batch.item() for batch in loader] == list(range(7))

    def test_length_is_warned_about(self):
        class Liar(Stream):
            def __len__(self):
                return 3

        loader = DataLoader(Liar(5))
        assert len(loader) == 3
        with pytest.warns(UserWarning, match="was reported to be 3"):
            list(loader)


class TestSeeds:
    def test_differ_per_worker_and_repeat(self):
        def drawn():
            t.manual_seed(5)
            loader = DataLoader(Draws(), batch_size=None, num_workers=2)
            return [tuple(row) for row in loader]

        first = drawn()
        assert first == drawn()
        assert len({row[1:] for row in first}) == len(first)
        assert {row[0] for row in first} == {0, 1}

    def test_are_the_base_seed_and_the_number(self):
        class Seed(Dataset):
            def __len__(self):
                return 4

            def __getitem__(self, i):
                info = data.get_worker_info()
                return info.id, info.seed, t.initial_seed(), info.num_workers

        rows = [tuple(row) for row in DataLoader(Seed(), batch_size=None, num_workers=2)]
        base = rows[0][1]
        assert rows == [(i % 2, base + i % 2, base + i % 2, 2) for i in range(4)]

    @pytest.mark.skipif(NAME != "taeda", reason="a number of PyTorch's, found with it")
    def test_of_numpy_and_python_are_those_of_pytorch(self):
        from taeda.utils.data._utils.worker import seed_everything

        kept = np.random.get_state(), random.getstate()
        try:
            assert seed_everything(2**40 + 7, 3) == 2**40 + 10
            assert random.random() == random.Random(2**40 + 10).random()
            assert np.random.randint(1 << 30) == 336640570
        finally:
            np.random.set_state(kept[0])
            random.setstate(kept[1])


class TestWorkers:
    @pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
    def test_start_in_every_way(self, method):
        code = f"""
import {NAME} as t
from {NAME}.utils.data import DataLoader, TensorDataset
if __name__ == "__main__":
    rows = t.arange(12.0).view(6, 2)
    loader = DataLoader(TensorDataset(rows), 2, num_workers=2, multiprocessing_context="{method}")
    print([batch.tolist() for batch, in loader] == rows.view(3, 2, 2).tolist())
    print(all(batch.is_shared() for batch, in loader))
"""
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=120
        )
        assert done.stdout == "True\nTrue\n", done.stderr

    def test_stay_when_they_are_persistent(self):
        class Pid(Dataset):
            def __len__(self):
                return 6

            def __getitem__(self, i):
                return os.getpid()

        def pids(loader):
            return {int(pid) for pid in loader}

        staying = DataLoader(Pid(), num_workers=2, persistent_workers=True)
        assert pids(staying) == pids(staying)
        leaving = DataLoader(Pid(), num_workers=2)
        assert pids(leaving).isdisjoint(pids(leaving))

    def test_that_stay_begin_anew_after_a_break(self):
        loader = DataLoader(Squares(), num_workers=2, persistent_workers=True, prefetch_factor=3)
        for stop in (1, 4, 20):
            for count, (_, i) in enumerate(loader, 1):
                assert i.item() == count - 1
                if count == stop:
                    break
        assert [i.item() for _, i in loader] == list(range(20))

    def test_are_initialized(self):
        def note(i):
            data.get_worker_info().dataset.count = 100 + i

        class Count(Squares):
            def __getitem__(self, i):
                return self.count

        loader = DataLoader(Count(4), num_workers=2, worker_init_fn=note)
        assert [batch.item() for batch in loader] == [100, 101, 100, 101]

    def test_have_one_thread_and_a_name(self):
        class Own(Squares):
            def __getitem__(self, i):
                return t.get_num_threads(), mp._get_thread_name()

        (threads, names), *_ = DataLoader(Own(1), num_workers=1)
        assert threads.tolist() == [1] and list(names) == ["pt_data_worker"]

    def test_batches_outlive_them(self):
        batches = list(DataLoader(Squares(200), batch_size=2, num_workers=2))
        assert [i for _, n in batches for i in n.tolist()] == list(range(200))
        assert all((x[:, 0] == n * n).all() for x, n in batches)

    @pytest.mark.skipif(NAME != "taeda", reason="about the arenas of Taeda")
    def test_memory_is_used_again(self):
        from taeda.utils.data._transport import ArenaReader

        class Large(Squares):
            def __getitem__(self, i):
                return t.full((1 << 18,), float(i))

        loader = DataLoader(Large(60), num_workers=1)
        iterator = iter(loader)
        places = set()
        for batch in iterator:
            places.add(batch.data_ptr())
        assert len(places) <= 6 and isinstance(iterator._remotes[0].arena, ArenaReader)


class TestBatches:
    """Whatever a batch holds arrives as it was."""

    @staticmethod
    def through_a_worker(value):
        (got,) = DataLoader([value], batch_size=None, num_workers=1, collate_fn=lambda x: x)
        return got

    @pytest.mark.parametrize(
        "make",
        [
            lambda: t.arange(6).view(2, 3).t(),
            lambda: t.zeros(0, 3),
            lambda: t.tensor(4.5),
            lambda: t.arange(100)[7],
            lambda: t.ones(3, dtype=t.bfloat16),
            lambda: t.tensor([1 + 2j, 3j]).conj(),
            lambda: t.tensor([1 + 2j, 3j]).conj().imag,
            lambda: t.ones(2, 3, 4, 5).contiguous(memory_format=t.channels_last),
            lambda: t.ones(4, dtype=t.bool)[::2],
            lambda: t.ones(1, 3).expand(4, 3),
        ],
    )
    def test_tensors(self, make):
        sent = make()
        if NAME != "taeda" and (sent.is_conj() or sent.is_neg()):
            pytest.skip("PyTorch forgets the bits of conjugate and negative views")
        got = self.through_a_worker(make())
        assert got.dtype == sent.dtype and got.shape == sent.shape and t.equal(got, sent)
        assert got.is_conj() == sent.is_conj() and got.is_neg() == sent.is_neg()

    def test_leaves_and_parameters(self):
        leaf, parameter, fixed = self.through_a_worker(
            [
                t.ones(3, requires_grad=True),
                t.nn.Parameter(t.ones(2)),
                t.nn.Parameter(t.ones(2, dtype=t.int64), requires_grad=False),
            ]
        )
        assert leaf.requires_grad and leaf.is_leaf
        assert type(parameter) is t.nn.Parameter and parameter.requires_grad
        assert type(fixed) is t.nn.Parameter and not fixed.requires_grad

    def test_results_with_a_graph_are_refused(self):
        value = t.ones(3, requires_grad=True) * 2
        if NAME != "taeda":
            pytest.skip("PyTorch waits for such a batch without end")
        with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
            self.through_a_worker(value)

    def test_tensors_over_one_storage(self):
        whole = t.arange(4.0)
        first, second, again = self.through_a_worker([whole, whole[1:], whole])
        first[1] = 9
        assert second[0] == 9 and again is first

    def test_large_objects_without_tensors(self):
        value = {"text": "x" * 300_000, "array": np.arange(50_000), "many": list(range(9_000))}
        got = self.through_a_worker(value)
        assert got["text"] == value["text"] and got["many"] == value["many"]
        assert (got["array"] == value["array"]).all()

    def test_a_device_without_memory(self):
        got = self.through_a_worker(t.ones(3, 2, device="meta"))
        assert got.is_meta and got.shape == (3, 2)

    def test_storages(self):
        if NAME != "taeda":
            pytest.skip("PyTorch's typed storages warn")
        got = self.through_a_worker(t.tensor([1, 2], dtype=t.uint8).untyped_storage())
        assert got.tolist() == [1, 2] and got.is_shared()

    @pytest.mark.skipif(NAME != "taeda", reason="about the arenas of Taeda")
    def test_an_arena_that_is_full(self):
        from taeda.utils.data._transport import ArenaReader

        class Full:
            def send(self, storage):
                return None

            def send_tensor(self, tensor):
                return None

            def end_message(self):
                pass

        reader = ArenaReader()
        writer = reader.writer()
        writer.arena = Full()
        sent = [t.arange(5), t.ones(2).untyped_storage(), "x" * 100_000]
        numbers, storage, text = reader.load(*writer.dump(sent))
        assert numbers.tolist() == [0, 1, 2, 3, 4] and numbers.is_shared()
        assert storage.nbytes() == 8 and text == sent[2]
        reader.close()

    def test_many_small_tensors(self):
        got = self.through_a_worker([t.tensor(i) for i in range(3000)])
        assert [int(x) for x in got] == list(range(3000))


class TestIterators:
    @pytest.mark.parametrize("workers", [0, 2])
    def test_are_of_pytorchs_classes(self, workers):
        module = importlib.import_module(f"{NAME}.utils.data.dataloader")
        kind = "_MultiProcessingDataLoaderIter" if workers else "_SingleProcessDataLoaderIter"
        iterator = iter(DataLoader(Squares(), num_workers=workers))
        assert type(iterator) is getattr(module, kind)
        assert isinstance(iterator, module._BaseDataLoaderIter)
        assert type(iterator).__module__ == module.__name__

    @pytest.mark.parametrize("workers", [0, 1])
    def test_count_their_batches(self, workers):
        iterator = iter(DataLoader(Squares(8), batch_size=2, num_workers=workers))
        counts = [iterator._num_yielded]
        counts += [iterator._num_yielded for _ in iterator]
        assert counts == [0, 1, 2, 3, 4]

    @pytest.mark.parametrize("dataset", [Squares(400), Stream(400)])
    @pytest.mark.parametrize("workers", [0, 1])
    def test_threads_get_each_batch_once(self, dataset, workers):
        if NAME == "torch":
            pytest.skip("no lock keeps PyTorch's threads apart")
        iterator = iter(DataLoader(dataset, num_workers=workers))
        got, errors = [], []

        def take():
            try:
                got.extend(
                    int(batch if isinstance(batch, t.Tensor) else batch[1]) for batch in iterator
                )
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert sorted(got) == list(range(400)) and iterator._num_yielded == 400


class TestRefusals:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"num_workers": -1}, "num_workers option should be non-negative"),
            ({"timeout": -1}, "timeout option should be non-negative"),
            ({"prefetch_factor": 2}, "prefetch_factor option could only be specified in"),
            ({"num_workers": 1, "prefetch_factor": -2}, "prefetch_factor option should be non-neg"),
            ({"persistent_workers": True}, "persistent_workers option needs num_workers > 0"),
            ({"shuffle": True, "sampler": [1]}, "mutually exclusive with shuffle"),
            ({"batch_sampler": [[1]], "drop_last": True}, "batch_sampler option is mutually excl"),
            ({"batch_size": None, "drop_last": True}, "disables auto-batching"),
            ({"batch_size": 0}, "batch_size should be a positive integer value"),
            ({"multiprocessing_context": "fork"}, "can only be used with multi-process loading"),
            (
                {"multiprocessing_context": "bad", "num_workers": 1},
                "should specify a valid start method",
            ),
        ],
    )
    def test_of_options(self, options, message):
        with pytest.raises(ValueError, match=message):
            DataLoader(Squares(), **options)

    def test_of_options_of_streams(self):
        for options in ({"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}):
            (name,) = options
            with pytest.raises(ValueError, match=f"expected unspecified {name} option"):
                DataLoader(Stream(3), **options)

    def test_of_attributes(self):
        loader = DataLoader(Squares())
        with pytest.raises(ValueError, match="batch_size attribute should not be set after"):
            loader.batch_size = 3

    def test_pinned_memory_without_an_accelerator(self):
        with pytest.warns(UserWarning, match="no accelerator is found"):
            batches = list(DataLoader(Squares(3), pin_memory=True, num_workers=1))
        assert not batches[0][0].is_pinned()

    def test_more_workers_than_processors(self):
        with pytest.warns(UserWarning, match="suggested max number of worker"):
            DataLoader(Squares(), num_workers=1000)

    def test_an_iterator_has_no_pickle(self):
        import pickle

        with pytest.raises(NotImplementedError):
            pickle.dumps(iter(DataLoader(Squares())))


def test_loading_says_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert len(list(DataLoader(Squares(), num_workers=1))) == 20


def test_many_tensors_as_one_vector():
    utils = importlib.import_module(f"{NAME}._utils")
    tensors = [t.arange(6.0).view(2, 3), t.ones(2), t.empty(0, 4)]
    flat = utils._flatten_dense_tensors(tensors)
    parts = utils._unflatten_dense_tensors(flat, tensors)
    assert [p.tolist() for p in parts] == [x.tolist() for x in tensors]
    assert parts[1].data_ptr() == flat.data_ptr() + 24 and parts[2].shape == (0, 4)
    given = [t.ones(2), t.ones(3, dtype=t.int64), t.ones(3), t.ones(100), t.ones(1)]
    groups = [[x.numel() for x in group] for group in utils._take_tensors(given, 20)]
    assert groups == [[2, 3], [100], [1], [3]]
