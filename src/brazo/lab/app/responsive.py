"""Interpreter settings that reduce the latency of threads, in particular of STOP.

A thread waits for the GIL for one switch interval (5 ms by default) per busy thread, and a STOP
passes through two threads.  A full garbage collection pauses every thread while it visits all
objects, about 100 000 in an open lab; objects that exist when the lab opens are excluded
(`gc.freeze`).  Both settings apply to the process and are restored when its last lab closes.
"""

from __future__ import annotations

import gc
import sys
import threading

SWITCH_INTERVAL = 0.0005  # s

_lock = threading.Lock()
_labs = 0
_before = 0.0  # the switch interval without a lab


def begin() -> None:
    """Apply the settings; called when a lab opens."""
    global _labs, _before
    with _lock:
        _labs += 1
        if _labs == 1:
            _before = sys.getswitchinterval()
            sys.setswitchinterval(min(SWITCH_INTERVAL, _before))
        gc.collect()  # frozen garbage would never be freed
        gc.freeze()


def end() -> None:
    """Restore the settings after the last lab has closed."""
    global _labs
    with _lock:
        _labs -= 1
        if _labs == 0:
            sys.setswitchinterval(_before)
            gc.unfreeze()
