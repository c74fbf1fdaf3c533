"""Messages with the reason why a follower could not be reached."""

import socket
import ssl

import pytest

from brazo.teleop import MasterLink
from brazo.teleop.link.unreachable import in_words
from tests.teleop.rig import until


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ConnectionRefusedError(111, "Connect call failed"), "no answer from a:1; start"),
        (OSError("Multiple exceptions: [Errno 111] Connect"), "no answer from a:1; start"),
        (TimeoutError("timed out"), "no answer from a:1 in time"),
        (
            socket.gaierror(-2, "Name or service not known"),
            "unknown host name",
        ),
        (ConnectionResetError(104, "reset"), "a:1 closed the connection"),
        (EOFError(), "a:1 closed the connection"),
        (ssl.SSLError(1, "wrong version number"), "TLS with a:1 failed"),
        (OSError(13, "Connect call failed"), "a:1 cannot be reached: Permission denied"),
    ],
)
def test_connection_errors_have_readable_messages(error, said):
    words = in_words(error, "a:1")
    assert words.startswith(said) and "Errno" not in words


def test_master_reports_missing_follower():
    with socket.socket() as taken:  # bound, but not listening
        taken.bind(("127.0.0.1", 0))
        there = f"127.0.0.1:{taken.getsockname()[1]}"
        with MasterLink(there) as link:
            until(lambda: link.trouble, "trouble")
            start = "start `brazo teleop follower` there"
            assert link.trouble == f"no answer from {there}; {start}; retrying"
