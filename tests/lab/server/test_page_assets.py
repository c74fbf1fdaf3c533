"""The page's own files, as text."""

from __future__ import annotations

import re
from collections import Counter

from brazo.lab.server.shell import ASSETS


def test_no_two_modules_define_one_element():
    """The second would not be made, and its style would spoil the first's."""
    scripts = [path for path in ASSETS.values() if path.suffix == ".js"]
    text = "\n".join(path.read_text(encoding="utf-8") for path in scripts)
    names = Counter(re.findall(r'customElements\.define\(\s*"([a-z-]+)"', text))
    assert len(names) > 10
    assert [name for name, count in names.items() if count > 1] == []
