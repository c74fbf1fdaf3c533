"""Robot files in YAML: the reader (`robot_file.RobotFile`) and the writer (`writer`)."""
