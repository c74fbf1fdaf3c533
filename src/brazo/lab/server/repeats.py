"""Log filter that replaces repeated messages by one line per second with their count."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict

from brazo.text import trace_text

PERIOD = 1.0  # s
MAX_KINDS = 100  # max number of kinds of messages tracked


class Repeats(logging.Filter):
    """Log filter that passes one record of each kind per `period` (s), and counts the others.

    At the end of the period, a summary line with the count is logged.  Records are of the same kind
    if they have the same format string and, for logged exceptions, the same exception type and line
    of code.  Control characters in a traceback are escaped.
    """

    def __init__(self, period: float = PERIOD) -> None:
        super().__init__()
        self._period = period
        self._lock = threading.Lock()
        self._kinds: OrderedDict[tuple[object, ...], _Kind] = OrderedDict()

    def filter(self, record: logging.LogRecord) -> bool:
        if getattr(record, "repeats", None) is not None:
            return True  # a summary of this filter
        now = time.monotonic()
        name = _name(record)
        with self._lock:
            kind = self._kinds.setdefault(name, _Kind())
            if now >= kind.quiet_until:
                kind.quiet_until = now + self._period
                self._kinds.move_to_end(name)
                while len(self._kinds) > MAX_KINDS:
                    self._kinds.popitem(last=False)
                if record.exc_info and record.exc_info[1] is not None:
                    record.exc_text = trace_text(record.exc_info[1])
                return True
            kind.count += 1
            kind.last = record
            if kind.count == 1:
                self._sum_up_at(kind, kind.quiet_until - now)
        return False

    def _sum_up_at(self, kind: _Kind, wait: float) -> None:
        timer = threading.Timer(wait, self._sum_up, [kind])
        timer.daemon = True
        timer.start()

    def _sum_up(self, kind: _Kind) -> None:
        with self._lock:
            count, last = kind.count, kind.last
            kind.count, kind.quiet_until = 0, time.monotonic() + self._period
        assert last is not None
        line = f"{last.getMessage()} ({count} more in the last {self._period:g} s)"
        if last.exc_info:
            line += f": {last.exc_info[1]!r}"
        record = logging.LogRecord(
            last.name, last.levelno, last.pathname, last.lineno, line, None, None
        )
        record.repeats = count
        logging.getLogger(last.name).handle(record)


def _name(record: logging.LogRecord) -> tuple[object, ...]:
    error = record.exc_info[1] if record.exc_info else None
    trace = None if error is None else error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = (trace.tb_frame.f_code, trace.tb_lineno) if trace is not None else ()
    return (str(record.msg), type(error), *where)


class _Kind:
    def __init__(self) -> None:
        self.quiet_until = 0.0
        self.count = 0
        self.last: logging.LogRecord | None = None
