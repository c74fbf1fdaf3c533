"""Colours of figures and pages.

Those of lines stay apart for the colour-blind and in print: the set of Okabe and Ito, its black as
slate, its yellow, too light for thin lines, as olive, and a violet for its orange, which with the
vermilion is one colour to many.  Those of the first six differ most.
"""

COLORS = (
    "#0072b2",  # blue
    "#d55e00",  # vermilion
    "#009e73",  # green
    "#cc79a7",  # purple
    "#3a3f47",  # slate
    "#3ba3d8",  # sky
    "#7d6608",  # olive
    "#6a3d9a",  # violet
)
# The same on a dark page.
DARK_COLORS = (
    "#3d9fe0",
    "#f28a4b",
    "#3fcf9f",
    "#e3a0c6",
    "#e6eaf0",
    "#9fdcff",
    "#f0e36a",
    "#8468d6",
)
INK = "#1c2128"
SOFT = "#667081"
GRID = "#e4e7ec"
ON_COLOR = "#fffffe"  # text on a coloured bar
BAD = "#c0352b"
