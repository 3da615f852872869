"""Tensors in other processes: shared memory, queues, pools, and processes that fail."""

import gc
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from under_test import NAME, t

pytestmark = pytest.mark.slow

mp = __import__(f"{NAME}.multiprocessing", fromlist=["mp"])

METHODS = pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
TIMEOUT = 60


@pytest.fixture(params=["file_descriptor", "file_system"])
def strategy(request):
    before = mp.get_sharing_strategy()
    mp.set_sharing_strategy(request.param)
    yield request.param
    mp.set_sharing_strategy(before)


def own_names():
    gc.collect()
    prefix = f"torch_{os.getpid()}_"
    return [name for name in os.listdir("/dev/shm") if name.startswith(prefix)]


def add_one(queue, done):
    for tensor in queue.get():
        tensor.add_(1)
    done.set()


def answer(queue, results):
    for value in iter(queue.get, None):
        results.put(value)
    time.sleep(0.1)


def doubled(tensor):
    tensor.mul_(2)
    return tensor + 1


class TestSharedMemory:
    def test_is_seen_by_every_view(self, strategy):
        x = t.zeros(3, 3)
        row = x[1]
        assert not x.is_shared()
        assert x.share_memory_() is x and x.is_shared() and row.is_shared()
        row.fill_(2)
        assert x.sum() == 6 and x.share_memory_().sum() == 6

    def test_keeps_its_bytes(self, strategy):
        x = t.arange(1000.0)
        assert t.equal(x.clone().share_memory_(), x)

    def test_of_no_bytes(self, strategy):
        x = t.tensor([])
        assert not x.is_shared() and x.share_memory_().is_shared() and x.tolist() == []

    @pytest.mark.skipif(NAME != "taeda", reason="PyTorch 2.13 crashes")
    def test_is_not_resized(self, strategy):
        x = t.ones(2).share_memory_()
        with pytest.raises(RuntimeError, match="not resizable"):
            x.resize_(100)

    def test_of_an_array(self, strategy):
        x = t.arange(4.0)
        array = x.numpy()
        x.share_memory_()
        gc.collect()
        assert x.tolist() == [0, 1, 2, 3]
        if NAME == "taeda":  # PyTorch frees the memory below the array
            assert array.tolist() == [0, 1, 2, 3]
        shared = x.numpy()
        shared[0] = 5
        assert x[0] == 5

    def test_of_memory_that_is_an_array(self, strategy):
        array = np.arange(4.0)
        x = t.from_numpy(array).share_memory_()
        assert x.is_shared() and t.equal(x, t.arange(4.0, dtype=t.float64))

    def test_is_written_with_gradients(self, strategy):
        x = t.ones(3, requires_grad=True)
        x.share_memory_()
        (x * x).sum().backward()
        assert x.grad.tolist() == [2, 2, 2]

    def test_of_a_module(self, strategy):
        model = t.nn.Linear(2, 2)
        before = model.weight.clone()
        assert model.share_memory() is model
        assert model.weight.is_shared() and t.equal(model.weight, before)

    def test_counts_writes_on(self):
        x = t.ones(2)
        x.add_(1)
        x.share_memory_()
        x.add_(1)
        assert x._version == 2

    def test_names_are_given_back(self):
        mp.set_sharing_strategy("file_system")
        try:
            x = t.ones(5).share_memory_()
            if NAME == "taeda":
                assert len(own_names()) == 1
            del x
            assert own_names() == []
        finally:
            mp.set_sharing_strategy("file_descriptor")

    def test_strategies(self):
        assert mp.get_all_sharing_strategies() == {"file_descriptor", "file_system"}
        with pytest.raises(AssertionError, match="invalid sharing strategy 'pigeon'"):
            mp.set_sharing_strategy("pigeon")


class TestQueues:
    @METHODS
    def test_both_sides_write_the_same_memory(self, strategy, method):
        context = mp.get_context(method)
        queue, done = context.Queue(), context.Event()
        x = t.zeros(4, 4)
        process = context.Process(target=add_one, args=(queue, done))
        process.start()
        queue.put([x, x[1]])
        assert done.wait(TIMEOUT)
        assert x.sum() == 20 and x[1, 0] == 2 and x.is_shared()
        process.join(TIMEOUT)
        assert process.exitcode == 0

    def test_what_comes_back_is_the_same_storage(self, strategy):
        queue, results = mp.SimpleQueue(), mp.SimpleQueue()
        process = mp.get_context("fork").Process(target=answer, args=(queue, results))
        process.start()
        x = t.arange(6.0).view(2, 3)
        queue.put([x, x.t()[1:], x.untyped_storage()])
        whole, part, storage = results.get()
        assert whole.untyped_storage()._cdata == x.untyped_storage()._cdata == storage._cdata
        assert (
            part.shape == (2, 2) and part.stride() == (1, 3) and part.tolist() == [[1, 4], [2, 5]]
        )
        queue.put(None)
        process.join(TIMEOUT)
        del whole, part, storage, x
        assert own_names() == []

    def test_one_storage_for_all_messages(self, strategy):
        queue = mp.Queue()
        x = t.ones(3)
        queue.put(x)
        queue.put(x[1:])
        first, second = queue.get(timeout=TIMEOUT), queue.get(timeout=TIMEOUT)
        assert first.untyped_storage()._cdata == second.untyped_storage()._cdata

    @pytest.mark.parametrize(
        "make",
        [
            lambda: t.ones(2, dtype=t.bfloat16),
            lambda: t.tensor(3),
            lambda: t.zeros(0, 4),
            lambda: t.arange(12).view(3, 4)[:, ::2],
            lambda: t.ones(3, device="meta"),
        ],
    )
    def test_tensors_of_every_kind(self, strategy, make):
        queue = mp.Queue()
        queue.put(make())
        got, sent = queue.get(timeout=TIMEOUT), make()
        assert (got.dtype, got.shape, got.device) == (sent.dtype, sent.shape, sent.device)
        assert got.is_meta or t.equal(got, sent)

    def test_leaves(self, strategy):
        queue = mp.SimpleQueue()
        leaf = t.ones(2, requires_grad=True)
        leaf.register_hook(lambda grad: grad)
        with pytest.warns(UserWarning, match="on tensor will not be serialized"):
            queue.put(leaf)
        queue.get()
        leaf = t.ones(2, requires_grad=True)
        leaf.grad = t.ones(2)
        leaf.register_hook(t.utils.hooks.unserializable_hook(lambda grad: grad))
        queue.put([leaf, t.nn.Parameter(leaf.detach()), t.nn.Parameter(t.ones(1).int(), False)])
        got, parameter, fixed = queue.get()
        assert got.requires_grad and got.is_leaf and got.grad is None
        assert type(got) is t.Tensor and type(parameter) is t.nn.Parameter
        assert parameter.requires_grad and not fixed.requires_grad

    def test_results_with_a_graph(self):
        with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
            mp.SimpleQueue().put(t.ones(2, requires_grad=True) * 2)

    @pytest.mark.skipif(NAME != "taeda", reason="PyTorch sends what is inside")
    def test_tensors_inside_a_transform(self):
        def send(x):
            mp.SimpleQueue().put(x)
            return x

        for transformed in (t.func.vmap(send), t.func.grad(lambda x: send(x).sum())):
            with pytest.raises(RuntimeError, match="inside a function transform"):
                transformed(t.ones(3))

    def test_many_tensors(self, strategy):
        queue = mp.SimpleQueue()
        for i in range(300):
            queue.put(t.full((2,), i))
            assert queue.get().tolist() == [i, i]
        assert own_names() == []

    def test_pipes(self, strategy):
        ours, theirs = mp.Pipe()
        x = t.zeros(3)
        ours.send(x)
        theirs.recv().fill_(4)
        assert x.tolist() == [4, 4, 4]


class TestPools:
    @pytest.mark.parametrize("method", ["fork", "spawn"])
    def test_arguments_and_results(self, strategy, method):
        given = [t.full((3,), float(i)) for i in range(6)]
        with mp.get_context(method).Pool(2) as pool:
            results = pool.map(doubled, given)
        assert [x.tolist() for x in results] == [[2 * i + 1] * 3 for i in range(6)]
        assert [x.tolist() for x in given] == [[2 * i] * 3 for i in range(6)]

    @pytest.mark.skipif(NAME != "taeda", reason="PyTorch's is broken")
    def test_of_pytorchs_path(self):
        pool_module = __import__(f"{NAME}.multiprocessing.pool", fromlist=["pool"])
        with pool_module.Pool(1, context=mp.get_context("fork")) as pool:
            assert pool.apply(doubled, (t.ones(2),)).tolist() == [3, 3]


def fail(i, kind):
    if i == 1:
        if kind == "raise":
            raise ValueError("legitimate exception from process 1")
        if kind == "exit":
            sys.exit(3)
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


def fill_row(i, rows):
    rows[i] = i + 1


def interrupted(i):
    raise KeyboardInterrupt


@METHODS
class TestProcesses:
    def test_share_their_arguments(self, method):
        rows = t.zeros(3, 2).share_memory_()
        mp.start_processes(fill_row, args=(rows,), nprocs=3, start_method=method)
        assert rows.tolist() == [[1, 1], [2, 2], [3, 3]]

    def test_that_raise(self, method):
        expected = (
            r"-- Process 1 terminated with the following error:\nTraceback [\s\S]*"
            "ValueError: legitimate exception from process 1"
        )
        with pytest.raises(mp.ProcessRaisedException, match=expected) as caught:
            mp.start_processes(fail, args=("raise",), nprocs=2, start_method=method)
        assert caught.value.error_index == 1 and caught.value.error_pid > 0

    def test_that_exit(self, method):
        with pytest.raises(
            mp.ProcessExitedException, match="process 1 terminated with exit code 3"
        ) as c:
            mp.start_processes(fail, args=("exit",), nprocs=2, start_method=method)
        assert c.value.exit_code == 3 and c.value.signal_name is None

    def test_that_a_signal_ends(self, method):
        with pytest.raises(mp.ProcessExitedException, match="terminated with signal SIGKILL") as c:
            mp.start_processes(fail, args=("kill",), nprocs=2, start_method=method)
        assert c.value.signal_name == "SIGKILL" and c.value.exit_code == -signal.SIGKILL

    def test_that_are_interrupted_end_well(self, method):
        mp.start_processes(interrupted, nprocs=1, start_method=method)

    def test_that_nobody_waits_for(self, method):
        context = mp.start_processes(
            fail, args=("raise",), nprocs=2, join=False, start_method=method
        )
        assert len(context.pids()) == 2
        with pytest.raises(mp.ProcessRaisedException):
            while not context.join(timeout=TIMEOUT):
                pass
        assert not any(process.is_alive() for process in context.processes)


def test_spawn_says_what_it_does_not_do():
    with pytest.warns(FutureWarning, match="only supports start_method=spawn"):
        mp.spawn(interrupted, start_method="fork")


def test_exceptions_have_pickles():
    import pickle

    error = mp.ProcessExitedException("why", 1, 2, 3, "SIGKILL")
    again = pickle.loads(pickle.dumps(error))
    assert (again.msg, again.error_index, again.exit_code) == ("why", 1, 3)


@pytest.mark.parametrize(
    "interrupts",
    [
        signal.SIG_DFL,
        pytest.param(
            signal.SIG_IGN,
            id="ignored",
            marks=pytest.mark.skipif(NAME != "taeda", reason="PyTorch's child lives on"),
        ),
    ],
)
def test_a_child_ends_with_its_parent(interrupts):
    code = f"""
import os, time
import {NAME}.multiprocessing as mp
def sleep(i): time.sleep(1000)
if __name__ == "__main__":
    context = mp.start_processes(sleep, nprocs=1, join=False, start_method="fork")
    time.sleep(0.5)
    print(context.pids()[0], flush=True)
    os.kill(os.getpid(), 9)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: signal.signal(signal.SIGINT, interrupts),
    )
    pid = int(done.stdout)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and _is_running(pid):
        time.sleep(0.05)
    assert not _is_running(pid)


def _is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_everything_of_multiprocessing_is_there():
    import multiprocessing

    assert all(hasattr(mp, name) for name in multiprocessing.__all__)
