"""What happened at a station, by one clock."""

from brazo.teleop.stations.diary import KEPT, Diary


def test_entries_have_the_stations_time():
    diary = Diary()
    assert 0.0 <= diary.add("first") <= diary.now()
    assert diary.add("before it began", -1.0) == 0.0
    diary.add("third", 2.5)
    assert diary.last(1) == [(2.5, "third")]
    assert [text for _, text in diary.last(9)] == ["first", "before it began", "third"]


def test_reader_receives_every_entry_once():
    diary, read, seen = Diary(), 0, []
    for k in range(KEPT + 50):
        diary.add(f"entry {k}", float(k))
        if k % 7 == 0:
            read, lines = diary.after(read)
            seen += lines
    read, lines = diary.after(read)
    seen += lines
    assert seen == [f"{k:8.3f} s  entry {k}" for k in range(KEPT + 50)]
    assert diary.after(read) == (read, [])
