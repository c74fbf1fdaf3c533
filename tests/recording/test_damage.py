"""A damaged recording never gives wrong values: damage is reported and intact rows can be saved."""

import numpy as np
import pytest

import brazo
from brazo.recording.conversion import convert
from brazo.recording.part_file import MAGIC
from brazo.recording.recording import Recording
from brazo.recording.source import open_source
from brazo.recording.stream import Recorder

ROWS, FLIPS = 40_000, 200
COLUMNS = {"t": "s", "arm.q.elbow": "rad", "arm.torque.elbow": "N m"}


def table():
    t = 1e-3 * np.arange(ROWS)
    return np.column_stack([t, np.sin(t), np.random.default_rng(1).normal(size=ROWS)])


def recorded(path):
    recorder = Recorder(path, COLUMNS, {"cell": "test"})
    for at in range(0, ROWS, 2000):
        recorder.append_block(table()[at : at + 2000])
        recorder.event(at * 1e-3, "mark", f"row {at}", row=at)
    return recorder


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    recorded(folder / "run.parquet").close()
    recorder = recorded(folder / "killed.parquet")
    recorder.abandon()
    return {"parquet": folder / "run.parquet", "part": recorder.part}


def content(source):
    return list(source.units.items()), source.events, source.about["cell"], source.columns()


def same(first, second):
    return first[:3] == second[:3] and all(
        np.array_equal(first[3][name][0], second[3][name][0]) for name in COLUMNS
    )


@pytest.mark.parametrize("kind", ["parquet", "part"])
def test_flipped_bit_is_detected_or_harmless(files, tmp_path, kind):
    path = files[kind]
    whole, wanted = bytearray(path.read_bytes()), content(open_source(path))
    rng = np.random.default_rng(7)
    places = rng.integers(8 * len(whole), size=FLIPS)
    # Flip more bits in the small structures at both ends.
    places[::4] = rng.integers(8 * 4096, size=len(places[::4]))
    places[1::4] = 8 * len(whole) - 1 - rng.integers(8 * 4096, size=len(places[1::4]))
    target = tmp_path / path.name
    noticed = 0
    for place in places:
        whole[place // 8] ^= 1 << (place % 8)
        target.write_bytes(whole)
        whole[place // 8] ^= 1 << (place % 8)
        try:
            assert same(content(open_source(target)), wanted), place
        except brazo.BrazoError as error:
            assert str(target) in str(error)
            noticed += 1
    assert noticed > 0.8 * FLIPS


@pytest.mark.parametrize("kind", ["parquet", "part"])
def test_the_intact_rows_of_a_damaged_file_are_saved(files, tmp_path, kind):
    path = files[kind]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    target = tmp_path / path.name
    target.write_bytes(data)
    with pytest.raises(brazo.BrazoError, match=r"damaged.*--salvage"):
        Recording.open(target)
    with pytest.raises(brazo.BrazoError, match="damaged"):
        convert(target, tmp_path / "rest.parquet")
    rest = Recording.open(convert(target, tmp_path / "rest.parquet", salvage=True))
    assert ROWS - 16_384 <= len(rest) < ROWS
    found, wanted = np.column_stack([rest[name] for name in rest]), table()
    kept = np.isin(wanted[:, 0], found[:, 0])
    assert np.array_equal(found, wanted[kept])
    assert target.exists()


def test_damaged_header_loses_one_frame(files, tmp_path):
    """Reading resumes at the next frame after a damaged header."""
    data = bytearray(files["part"].read_bytes())
    header = data.find(MAGIC, len(data) // 2)
    data[header + 9] ^= 0x10
    target = tmp_path / "killed.parquet.part"
    target.write_bytes(data)
    source = open_source(target, salvage=True)
    assert source.rows in (ROWS, ROWS - 2000)  # an event's frame, or one of rows
    assert len(source.damage) == 1 and "unreadable frame" in source.damage[0]


def test_other_programs_detect_damaged_pages(files, tmp_path):
    import pyarrow.parquet

    data = bytearray(files["parquet"].read_bytes())
    data[len(data) // 2] ^= 1
    target = tmp_path / "run.parquet"
    target.write_bytes(data)
    with pytest.raises(OSError, match=r"(?i)crc"):
        pyarrow.parquet.read_table(target, page_checksum_verification=True)
