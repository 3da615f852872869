"""Anomaly mode: tells where the forward call was whose backward failed or made NaN."""

from taeda import _C


class set_detect_anomaly:
    """Switches anomaly mode at once; as a context manager also sets it back."""

    def __init__(self, mode, check_nan=True):
        self.prev = _C.is_anomaly_enabled()
        self.prev_check_nan = _C.is_anomaly_check_nan_enabled()
        _C.set_anomaly_enabled(mode, check_nan)

    def __enter__(self):
        pass

    def __exit__(self, *_):
        _C.set_anomaly_enabled(self.prev, self.prev_check_nan)


class detect_anomaly:
    """Anomaly mode inside a `with` block; every recorded operation keeps its stack."""

    def __init__(self, check_nan=True):
        from warnings import warn

        self.check_nan = check_nan
        warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self):
        self.prev = _C.is_anomaly_enabled()
        self.prev_check_nan = _C.is_anomaly_check_nan_enabled()
        _C.set_anomaly_enabled(True, self.check_nan)

    def __exit__(self, *_):
        _C.set_anomaly_enabled(self.prev, self.prev_check_nan)
