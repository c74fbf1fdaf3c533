"""Colours of figures and pages.

Line colours are distinguishable with colour blindness and in print.  They are the Okabe-Ito set,
with slate instead of black, olive instead of yellow (too light for thin lines) and violet instead
of orange (too close to vermilion).  The first six differ most.
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
# The same colours for a dark page.
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
