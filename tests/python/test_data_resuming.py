"""state_dict and load_state_dict of a DataLoader: going on inside an epoch."""

import pickle

import pytest
from taeda.utils.data import (
    DataLoader,
    IterableDataset,
    RandomSampler,
    SubsetRandomSampler,
    get_worker_info,
)

import taeda as t

pytestmark = pytest.mark.slow


class Stream(IterableDataset):
    """Numbers of a worker's share; how many were read is counted."""

    def __init__(self, count):
        self.count = count
        self.reads = 0

    def __iter__(self):
        info = get_worker_info()
        for i in range(self.count):
            if info is None or i % info.num_workers == info.id:
                self.reads += 1
                yield i


class StatefulStream(Stream):
    """One that knows its place, and says with each sample how many it has read."""

    def __init__(self, count):
        super().__init__(count)
        self.place = 0

    def __iter__(self):
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        reads = 0
        while first + self.place * step < self.count:
            self.place += 1
            reads += 1
            yield first + (self.place - 1) * step, reads
        self.place = 0

    def state_dict(self):
        return {"place": self.place}

    def load_state_dict(self, state):
        self.place = state["place"]


def rest_after(make, count):
    """A whole epoch, and one that stops after `count` batches and goes on in a new loader."""
    t.manual_seed(7)
    whole = [batch.tolist() for batch in make()]
    t.manual_seed(7)
    loader = make()
    iterator = iter(loader)
    first = [next(iterator).tolist() for _ in range(count)]
    state = pickle.loads(pickle.dumps(loader.state_dict()))
    del iterator
    t.manual_seed(99)
    resumed = make()
    resumed.load_state_dict(state)
    return whole, first + [batch.tolist() for batch in resumed]


WORKERS = pytest.mark.parametrize("workers", [0, 1, 2])
COUNTS = pytest.mark.parametrize("count", [0, 1, 4, 10])


class TestMaps:
    @WORKERS
    @COUNTS
    @pytest.mark.parametrize("options", [{}, {"shuffle": True}])
    def test_go_on_in_order(self, workers, count, options):
        data = t.arange(40).split(1)
        make = lambda: DataLoader(data, batch_size=4, num_workers=workers, **options)
        whole, stitched = rest_after(make, count)
        assert stitched == whole

    @WORKERS
    @pytest.mark.parametrize(
        "sampler",
        [
            lambda data: RandomSampler(data, replacement=True, num_samples=40),
            lambda data: SubsetRandomSampler(range(40)),
        ],
    )
    def test_with_samplers(self, workers, sampler):
        data = t.arange(40).split(1)
        whole, stitched = rest_after(
            lambda: DataLoader(data, 4, sampler=sampler(data), num_workers=workers), 3
        )
        assert stitched == whole

    def test_with_a_generator_of_its_own(self):
        data = list(range(20))

        def make():
            generator = t.Generator().manual_seed(5)
            return DataLoader(data, 2, shuffle=True, generator=generator)

        loader = make()
        first_epoch = [batch.tolist() for batch in loader]
        iterator = iter(loader)
        second = [next(iterator).tolist() for _ in range(3)]
        state = loader.state_dict()
        second += [batch.tolist() for batch in iterator]
        third = [batch.tolist() for batch in loader]

        resumed = make()
        resumed.load_state_dict(state)
        assert [batch.tolist() for batch in resumed] == second[3:] != first_epoch[3:]
        assert [batch.tolist() for batch in resumed] == third

    def test_the_default_generator_is_left_alone(self):
        loader = DataLoader(list(range(20)), shuffle=True)
        iterator = iter(loader)
        next(iterator)
        state = loader.state_dict()
        t.manual_seed(3)
        before = t.get_rng_state()
        loader.load_state_dict(state)
        iter(loader)
        assert t.equal(t.get_rng_state(), before)

    @pytest.mark.parametrize("workers", [0, 2])
    def test_a_state_is_used_once(self, workers):
        loader = DataLoader(list(range(8)), num_workers=workers)
        iterator = iter(loader)
        next(iterator), next(iterator)
        loader.load_state_dict(loader.state_dict())
        assert [batch.item() for batch in loader] == list(range(2, 8))
        assert [batch.item() for batch in loader] == list(range(8))

    @WORKERS
    def test_after_a_break(self, workers):
        loader = DataLoader(list(range(8)), num_workers=workers)
        for batch in loader:
            if batch.item() == 4:
                break
        assert loader.state_dict()["num_yielded"] == 5
        loader.load_state_dict(loader.state_dict())
        assert [batch.item() for batch in loader] == [5, 6, 7]

    def test_workers_that_stay(self):
        loader = DataLoader(list(range(9)), num_workers=2, persistent_workers=True)
        iterator = iter(loader)
        for _ in range(4):
            next(iterator)
        state = loader.state_dict()
        assert [batch.item() for batch in loader] == list(range(9))
        loader.load_state_dict(state)
        assert [batch.item() for batch in loader] == list(range(4, 9))

    @pytest.mark.parametrize("is_used", [False, True])
    @pytest.mark.parametrize("epoch", [0, 1])
    def test_the_order_of_workers_that_stay(self, epoch, is_used):
        def made():
            return DataLoader(
                list(range(12)), shuffle=True, batch_size=3, num_workers=1, persistent_workers=True
            )

        t.manual_seed(4)
        loader = made()
        for _ in range(epoch):
            list(loader)
        iterator = iter(loader)
        next(iterator)
        state = loader.state_dict()
        rest = [batch.tolist() for batch in iterator]
        other = made()
        if is_used:
            list(other)
        other.load_state_dict(state)
        assert [batch.tolist() for batch in other] == rest

    def test_batches_keep_their_workers(self):
        class Worker(t.utils.data.Dataset):
            def __len__(self):
                return 9

            def __getitem__(self, i):
                return get_worker_info().id

        loader = DataLoader(Worker(), num_workers=2)
        iterator = iter(loader)
        for _ in range(3):
            next(iterator)
        state = loader.state_dict()
        rest = [batch.item() for batch in iterator]
        loader.load_state_dict(state)
        assert [batch.item() for batch in loader] == rest == [1, 0, 1, 0, 1, 0]


class TestBetweenEpochs:
    @pytest.mark.parametrize("workers", [0, 2])
    def test_the_next_one_is_whole(self, workers):
        loader = DataLoader(list(range(6)), num_workers=workers)
        assert loader.state_dict()["num_yielded"] == 0
        list(loader)
        state = loader.state_dict()
        assert state["num_yielded"] == 0
        loader.load_state_dict(state)
        assert [batch.item() for batch in loader] == list(range(6))


class TestStreams:
    @WORKERS
    @COUNTS
    def test_are_read_again(self, workers, count):
        make = lambda: DataLoader(Stream(40), batch_size=4, num_workers=workers)
        whole, stitched = rest_after(make, count)
        assert stitched == whole

    @WORKERS
    @pytest.mark.parametrize("count", [1, 4, 7])
    def test_that_know_their_place_are_not(self, workers, count):
        def make():
            return DataLoader(StatefulStream(20), batch_size=None, num_workers=workers)

        whole = [value for value, _ in make()]
        loader = make()
        iterator = iter(loader)
        first = [next(iterator)[0] for _ in range(count)]
        state = pickle.loads(pickle.dumps(loader.state_dict()))
        resumed = make()
        resumed.load_state_dict(state)
        rest = list(resumed)
        assert first + [value for value, _ in rest] == whole == list(range(20))
        assert rest[0][1] == 1  # the first that its process has read

    # A stream that begins anew when it ends says so with its last batch already, where that one is
    # not full. Shares of 4, 4 and 3 samples of 11 give all kinds of ends.
    @pytest.mark.filterwarnings("ignore:IterableDataset .* gave nothing")
    @pytest.mark.parametrize("drop_last", [False, True])
    @pytest.mark.parametrize("in_order", [True, False])
    @pytest.mark.parametrize(
        ("workers", "stays"),
        [(0, False), (1, False), (1, True), (2, False), (2, True), (3, False), (3, True)],
    )
    @pytest.mark.parametrize("batch_size", [2, 3])
    def test_go_on_from_every_place(self, batch_size, workers, stays, in_order, drop_last):
        def make():
            return DataLoader(
                StatefulStream(11),
                batch_size=batch_size,
                num_workers=workers,
                persistent_workers=stays,
                in_order=in_order,
                drop_last=drop_last,
                collate_fn=lambda samples: [value for value, _ in samples],
            )

        def compared(batches):
            return batches if in_order else sorted(batches)

        whole = list(make())
        for count in range(len(whole) + 1):
            loader = make()
            iterator = iter(loader)
            first = [next(iterator) for _ in range(count)]
            state = pickle.loads(pickle.dumps(loader.state_dict()))
            del iterator
            for resumed in (loader, make()) if stays else (make(),):
                resumed.load_state_dict(state)
                assert compared(first + list(resumed)) == compared(whole), count
                assert compared(list(resumed)) == compared(whole), count

    def test_a_state_of_a_resumed_epoch(self):
        make = lambda: DataLoader(StatefulStream(11), batch_size=None, num_workers=2)
        whole = [value for value, _ in make()]
        seen, state = [], None
        for _ in whole:
            loader = make()
            if state is not None:
                loader.load_state_dict(state)
            seen.append(next(iter(loader))[0])
            state = loader.state_dict()
        assert seen == whole


class TestStatesBeyondTheEnd:
    @pytest.mark.parametrize("workers", [0, 2])
    @pytest.mark.parametrize("data", [lambda n: list(range(n)), Stream], ids=["map", "stream"])
    def test_raise(self, data, workers):
        loader = DataLoader(data(12), num_workers=workers)
        iterator = iter(loader)
        for _ in range(9):
            next(iterator)
        shorter = DataLoader(data(6), num_workers=workers)
        shorter.load_state_dict(loader.state_dict())
        with pytest.raises(ValueError, match=r"taken after 9 batches.* this DataLoader has 6"):
            list(shorter)

    @pytest.mark.parametrize("workers", [0, 2])
    def test_warn_where_only_the_stream_knows(self, workers):
        loader = DataLoader(StatefulStream(12), num_workers=workers)
        iterator = iter(loader)
        for _ in range(9):
            next(iterator)
        shorter = DataLoader(StatefulStream(6), num_workers=workers)
        shorter.load_state_dict(loader.state_dict())
        with pytest.warns(UserWarning, match="gave nothing after the state that was loaded"):
            assert list(shorter) == []

    @pytest.mark.parametrize("stream", [Stream, StatefulStream])
    @pytest.mark.parametrize("workers", [0, 1, 3])
    def test_another_number_of_workers(self, stream, workers):
        loader = DataLoader(stream(12), num_workers=2)
        next(iter(loader))
        other = DataLoader(stream(12), num_workers=workers)
        other.load_state_dict(loader.state_dict())
        with pytest.raises(ValueError, match=f"num_workers=2, and .* num_workers={workers}"):
            iter(other)


def test_a_state_of_something_else():
    with pytest.raises(KeyError, match="num_yielded"):
        DataLoader([1]).load_state_dict({"random": None})
