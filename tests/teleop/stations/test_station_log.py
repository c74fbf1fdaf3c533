"""What happened at a station, by one clock."""

from brazo.teleop.stations.station_log import KEPT, StationLog


def test_entries_have_the_stations_time():
    log = StationLog()
    assert 0.0 <= log.add("first") <= log.now()
    assert log.add("before it began", -1.0) == 0.0
    log.add("third", 2.5)
    assert log.last(1) == [(2.5, "third")]
    assert [text for _, text in log.last(9)] == ["first", "before it began", "third"]


def test_reader_receives_every_entry_once():
    log, read, seen = StationLog(), 0, []
    for k in range(KEPT + 50):
        log.add(f"entry {k}", float(k))
        if k % 7 == 0:
            read, lines = log.after(read)
            seen += lines
    read, lines = log.after(read)
    seen += lines
    assert seen == [f"{k:8.3f} s  entry {k}" for k in range(KEPT + 50)]
    assert log.after(read) == (read, [])
