"""Projects of a user: their files, named points, and the history of edits."""
