"""The lab itself: what is open, the thread that runs it, jobs, replay, recordings, STOP."""
