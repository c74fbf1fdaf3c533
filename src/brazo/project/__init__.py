"""What a person keeps: the files of a project, named points, and the history of edits."""
