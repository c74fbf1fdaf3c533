"""Colours that stay apart for the colour-blind and in print (Okabe and Ito), in order of use."""

COLORS = (
    "#0072b2",  # blue
    "#d55e00",  # vermilion
    "#009e73",  # green
    "#cc79a7",  # purple
    "#b8860b",  # dark amber: the set's own orange and yellow are too light for thin lines
    "#56b4e9",  # sky
    "#5f4b8b",  # violet
    "#000000",
)
