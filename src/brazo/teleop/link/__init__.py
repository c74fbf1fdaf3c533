"""The websocket link: wire format, both ends, clock offset, access rules, measured quality.

frames                       every message of wire format 1
MasterLink, FollowerLink     the two ends, each in a thread of its own
Inbox, View, Report          what an end received, and what a control loop exchanges with it
"""
