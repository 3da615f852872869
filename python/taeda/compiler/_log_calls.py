"""What captures enter in place of functions of `logging`.

Whether a record is made depends on levels, which are guarded: a call below the level is captured. A
call that makes a record is one break, at the call itself: it reads the stack, the clock and the
process.
"""

import logging

__all__ = ["FUNCTIONS", "METHODS", "SUBSTITUTES"]

_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "exception": logging.ERROR,
    "critical": logging.CRITICAL,
}


METHODS = frozenset(getattr(logging.Logger, name) for name in (*_LEVELS, "log"))
FUNCTIONS = frozenset(getattr(logging, name) for name in (*_LEVELS, "log"))


def _is_enabled_for(self, level):
    """The levels themselves, in place of a cache behind a lock."""
    if self.disabled:
        return False
    manager = self.manager
    if self is not manager.root and manager.loggerDict.get(self.name) is not self:
        # Of a logger that no manager knows, nobody empties the cache.
        if level not in self._cache:
            self._cache[level] = _is_above(self, level)
        return self._cache[level]
    return _is_above(self, level)


def _is_above(self, level):
    return self.manager.disable < level and level >= self.getEffectiveLevel()


def _log(self, level, msg, *args, **kwargs):
    if not isinstance(level, int) or self.isEnabledFor(level):
        self._log(level, msg, args, **kwargs)


def _method(level):
    def log(self, msg, *args, **kwargs):
        if self.isEnabledFor(level):
            self._log(level, msg, args, **kwargs)

    return log


def _function(level):
    def log(msg, *args, **kwargs):
        # Without handlers the call makes one, whatever the level is.
        if not logging.root.handlers or logging.root.isEnabledFor(level):
            logging.root._log(level, msg, args, **kwargs)

    return log


SUBSTITUTES = {
    logging.Logger.isEnabledFor: _is_enabled_for,
    logging.Logger.log: _log,
    **{getattr(logging.Logger, name): _method(level) for name, level in _LEVELS.items()},
    **{getattr(logging, name): _function(level) for name, level in _LEVELS.items()},
}
