"""Control of the follower: safety state machine, target tracking and contact wrench.

Time and received messages are arguments of all functions; the modules perform no I/O.
"""
