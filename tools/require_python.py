"""Stop with one clear line when the Python that make found is too old for brazo.

Written for any Python 3, since the interpreter it judges is the one that runs it.
"""

import sys

WANTED = (3, 11)

if sys.version_info[:2] < WANTED:
    sys.exit(
        "brazo: needs Python {0}.{1} or newer, but {2} is {3}.{4}. "
        "Install a newer one and say: make PYTHON=python{0}.{1} ...".format(
            WANTED[0], WANTED[1], sys.executable, sys.version_info[0], sys.version_info[1]
        )
    )
