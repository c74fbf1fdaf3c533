"""Lines of live plots, requested by a page without a browser."""

from __future__ import annotations


def test_request_for_a_plot_of_the_previous_cell_is_ignored(running, line):
    with running("robot:scara1") as lab, line(lab) as page:
        page.send(["data/plot/1/history"])
        assert page.reported["data/plot/1/all"]["y"]
        page.reported.clear()
        lab.open("robot:scara2")
        page.send(["data/plot/1/history"])
        assert "data/plot/1/all" not in page.reported
        assert "notice" not in page.reported


def test_removed_plot_leaves_no_data(running, line):
    with running() as lab, line(lab) as page:
        page.send(["panels-shown", ["data"]])
        panel, channel = lab.panels["data"], lab.channel

        def plots(names) -> set[str]:
            return {name for name in names if name.startswith("data/plot/")}

        before = plots(channel._values), plots(channel._wanted)
        assert all(before)
        for _ in range(12):
            page.send(["data/add-plot"])
            page.send(["data/remove-plot", panel._plots[-1].number])
        assert (plots(channel._values), plots(channel._wanted)) == before
        # Plots of a closed cell are removed; the others stay: 1 does not match 10.
        while panel._plots[-1].number < 17:
            page.send(["data/remove-plot", panel._plots[-1].number], ["data/add-plot"])
        page.send(["data/remove-plot", 1])
        last = panel._plots[-1].number
        assert last >= 10 and channel.get(f"data/plot/{last}/lines") is not None
        assert f"data/plot/{last}/history" in channel._wanted
        page.send(["open", "robot:panda"])
        kept = {name.split("/")[2] for name in plots(channel._values)}
        assert kept == {str(one.number) for one in panel._plots}
