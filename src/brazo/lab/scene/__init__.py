"""What is drawn: the cell, the overlays, the colours and the drag handle."""
