"""The websocket link: wire format, both peers, clock offset, access rules, measured quality.

frames                       all messages of wire format 1
MasterLink, FollowerLink     the two peers, each in its own thread
Inbox, LinkView, LinkReport  received frames, and the data exchanged with a control loop
"""
