"""The lab application: session, lab thread, display, jobs, replay, recordings and STOP."""
