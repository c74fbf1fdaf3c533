"""Messages for failed attempts to connect to a follower."""

from __future__ import annotations

import os
import socket
import ssl

from websockets.exceptions import ConnectionClosed


def in_words(error: Exception, there: str) -> str:
    """Return a message for a failed attempt to connect to the host:port `there`."""
    if isinstance(error, socket.gaierror):
        return f"unknown host name in {there}"
    if isinstance(error, ssl.SSLError):
        return f"TLS with {there} failed: {error.strerror or error}"
    # If a host name has several addresses and none answers, asyncio combines the errors into one.
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
