"""Lines of live plots, as a page without a browser asks for them."""

from __future__ import annotations


def test_a_plot_of_the_cell_before_this_one_is_asked_for_in_vain(running, line):
    with running("robot:scara1") as lab, line(lab) as page:
        page.send(["data/plot/1/history"])
        assert page.told["data/plot/1/all"]["y"]
        page.told.clear()
        lab.open("robot:scara2")
        page.send(["data/plot/1/history"])
        assert "data/plot/1/all" not in page.told
        assert "notice" not in page.told
