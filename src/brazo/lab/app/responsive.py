"""Settings of the interpreter with which a thread that has something urgent to do runs soon.

A thread waits for the interpreter's lock for the switch interval, five milliseconds by default,
for each thread that computes; STOP passes through two.  A full garbage collection stops every
thread while it visits all objects, some 100 000 once a lab is open; objects that exist when the lab
opens are exempted (`gc.freeze`).  Both settings are the process's: they are restored when its last
lab ends.
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
    """A lab has opened."""
    global _labs, _before
    with _lock:
        _labs += 1
        if _labs == 1:
            _before = sys.getswitchinterval()
            sys.setswitchinterval(min(SWITCH_INTERVAL, _before))
        gc.collect()  # garbage must not be kept for good
        gc.freeze()


def end() -> None:
    """A lab has ended."""
    global _labs
    with _lock:
        _labs -= 1
        if _labs == 0:
            sys.setswitchinterval(_before)
            gc.unfreeze()
