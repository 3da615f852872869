"""Workers that die, raise, hang or run out of memory: an error with its cause, and nothing left."""

import os
import signal
import time

import pytest
from child_programs import Child, leaked_names, run
from under_test import NAME

pytestmark = pytest.mark.slow


def load(fault, options="num_workers=2, batch_size=2", before=""):
    """A program that loads with a fault and prints the error."""
    return f"""
{before}
class Data(Faulty):
    def fault(self, i):
        {fault}
try:
    for batch in DataLoader(Data(), {options}): pass
    print("no error")
except Exception as error:
    print(type(error).__name__, error)
"""


METHODS = pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])


class TestAKilledWorker:
    def test_is_reported_with_its_signal(self):
        code, out, err = run(load("if i == 21: os.kill(os.getpid(), signal.SIGKILL)"))
        assert code == 0, err
        assert out.startswith("RuntimeError DataLoader worker (pid(s) ")
        assert "exited unexpectedly" in out
        if NAME == "taeda":
            assert "killed by signal: Killed" in out and "memory runs out" in out

    def test_from_outside_while_the_consumer_waits(self):
        body = """
class Slow(Faulty):
    def fault(self, i): time.sleep(1000)
it = iter(DataLoader(Slow(), num_workers=2))
os.kill(it._workers[1].pid, signal.SIGKILL)
start = time.monotonic()
try: next(it)
except RuntimeError as error: print(error)
print("quick" if time.monotonic() - start < 30 else "late")
for worker in it._workers: os.kill(worker.pid, signal.SIGKILL) if worker.is_alive() else None
"""
        code, out, err = run(body)
        assert code == 0, err
        assert "exited unexpectedly" in out and out.endswith("quick\n")

    def test_that_exits(self):
        code, out, err = run(load("if i == 21: sys.exit(3)"))
        assert code == 0, err
        assert "exited unexpectedly" in out
        if NAME == "taeda":
            assert "exit code 3" in out

    def test_the_iterator_says_so_again(self):
        body = """
class Data(Faulty):
    def fault(self, i): os.kill(os.getpid(), signal.SIGKILL)
it = iter(DataLoader(Data(), num_workers=1))
for _ in range(2):
    try: next(it)
    except RuntimeError as error: print("exited unexpectedly" in str(error))
"""
        assert run(body)[1] == "True\nTrue\n"

    @pytest.mark.skipif(NAME != "taeda", reason="PyTorch's loader is of no more use")
    def test_of_a_loader_that_keeps_them_is_replaced(self):
        body = """
class Data(Faulty):
    def fault(self, i):
        if i == 9 and not os.path.exists(path):
            open(path, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
import tempfile
path = tempfile.mktemp()
loader = DataLoader(Data(), num_workers=2, persistent_workers=True)
for _ in range(3):
    try: print(len(list(loader)))
    except RuntimeError as error: print("exited unexpectedly" in str(error))
os.unlink(path)
"""
        assert run(body)[1] == "True\n40\n40\n"


class TestAWorkerThatRaises:
    def test_has_its_traceback_in_the_message(self):
        _, out, _ = run(load("if i == 0: raise ValueError('bad row 0')"))
        assert out.startswith("ValueError Caught ValueError in DataLoader worker process 0.\n")
        assert "Original Traceback (most recent call last):" in out
        assert "in fault" in out and "ValueError: bad row 0" in out

    def test_a_key_error_is_readable(self):
        _, out, _ = run(load("{}['row']"))
        assert out.startswith("KeyError Caught KeyError in DataLoader worker process 0.\nOriginal")

    def test_an_exception_that_a_message_does_not_make(self):
        _, out, _ = run(load("raise UnicodeDecodeError('utf8', b'x', 0, 1, 'why')"))
        assert out.startswith("RuntimeError Caught UnicodeDecodeError in DataLoader worker process")

    def test_an_exception_whose_class_has_no_pickle(self):
        fault = "raise type('Hidden', (Exception,), {})('secret')"
        _, out, _ = run(load(fault))
        assert "Hidden" in out and "secret" in out

    def test_worker_init_fn(self):
        before = "def init(i): raise ValueError(f'no disk for {i}')"
        options = "num_workers=1, worker_init_fn=init"
        _, out, _ = run(load("pass", options, before))
        assert "Caught ValueError in DataLoader worker process 0." in out
        assert "no disk for 0" in out

    @pytest.mark.skipif(NAME != "taeda", reason="PyTorch waits for such a batch without end")
    def test_a_batch_without_a_pickle(self):
        _, out, _ = run(load("pass", "num_workers=1, collate_fn=lambda batch: lambda: None"))
        assert "Error in DataLoader worker process 0." in out and "pickle" in out

    def test_the_rest_can_still_be_loaded(self):
        body = """
class Data(Faulty):
    def fault(self, i):
        if i == 3: raise ValueError(i)
it = iter(DataLoader(Data(), num_workers=2))
seen = []
while True:
    try: seen.append(int(next(it)[0, 0]))
    except ValueError: seen.append("error")
    except StopIteration: break
print(seen == [0, 1, 2, "error", *range(4, 40)])
"""
        assert run(body)[1] == "True\n"


class TestAWorkerThatHangs:
    def test_ends_in_a_timeout(self):
        code, out, err = run(load("time.sleep(1000)", "num_workers=2, timeout=1"))
        assert code == 0, err
        assert out == "RuntimeError DataLoader timed out after 1 seconds\n"

    @pytest.mark.slow
    def test_that_ignores_the_request_to_end(self):
        fault = "signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1000)"
        code, out, err = run(load(fault, "num_workers=1, timeout=1"))
        assert code == 0, err
        assert "timed out after 1 seconds" in out


LIMIT = """
import resource
def limit(i):
    pages = int(open("/proc/self/statm").read().split()[0])
    most = pages * resource.getpagesize() + (256 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
"""


class TestAWorkerWithoutMemory:
    def test_says_so(self):
        options = "num_workers=1, worker_init_fn=limit"
        code, out, err = run(load("t.ones(1 << 30)", options, LIMIT))
        assert code == 0, err
        assert "in DataLoader worker process 0." in out and "memory" in out

    def test_of_python(self):
        options = "num_workers=1, worker_init_fn=limit"
        code, out, err = run(load("bytearray(4 << 30)", options, LIMIT))
        assert code == 0, err
        assert out.startswith("MemoryError Caught MemoryError in DataLoader worker process 0.")

    @pytest.mark.skipif(NAME != "taeda", reason="PyTorch ends with a bus error")
    def test_shared_memory_that_cannot_grow(self):
        body = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
mp.set_sharing_strategy("file_system")
try: t.empty(1 << 21, dtype=t.uint8).share_memory_()
except RuntimeError as error: print(error)
print(t.empty(1 << 19, dtype=t.uint8).share_memory_().is_shared())
"""
        code, out, err = run(body)
        assert code == 0, err
        assert out.startswith("unable to allocate shared memory(shm) for file </torch_")
        assert "File too large (27)" in out and out.endswith("True\n")


class TestTheConsumer:
    @METHODS
    def test_may_drop_the_iterator(self, method):
        body = f"""
if __name__ == "__main__":
    data = [t.full((4,), float(i)) for i in range(100)]
    it = iter(DataLoader(data, num_workers=2, multiprocessing_context="{method}"))
    next(it)
    workers = it._workers
    del it
    print([worker.is_alive() for worker in workers], [worker.exitcode for worker in workers])
"""
        assert run(body)[1] == "[False, False] [0, 0]\n"

    def test_may_end_inside_an_epoch(self):
        code, out, err = run("it = iter(DataLoader(Faulty(), num_workers=2))\nnext(it)\n")
        assert (code, out, err) == (0, "", "")

    def test_may_raise_inside_an_epoch(self):
        code, _, err = run("for _ in DataLoader(Faulty(), num_workers=2): raise ValueError('mine')")
        assert code == 1 and err.rstrip().endswith("ValueError: mine")
        assert err.count("Traceback") == 1

    def test_may_be_killed(self):
        child = Child("it = iter(DataLoader(Faulty(), num_workers=2))\nnext(it)\ntime.sleep(1000)")
        deadline = time.monotonic() + 60
        while len(child._running()) < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(child._running()) >= 3
        child.process.kill()
        assert child.end()[0] == -signal.SIGKILL
        assert child.left() == [] and leaked_names() == []

    @pytest.mark.parametrize("wait", ["pass", "time.sleep(1000)"])
    def test_may_be_interrupted(self, wait):
        body = f"""
class Data(Faulty):
    def __len__(self): return 1_000_000
    def fault(self, i):
        if i > 40: {wait}
started = False
for _ in DataLoader(Data(), num_workers=2):
    if not started: print("started", flush=True)
    started = True
"""
        child = Child(body)
        assert child.process.stdout.readline() == "started\n"
        time.sleep(0.2)
        os.killpg(child.process.pid, signal.SIGINT)
        code, _, err = child.end()
        assert code == -signal.SIGINT and err.rstrip().endswith("KeyboardInterrupt")
        assert err.count("Traceback") == 1
        assert child.left() == [] and leaked_names() == []


class TestForks:
    def test_after_threads_were_used(self):
        body = """
t.set_num_threads(2)
a = t.rand(600, 600)
(a @ a).sum(), t.rand(1 << 22).exp()
class Data(Faulty):
    def fault(self, i):
        assert (a @ a).sum() > 0 and t.ones(1 << 21).exp().sum() > 0
print(len(list(DataLoader(Data(), num_workers=2, batch_size=8))))
print(((a @ a).sum() > 0).item())
"""
        code, out, err = run(body)
        assert (code, out) == (0, "5\nTrue\n"), err

    def test_a_child_that_inherits_an_iterator(self):
        body = """
import gc
it = iter(DataLoader(Faulty(), num_workers=2))
first = next(it)
pid = os.fork()
if pid == 0:
    del it, first
    gc.collect()
    os._exit(0)
os.waitpid(pid, 0)
print(int(first[0, 0]), [int(batch[0, 0]) for batch in it] == list(range(1, 40)))
"""
        code, out, err = run(body)
        assert (code, out, err) == (0, "0 True\n", "")

    def test_a_child_keeps_the_batches_that_it_inherits(self):
        """And their memory is used again when it is gone."""
        code, out, err = run(
            """
import multiprocessing

class Data(Faulty):
    def fault(self, i): pass

def child(batch, event, queue):
    event.wait()
    queue.put(batch.flatten()[:1].tolist())

context = multiprocessing.get_context("fork")
event, queue = context.Event(), context.Queue()
batches = iter(DataLoader(list(map(float, range(400))), num_workers=1, batch_size=2))
batch = next(batches)
process = context.Process(target=child, args=(batch, event, queue))
process.start()
del batch
for _ in range(60): next(batches)
event.set()
print(queue.get())
process.join()
for _ in range(20):
    batch = next(batches)
    process = context.Process(target=len, args=(batch,))
    process.start()
    process.join()
next(batches)
try:
    from taeda.utils.data import _transport
    print(len(_transport._lent))
except ImportError:
    print(0)
"""
        )
        assert code == 0, err
        assert out.split("\n")[:2] == ["[0.0]", "0"]


@pytest.mark.skipif(NAME != "taeda", reason="PyTorch has a daemon for the names")
class TestNames:
    BODY = """
mp.set_sharing_strategy("file_system")
x = t.ones(4).share_memory_()
print([n for n in os.listdir("/dev/shm") if n.startswith(f"torch_{os.getpid()}_")] != [], flush=True)
"""

    @pytest.mark.parametrize(
        "end",
        ["pass", "raise ValueError", "os._exit(1)", "os.kill(os.getpid(), signal.SIGKILL)"],
    )
    def test_go_with_their_process(self, end):
        assert run(self.BODY + end)[1] == "True\n"

    def test_of_a_child_that_was_killed(self):
        body = """
def send(queue):
    mp.set_sharing_strategy("file_system")
    queue.put(t.ones(4))
    time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGKILL)
queue = mp.SimpleQueue()
child = mp.Process(target=send, args=(queue,))
child.start()
x = queue.get()
child.join()
time.sleep(0.5)
print(x.tolist(), [n for n in os.listdir("/dev/shm") if n.startswith(f"torch_{child.pid}_")])
"""
        assert run(body)[1] == "[1.0, 1.0, 1.0, 1.0] []\n"

    def test_go_with_the_last_tensor(self):
        body = """
mp.set_sharing_strategy("file_system")
def names(): return [n for n in os.listdir("/dev/shm") if n.startswith(f"torch_{os.getpid()}_")]
x = t.ones(4).share_memory_()
y = x[1:]
del x
print(len(names()))
del y
print(len(names()))
"""
        assert run(body)[1] == "1\n0\n"
