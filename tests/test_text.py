"""Escaping of untrusted text: no control character reaches a terminal, a log or a workbook."""

import json
import re
import unicodedata
import zipfile

import msgspec
import numpy as np
import pytest
import python_calamine

import brazo
from brazo.cli.output import print_json, print_line, table
from brazo.recording import Recorder, Recording
from brazo.teleop.link import wire_format
from brazo.teleop.link.wire_format import Answer, Hello, Refused, Setting, Status, Welcome
from brazo.teleop.stations.station_log import StationLog
from brazo.text import is_one_line, json_text, one_line, printable

FORGED = "arm\n   1.000 s  STOP pressed\x1b[2J\x9b31m\u202egnp\u2028.\ud800"


def safe(text: str) -> bool:
    """No control character, no line break, no mark that turns the direction."""
    return not any(
        unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")
        or unicodedata.bidirectional(c) in ("RLO", "LRO", "RLI", "LRI")
        for c in text
    )


def test_every_control_character_is_escaped():
    every = "".join(map(chr, range(0x3000))) + "\ud800\udfff"
    shown = one_line(every)
    assert safe(shown) and shown.encode("utf-8")
    assert is_one_line(shown) and not is_one_line(FORGED) and not safe(FORGED)
    assert one_line("café, 手, a\\b") == "café, 手, a\\b"
    assert printable("a\nb\x1b") == "a\nb\\x1b"


def test_json_keeps_its_meaning():
    document = json.dumps({"name": FORGED}, ensure_ascii=False, indent=1)
    assert json.loads(json_text(document)) == {"name": FORGED}
    assert safe(json_text(document).replace("\n", ""))


def test_the_shell_prints_a_name_on_one_line(capsys):
    print_line(f"robot {FORGED}")
    table("", ("name",), [(FORGED,)])
    print_json({"name": FORGED})
    out = capsys.readouterr().out
    assert "STOP pressed" in out
    assert not any(line.strip().startswith("1.000 s") for line in out.splitlines())
    assert not set(out) & set("\x1b\x9b\u202e\u2028\ud800")


def test_diary_and_event_log_have_one_line_per_entry():
    log = StationLog()
    log.add(f"'{FORGED}' is connected")
    _, lines = log.after(0)
    assert len(lines) == 1 and safe(lines[0])
    sim = brazo.Simulation("solo-puma560", {"puma560": None})
    event = sim.log("link", f"'{FORGED}' is connected")
    assert safe(event.text)


def test_texts_from_a_peer_are_one_line():
    def read(frame, reader):
        return reader(msgspec.msgpack.encode(frame))

    name, text = FORGED[:-1], "stale\n    9.000 s  STOP pressed"
    hello = read(Hello(1, "master", name), wire_format.read_from_master)
    assert safe(hello.name) and len(hello.name) <= 64
    setting = read(Setting(7, 1, 0, 0, "sc\nale", "a\x1b"), wire_format.read_from_master)
    assert (setting.name, setting.value) == ("sc\\nale", "a\\x1b")
    for frame in (
        Welcome(1, 7, name, 3),
        Refused("bu\nsy", text),
        Status(7, 1, 0, 0, 3, text, 0.0, 0, 0, (), None, None, (text, "near")),
        Answer(7, 1, 0, 0, 1, True, text),
    ):
        found = read(frame, wire_format.read_from_follower)
        texts = [v for v in msgspec.structs.astuple(found) if isinstance(v, str)]
        texts += getattr(found, "warnings", ())
        assert texts and all(map(is_one_line, texts))


def test_a_recorder_escapes_names_and_events(tmp_path):
    with Recorder(tmp_path / "run.parquet", {"t": "s", "arm.q.a\nb": "rad\x1b"}) as recorder:
        recorder.append([0.0, 1.0])
        recorder.event(0.0, "note\n", FORGED)
    run = Recording.open(tmp_path / "run.parquet")
    assert list(run) == ["t", "arm.q.a\\nb"] and run.unit("arm.q.a\\nb") == "rad\\x1b"
    assert safe(run.events[0].text) and run.events[0].kind == "note\\n"


def test_name_with_control_characters_in_a_foreign_file_is_rejected(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as parquet

    path = tmp_path / "foreign.parquet"
    parquet.write_table(pa.table({"t": [0.0], "a\x1b[2J": [1.0]}), path)
    with pytest.raises(brazo.BrazoError, match=r"foreign.parquet: a signal cannot be named"):
        Recording.open(path)
    path = tmp_path / "foreign.csv"
    path.write_text('t,"a\nb"\n0,1\n')
    with pytest.raises(brazo.BrazoError, match=r"foreign.csv:1: a signal cannot be named"):
        Recording.open(path)


FORMULAS = ["=1+1", "+1", "-1.x", "@SUM(A1)", "'=x", "''", "＝1", "'plain"]


def test_name_that_looks_like_a_formula_survives_csv_as_text(tmp_path):
    columns = {name: (np.zeros(2), name) for name in FORMULAS}
    run = Recording({"t": (np.arange(2.0), "s"), **columns})
    path = run.to_csv(tmp_path / "run.csv")
    head = path.read_text(encoding="utf-8").splitlines()[:2]
    assert not any(cell[:1] in "=+-@＝" for line in head for cell in line.split(","))
    back = Recording.open(path)
    assert list(back) == ["t", *FORMULAS]
    assert [back.unit(name) for name in FORMULAS] == FORMULAS


def test_a_name_that_looks_like_a_formula_is_text_in_a_workbook(tmp_path):
    names = ["=Sheet1!$A$1.q.=Sheet1!$B$2", "+a.q.-b", "@c.q.{=1}"]
    run = Recording(
        {"t": (np.arange(3.0), "s"), **{name: (np.arange(3.0), "=1+1") for name in names}},
        [{"t": 0.0, "kind": "=1+1", "text": "@x\ny"}],
        {"=1+1": "=cmd|' /c calc'!A0"},
    )
    path = run.to_xlsx(tmp_path / "run.xlsx")
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name).decode() for name in book.namelist() if "xml" in name}
    for name, text in parts.items():
        if name.startswith("xl/worksheets"):
            assert "<f>" not in text
        if name.startswith("xl/charts/"):
            # Only the ranges of the chart's own data are references.
            assert all(f.startswith("'chart data'!") for f in re.findall("<c:f>(.*?)</c:f>", text))
    book = python_calamine.CalamineWorkbook.from_path(path)
    assert book.get_sheet_by_name("data").to_python()[:2] == [["t", *names], ["s", *["=1+1"] * 3]]
    assert book.get_sheet_by_name("events").to_python()[1][1:] == ["=1+1", "@x\\ny"]


def test_generated_code_contains_no_line_from_a_name(tmp_path):
    arm = brazo.load("scara2")
    import dataclasses

    model = dataclasses.replace(arm.model, name="arm\nimport os\n")
    from brazo.dynamics.symbolic import derive

    equations = derive(model)
    written = [equations.python(), equations.text(), *equations.c().values()]
    written += equations.octave().values()
    assert not any(line.startswith("import os") for text in written for line in text.splitlines())
