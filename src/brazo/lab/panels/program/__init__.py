"""Program panel: edits and runs robot programs."""
