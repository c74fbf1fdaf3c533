"""Scene panel: shows and edits the elements of the cell."""
