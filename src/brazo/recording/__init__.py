"""What happened in a run, in columns with units, and the files it leaves as."""
