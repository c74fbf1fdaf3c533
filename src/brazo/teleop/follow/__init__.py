"""The follower's control loop: safety state machine, target tracking, contact wrench.

All functions here take the time and the received messages as arguments, without I/O of their own.
"""
