"""The table of stored rows of the Data panel, without a browser."""

from __future__ import annotations

import csv
import io

import numpy as np

from brazo.lab.panels.data.row_table import PAGE


def test_the_rows_of_the_last_minute_are_a_table_and_a_file(running, line, fetch):
    with running("robot:scara1") as lab, line(lab) as page:
        panel = lab.panels["data"]
        lab.do(lab.sim.player.pause)
        lab.sim.step(round(1.5 / lab.sim.dt))
        page.send(["data/rows-refresh"])
        shown = panel._stored._page()
        joints = list(lab.robot.arm.joint_names)
        assert [title for title, _ in shown["columns"]] == ["Time", *joints]
        kinds = [str(joint.kind) for joint in lab.robot.arm.model.joints]
        units = [{"revolute": "deg", "prismatic": "mm"}[kind] for kind in kinds]
        assert [unit for _, unit in shown["columns"]] == ["s", *units] and "mm" in units
        assert shown["count"] > PAGE and shown["first"] == PAGE  # the newest rows
        page.send(["data/rows-page", 0])
        assert panel._stored._page()["first"] == 0 and len(panel._stored._page()["rows"]) == PAGE
        page.send(["data/rows-group", "scara1.qd"], ["data/rows-csv"])
        in_view = [unit for _, unit in panel._stored._page()["columns"]]  # SI in the file
        assert in_view == ["s", *(f"{unit}/s" for unit in units)]
        offer = page.reported["download"]
        assert offer["name"] == "scara1-scara1.qd.csv"
        found = list(csv.reader(io.StringIO(fetch(lab, offer["address"]).body.decode())))
        assert found[0] == ["t", *(f"scara1.qd.{joint}" for joint in joints)]
        assert found[1] == ["s", *("m/s" if unit == "mm" else "rad/s" for unit in units)]
        rows = np.array(found[2:], float)
        assert len(rows) == shown["count"]
        assert np.array_equal(rows, lab.live.rows(lab.live.first, found[0]))
