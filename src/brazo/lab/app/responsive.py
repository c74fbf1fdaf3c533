"""Interpreter settings that reduce the latency of threads, in particular of STOP.

A thread waits for the GIL for one switch interval (5 ms by default) per busy thread, and a STOP
passes through two threads.  The lab therefore sets a shorter switch interval.

A garbage collection pauses every thread, for about 1 µs per object that it visits.  An open lab has
more than 100 000 objects.  The objects that exist when it opens, and those that survive a full
collection, are therefore excluded from later collections (`gc.freeze`).  Full collections are
frequent and visit only the objects created since the previous full collection.  Frozen objects that
have become garbage are collected by `rest`, which the lab calls while it is idle and nothing moves.
If the lab is never idle, they are collected after `LATEST` full collections.

The settings apply to the process.  The original settings are restored when its last lab closes.
"""

from __future__ import annotations

import gc
import sys
import threading

SWITCH_INTERVAL = 0.0005  # s
THRESHOLDS = (700, 5, 1)  # a full collection after about 700 · 6 · 2 more objects
DUE = 20  # full collections after which frozen objects are visited too, if the lab is idle
LATEST = 400  # … and in any case

_lock = threading.Lock()
_labs = 0
_before = 0.0  # the switch interval without a lab
_thresholds = gc.get_threshold()  # without a lab
_collections = 0  # full collections since frozen objects were visited


def begin() -> None:
    """Apply the settings of this module; called when a lab opens."""
    global _labs, _before, _thresholds, _collections
    with _lock:
        _labs += 1
        if _labs == 1:
            _before, _thresholds = sys.getswitchinterval(), gc.get_threshold()
            sys.setswitchinterval(min(SWITCH_INTERVAL, _before))
            gc.set_threshold(*THRESHOLDS)
            gc.callbacks.append(_collected)
        gc.freeze()  # without a collection, which would delay the start
        _collections = 0


def end() -> None:
    """Restore the original settings when the last lab of the process closes."""
    global _labs
    with _lock:
        _labs -= 1
        if _labs == 0:
            sys.setswitchinterval(_before)
            gc.set_threshold(*_thresholds)
            gc.callbacks.remove(_collected)
            gc.unfreeze()


def rest() -> None:
    """Collect all garbage, including frozen objects; called while the lab is idle.

    Nothing is done if there were fewer than `DUE` full collections since the frozen objects were
    last included.
    """
    if _collections >= DUE:
        with _lock:
            _collect_all()


def _collected(phase: str, info: dict[str, int]) -> None:
    global _collections
    if phase == "stop" and info["generation"] == 2:
        _collections += 1
        if _collections >= LATEST:
            _collections = 0
            gc.unfreeze()  # the next full collection visits all objects
        else:
            gc.freeze()


def _collect_all() -> None:
    global _collections
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    _collections = 0
