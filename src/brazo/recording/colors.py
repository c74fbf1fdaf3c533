"""Colours of figures and pages.

Those of lines stay apart for the colour-blind and in print: the set of Okabe and Ito, whose yellow
and orange, too light for thin lines, are darkened.
"""

COLORS = (
    "#0072b2",  # blue
    "#d55e00",  # vermilion
    "#009e73",  # green
    "#cc79a7",  # purple
    "#a8780a",  # amber
    "#3ba3d8",  # sky
    "#5f4b8b",  # violet
    "#3a3f47",  # slate
)
# The same on a dark page.
DARK_COLORS = (
    "#4db1ec",
    "#f28a4b",
    "#3fcf9f",
    "#e3a0c6",
    "#dcb04a",
    "#8fd0f5",
    "#a796d8",
    "#c3cad4",
)
INK = "#1c2128"
SOFT = "#667081"
GRID = "#e4e7ec"
ON_COLOR = "#fffffe"  # text on a coloured bar
BAD = "#c0352b"
