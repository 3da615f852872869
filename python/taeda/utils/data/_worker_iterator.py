"""The iterator that loads in worker processes, a few batches ahead.

Batches are numbered in the order of the sampler and handed to the workers in turn; results are kept
until it is their turn, unless the loader says that order does not matter. A worker is alive as long
as its pipe is open, so the end of one is seen at once and with its reason.
"""

import os
import pickle
import select
import signal
import sys
import time
import warnings

import taeda.multiprocessing
from taeda.utils.data import _utils
from taeda.utils.data._channel import channel
from taeda.utils.data._iterators import _BaseDataLoaderIter
from taeda.utils.data._resuming import is_stateful
from taeda.utils.data._transport import ArenaReader
from taeda.utils.data._utils.worker import (
    ERROR,
    IS_READY,
    NEW_EPOCH,
    STREAM_ENDED,
    TASK,
    Work,
    _DatasetKind,
    _worker_loop,
)

__all__ = ["_MultiProcessingDataLoaderIter"]


class _RemoteWorker:
    """A worker as the main process sees it."""

    def __init__(self, context, work):
        self.id = work.worker_id
        self.arena = ArenaReader()
        self.channel, theirs = channel()
        self.process = context.Process(
            target=_worker_loop, args=(work, theirs, self.arena.writer()), daemon=True
        )
        try:
            self.process.start()
        except BaseException as error:
            self.close()
            if isinstance(error, (TypeError, AttributeError, pickle.PicklingError)):
                warnings.warn(
                    "Got pickle error when attempting to start a worker Process. "
                    "This might be because the worker Process arguments are not picklable. "
                    "Python 3.14+ changed the multiprocessing start method in non-Mac POSIX "
                    "platforms to 'forkserver', which requires the worker Process arguments to be "
                    "picklable. You can also try multiprocessing.set_start_method('fork').",
                    stacklevel=2,
                )
            raise
        finally:
            theirs.close()
        self.is_open = True  # whether its pipe is
        self.is_active = True  # whether it takes tasks
        self.num_tasks = 0
        self.epoch = None  # of what it sends
        self.last_state = None  # of its stream, when it has ended

    def load(self, payload):
        place = int.from_bytes(payload[:8], "little", signed=True)
        return self.arena.load(memoryview(payload)[8:], place)

    def close(self):
        self.channel.close()
        self.arena.close()
        self.is_open = self.is_active = False

    def reason_of_end(self):
        self.process.join(_utils.MP_STATUS_CHECK_INTERVAL)
        code = self.process.exitcode
        if code is None:
            return "its pipe is closed, though it still runs"
        if code >= 0:
            return f"exit code {code}"
        hint = ""
        if -code == signal.SIGKILL:
            hint = " The system kills processes so when memory runs out."
        if -code == signal.SIGBUS:
            hint = " It is possible that dataloader's workers are out of shared memory."
        return f"killed by signal: {signal.strsignal(-code)}.{hint}"


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader):
        self._remotes = []
        self._pid = os.getpid()
        self._is_shut_down = False
        self._failure = None
        super().__init__(loader)
        self._in_order = loader.in_order
        self._prefetch_factor = loader.prefetch_factor
        if self._prefetch_factor <= 0:
            raise AssertionError(
                "prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter"
            )
        context = loader.multiprocessing_context or taeda.multiprocessing
        try:
            for i in range(self._num_workers):
                self._remotes.append(_RemoteWorker(context, self._work_of(loader, i)))
        except BaseException:
            self._shutdown_workers()
            raise
        self._poll = select.poll()
        for remote in self._remotes:
            self._poll.register(remote.channel.reading_fileno(), select.POLLIN)
        self._readers = {r.channel.reading_fileno(): r for r in self._remotes}
        self._writers = {}  # those who must read before more can be written
        self._epoch = 0
        self._fill()

    def _work_of(self, loader, worker_id):
        return Work(
            self._dataset_kind,
            self._dataset,
            self._auto_collation,
            self._collate_fn,
            self._drop_last,
            self._base_seed,
            loader.worker_init_fn,
            worker_id,
            self._num_workers,
        )

    @property
    def _workers(self):
        return [remote.process for remote in self._remotes]

    def _reset(self, loader):
        """A new epoch of workers that stay; what the last one left under way is thrown away."""
        with self._lock:
            self._start_epoch(loader)
            self._epoch += 1
            self._fill()

    def _fill(self):
        resumed, progress = self._resumed, self._progress
        if resumed is not None:
            progress.worker_states = dict(resumed.dataset or {})
            progress.ended = set(resumed.ended)
            # Batches keep their workers, but for a stream that is read again from its beginning.
            if self._dataset_kind == _DatasetKind.Map or progress.worker_states:
                progress.next_worker = resumed.next_worker % self._num_workers
        self._turn = progress.next_worker  # who gets the next task
        self._num_sent = self._num_received = 0
        self._owners = {}  # of batches under way or arrived, by number
        self._arrived = {}
        for remote in self._remotes:
            has_ended = remote.id in progress.ended
            remote.is_active, remote.num_tasks = not has_ended, 0
            state = pickle.dumps((progress.worker_states.get(remote.id), has_ended))
            remote.channel.send(NEW_EPOCH, self._epoch, state)
        for _ in range(self._prefetch_factor * self._num_workers):
            self._send_task()
        # Where the streams begin belongs to the state that the loader can be asked for.
        deadline = time.monotonic() + self._timeout if self._timeout > 0 else None
        while is_stateful(self._dataset) and any(r.epoch != self._epoch for r in self._remotes):
            self._wait(deadline)
        self._skip_batches()

    # Tasks and results.

    def _send_task(self):
        try:
            index = self._next_index()
        except StopIteration:
            return
        remote = self._next_free_worker()
        if remote is None:
            return
        remote.channel.send(TASK, self._num_sent, pickle.dumps(index, pickle.HIGHEST_PROTOCOL))
        remote.num_tasks += 1
        self._owners[self._num_sent] = remote
        self._num_sent += 1

    def _next_free_worker(self):
        active = sum(remote.is_active for remote in self._remotes)
        for _ in range(self._num_workers):
            remote = self._remotes[self._turn]
            self._turn = (self._turn + 1) % self._num_workers
            most = self._prefetch_factor * self._num_workers // max(active, 1)
            if remote.is_active and (self._in_order or remote.num_tasks < most):
                return remote
        return None

    def _next_data(self):
        with self._lock:
            return self._next_arrived()

    def _next_arrived(self):
        if self._failure is not None:
            raise self._failure
        deadline = time.monotonic() + self._timeout if self._timeout > 0 else None
        while True:
            number = self._next_number()
            if number is None:
                if not self._persistent_workers:
                    self._shutdown_workers()
                raise StopIteration
            if number in self._arrived:
                return self._take(number)
            self._wait(deadline)

    def _next_number(self):
        """The batch to hand out next, which may be under way; None where no more will come."""
        if self._arrived and not self._in_order:
            return next(iter(self._arrived))
        while self._num_received < self._num_sent:
            number = self._num_received
            remote = self._owners.get(number)
            if number in self._arrived or (remote is not None and remote.is_active):
                return number
            self._owners.pop(number, None)  # of a worker whose stream has ended, or handed out
            if remote is not None:
                self._keep_state(remote, remote.last_state, has_ended=True)
            self._num_received += 1
        return None

    def _take(self, number):
        kind, payload = self._arrived.pop(number)
        remote = self._owners.pop(number)
        remote.num_tasks -= 1
        self._send_task()  # first: a batch that cannot be read costs no place among the prefetched
        value = remote.load(payload)
        if kind == ERROR:
            value.reraise()
        batch, state, has_ended = value
        self._progress.next_worker = (remote.id + 1) % self._num_workers
        self._keep_state(remote, state, has_ended)
        return batch

    def _keep_state(self, remote, state, has_ended):
        if state is None:  # the stream does not tell
            return
        self._progress.worker_states[remote.id] = state
        if has_ended:
            self._progress.ended.add(remote.id)

    # Waiting.

    def _wait(self, deadline=None):
        """Takes what the workers have sent, when there is something."""
        for remote in self._remotes:
            if remote.is_open and remote.channel.has_unsent:
                self._watch_writing(remote)
        seconds = _utils.MP_STATUS_CHECK_INTERVAL
        if deadline is not None:
            seconds = min(seconds, max(0.0, deadline - time.monotonic()))
        ready = self._poll.poll(seconds * 1000)
        for fileno, _ in ready:
            if fileno in self._writers:
                self._poll.unregister(fileno)
                self._writers.pop(fileno).channel.flush()
            elif fileno in self._readers:
                self._read(self._readers[fileno])
        if not ready:
            if deadline is not None and time.monotonic() >= deadline:
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
            self._check_all_alive()

    def _watch_writing(self, remote):
        fileno = remote.channel.writing_fileno()
        if fileno not in self._writers:
            self._poll.register(fileno, select.POLLOUT)
            self._writers[fileno] = remote

    def _read(self, remote):
        try:
            frames = remote.channel.receive()
        except EOFError:
            self._fail([remote])
        for kind, number, payload in frames:
            if kind == IS_READY:
                remote.epoch, state = number, remote.load(payload)
                if number == self._epoch:
                    has_ended = remote.id in self._progress.ended
                    self._keep_state(remote, state, has_ended)
            elif remote.epoch != self._epoch:
                remote.load(payload)  # nobody wants it any more: its memory is given back
            elif kind == STREAM_ENDED:
                remote.last_state = remote.load(payload)
                self._end_stream(remote)
            else:
                self._arrived[number] = kind, payload

    def _end_stream(self, remote):
        remote.is_active = False
        if not self._persistent_workers:
            self._retire(remote)
        self._send_task()

    def _check_all_alive(self):
        gone = [r for r in self._remotes if r.is_open and not r.process.is_alive()]
        if gone:
            self._fail(gone)

    def _fail(self, remotes):
        pids = ", ".join(str(remote.process.pid) for remote in remotes)
        reasons = "; ".join(remote.reason_of_end() for remote in remotes)
        self._failure = RuntimeError(
            f"DataLoader worker (pid(s) {pids}) exited unexpectedly: {reasons}"
        )
        self._shutdown_workers()
        raise self._failure

    # The end.

    def _retire(self, remote):
        for watched, fileno in (
            (self._readers, remote.channel.reading_fileno()),
            (self._writers, remote.channel.writing_fileno()),
        ):
            if watched.pop(fileno, None):
                self._poll.unregister(fileno)
        remote.channel.close()
        remote.is_open = False

    def _shutdown_workers(self):
        """Ends the workers: they may finish the batch at hand, but not for long."""
        if self._is_shut_down or os.getpid() != self._pid:  # a forked child has no part in it
            return
        self._is_shut_down = True
        for remote in self._remotes:
            remote.close()
        self._join_workers()
        for remote in self._remotes:
            remote.process.terminate()
        self._join_workers()
        for remote in self._remotes:
            remote.process.kill()
        self._join_workers()

    def _join_workers(self):
        deadline = time.monotonic() + _utils.MP_STATUS_CHECK_INTERVAL
        for remote in self._remotes:
            remote.process.join(max(0.0, deadline - time.monotonic()))

    def __del__(self):
        if not sys.is_finalizing():
            self._shutdown_workers()


_MultiProcessingDataLoaderIter.__module__ = _BaseDataLoaderIter.__module__  # where PyTorch has it
