"""Why a follower could not be reached, in words for whoever waits for it."""

from __future__ import annotations

import os
import socket
import ssl

from websockets.exceptions import ConnectionClosed


def in_words(error: Exception, there: str) -> str:
    """What an attempt to connect to `there` (host:port) ended with."""
    if isinstance(error, socket.gaierror):
        return f"unknown host name in {there}"
    if isinstance(error, ssl.SSLError):
        return f"TLS with {there} failed: {error.strerror or error}"
    # A name with several addresses, none of which answers, makes one error of them all.
    several = isinstance(error, OSError) and "Multiple exceptions" in str(error)
    if isinstance(error, ConnectionRefusedError) or several:
        return f"no answer from {there}; start `brazo teleop follower` there"
    if isinstance(error, TimeoutError):
        return f"no answer from {there} in time"
    if isinstance(error, (ConnectionError, ConnectionClosed, EOFError)):
        return f"{there} closed the connection"
    if isinstance(error, OSError) and error.errno is not None:
        return f"{there} cannot be reached: {os.strerror(error.errno)}"
    return f"{there} is not a follower: {error}"
