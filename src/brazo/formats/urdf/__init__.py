"""URDF and xacro: the reader (`reader.read_urdf`) and the writer (`writer.export_urdf`)."""
