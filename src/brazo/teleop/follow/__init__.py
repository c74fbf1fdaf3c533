"""Control of the follower: safety state machine, target tracking and contact wrench.

The modules perform no I/O: time and received messages are arguments.
"""
