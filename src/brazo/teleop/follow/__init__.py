"""The follower's control loop: safety state machine, target tracking, contact wrench.

Everything here is pure: time and what the link received are arguments.
"""
