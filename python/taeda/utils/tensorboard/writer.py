"""Writers of event files, which TensorBoard reads while they grow."""

import itertools
import os
import socket
import time
import weakref
from datetime import datetime

from taeda.utils.tensorboard import _protobuf as proto
from taeda.utils.tensorboard import summary
from taeda.utils.tensorboard._records import RecordFile

__all__ = ["FileWriter", "SummaryWriter"]

_file_numbers = itertools.count()


def _default_bins():
    """Limits that grow by a tenth from 1e-12 to 1e20, to both sides of 0."""
    limits, limit = [], 1e-12
    while limit < 1e20:
        limits.append(limit)
        limit *= 1.1
    return [-limit for limit in reversed(limits)] + [0, *limits]


class FileWriter:
    """Events in one file of a folder.

    Events are written when `max_queue` of them wait, when `flush_secs` have passed since the last
    write, at `flush` and `close`, and when the process ends.
    """

    def __init__(self, log_dir, max_queue=10, flush_secs=120, filename_suffix=""):
        self._log_dir = str(log_dir)
        self._max_queue, self._flush_secs, self._suffix = max_queue, flush_secs, filename_suffix
        self._open()

    def _open(self):
        os.makedirs(self._log_dir, exist_ok=True)
        place = f"{socket.gethostname()}.{os.getpid()}.{next(_file_numbers)}"
        name = f"events.out.tfevents.{int(time.time()):010d}.{place}{self._suffix}"
        self._records = RecordFile(os.path.join(self._log_dir, name))
        self._written = time.monotonic()
        self._finalizer = weakref.finalize(self, self._records.close)
        self.add_event(proto.text(3, "brain.Event:2"))
        self.flush()

    def get_logdir(self):
        return self._log_dir

    def add_event(self, event, step=None, walltime=None):
        """`event` is the bytes of what happened; its time and step are put before them."""
        head = proto.double(1, time.time() if walltime is None else walltime)
        if step is not None:
            head += proto.integer(2, int(step))
        self._records.append(head + event)
        is_late = time.monotonic() - self._written > self._flush_secs
        if len(self._records) > self._max_queue or is_late:
            self.flush()

    def add_summary(self, summary, global_step=None, walltime=None):
        self.add_event(proto.data(5, summary), global_step, walltime)

    def add_graph(self, graph, walltime=None):
        """`graph` is the bytes of a GraphDef."""
        self.add_event(proto.data(4, graph), None, walltime)

    def flush(self):
        self._written = time.monotonic()
        self._records.flush()

    def close(self):
        self._finalizer()

    def reopen(self):
        """Goes on in a new file."""
        self.close()
        self._open()


class SummaryWriter:
    """What a training run has to show: scalars, histograms, images, texts, graphs."""

    def __init__(
        self,
        log_dir=None,
        comment="",
        purge_step=None,
        max_queue=10,
        flush_secs=120,
        filename_suffix="",
    ):
        if not log_dir:
            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = log_dir
        self.purge_step = purge_step
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self.file_writer = self.all_writers = None
        self.default_bins = _default_bins()
        self._embeddings = []
        self._get_file_writer()

    def _new_writer(self, folder):
        return FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)

    def _get_file_writer(self):
        """The writer of the run's own file, a new one after `close`."""
        if self.file_writer is None:
            self.file_writer = self._new_writer(self.log_dir)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                # TensorBoard forgets what other files say of this step and later ones.
                session_start = proto.data(7, proto.integer(1, 1))
                self.file_writer.add_event(proto.text(3, "brain.Event:2"), self.purge_step)
                self.file_writer.add_event(session_start, self.purge_step)
                self.purge_step = None
        return self.file_writer

    def get_logdir(self):
        return self.log_dir

    def _add(self, written, global_step=None, walltime=None):
        self._get_file_writer().add_summary(written, global_step, walltime)

    def add_hparams(
        self,
        hparam_dict,
        metric_dict,
        hparam_domain_discrete=None,
        run_name=None,
        global_step=None,
    ):
        """Hyperparameters and what came of them, as a run of their own below this one."""
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        written = summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = self._get_file_writer().get_logdir()
        with SummaryWriter(os.path.join(folder, run_name or str(time.time()))) as run:
            for part in written:
                run.file_writer.add_summary(part, global_step)
            for tag, value in metric_dict.items():
                run.add_scalar(tag, value, global_step)

    def add_scalar(
        self,
        tag,
        scalar_value,
        global_step=None,
        walltime=None,
        new_style=False,
        double_precision=False,
    ):
        written = summary.scalar(
            tag, scalar_value, new_style=new_style, double_precision=double_precision
        )
        self._add(written, global_step, walltime)

    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, walltime=None):
        """Several curves of one chart: each is a run of its own."""
        walltime = time.time() if walltime is None else walltime
        folder = self._get_file_writer().get_logdir()
        for tag, value in tag_scalar_dict.items():
            path = f"{folder}/{main_tag.replace('/', '_')}_{tag}"
            if path not in self.all_writers:
                self.all_writers[path] = self._new_writer(path)
            written = summary.scalar(main_tag, value)
            self.all_writers[path].add_summary(written, global_step, walltime)

    def add_tensor(self, tag, tensor, global_step=None, walltime=None):
        self._add(summary.tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(
        self, tag, values, global_step=None, bins="tensorflow", walltime=None, max_bins=None
    ):
        if isinstance(bins, str) and bins == "tensorflow":
            bins = self.default_bins
        self._add(summary.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(
        self,
        tag,
        min,
        max,
        num,
        sum,
        sum_squares,
        bucket_limits,
        bucket_counts,
        global_step=None,
        walltime=None,
    ):
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        written = summary.histogram_raw(
            tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts
        )
        self._add(written, global_step, walltime)

    def add_image(self, tag, img_tensor, global_step=None, walltime=None, dataformats="CHW"):
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_images(self, tag, img_tensor, global_step=None, walltime=None, dataformats="NCHW"):
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_image_with_boxes(
        self,
        tag,
        img_tensor,
        box_tensor,
        global_step=None,
        walltime=None,
        rescale=1,
        dataformats="CHW",
        labels=None,
    ):
        """A picture with boxes (left, top, right, bottom) on it."""
        labels = [labels] if isinstance(labels, str) else labels
        if labels is not None and len(labels) != len(box_tensor):
            labels = None
        written = summary.image_boxes(tag, img_tensor, box_tensor, rescale, dataformats, labels)
        self._add(written, global_step, walltime)

    def add_video(self, tag, vid_tensor, global_step=None, fps=4, walltime=None):
        """Videos (N, T, C, H, W) as a moving picture."""
        self._add(summary.video(tag, vid_tensor, fps), global_step, walltime)

    def add_figure(self, tag, figure, global_step=None, close=True, walltime=None):
        """Figures of matplotlib, drawn by their canvases."""
        figures = figure if isinstance(figure, list) else [figure]
        pictures = []
        for one in figures:
            one.canvas.draw()
            pictures.append(summary.as_tensor(one.canvas.buffer_rgba())[..., :3].permute(2, 0, 1))
            if close:
                from matplotlib import pyplot

                pyplot.close(one)
        for picture in pictures:
            self.add_image(tag, picture, global_step, walltime)

    def add_audio(self, tag, snd_tensor, global_step=None, sample_rate=44100, walltime=None):
        self._add(summary.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(self, tag, text_string, global_step=None, walltime=None):
        self._add(summary.text(tag, text_string), global_step, walltime)

    def add_graph(self, model, input_to_model=None, verbose=False, use_strict_trace=True):
        """The graph of `model` on the inputs, as `taeda.export` sees it."""
        from taeda.utils.tensorboard._graph import graph_def

        if input_to_model is None:
            raise ValueError("[add_graph] input_to_model is None: the model is traced with it")
        self._get_file_writer().add_graph(graph_def(model, input_to_model))

    def add_onnx_graph(self, prototxt):
        """The graph of a file of ONNX."""
        from taeda.utils.tensorboard._onnx_graph import load_onnx_graph

        self._get_file_writer().add_graph(load_onnx_graph(prototxt))

    def add_embedding(
        self,
        mat,
        metadata=None,
        label_img=None,
        global_step=None,
        tag="default",
        metadata_header=None,
    ):
        """Points of many dimensions for the projector, with labels and pictures."""
        from taeda.utils.tensorboard import _embedding

        folder = self._get_file_writer().get_logdir()
        info = _embedding.write(
            folder, mat, metadata, label_img, global_step or 0, tag, metadata_header
        )
        self._embeddings.append(info)
        _embedding.write_config(folder, self._embeddings)

    def add_mesh(
        self,
        tag,
        vertices,
        colors=None,
        faces=None,
        config_dict=None,
        global_step=None,
        walltime=None,
    ):
        """A body of triangles, or a cloud of points: (batch, count, 3) each."""
        written = summary.mesh(tag, vertices, colors, faces, config_dict)
        self._add(written, global_step, walltime)

    def add_pr_curve(
        self,
        tag,
        labels,
        predictions,
        global_step=None,
        num_thresholds=127,
        weights=None,
        walltime=None,
    ):
        written = summary.pr_curve(tag, labels, predictions, num_thresholds, weights)
        self._add(written, global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag,
        true_positive_counts,
        false_positive_counts,
        true_negative_counts,
        false_negative_counts,
        precision,
        recall,
        global_step=None,
        num_thresholds=127,
        weights=None,
        walltime=None,
    ):
        counts = (
            true_positive_counts,
            false_positive_counts,
            true_negative_counts,
            false_negative_counts,
        )
        written = summary.pr_curve_raw(tag, *counts, precision, recall, num_thresholds, weights)
        self._add(written, global_step, walltime)

    def add_custom_scalars_multilinechart(self, tags, category="default", title="untitled"):
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(self, tags, category="default", title="untitled"):
        if len(tags) != 3:
            raise AssertionError(f"Expected 3 tags, got {len(tags)}.")
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_custom_scalars(self, layout):
        self._add(summary.custom_scalars(layout))

    def flush(self):
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self):
        for writer in (self.all_writers or {}).values():
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_val, exc_tb):
        self.close()
