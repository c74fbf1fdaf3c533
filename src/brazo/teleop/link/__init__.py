"""The websocket link between master and follower.

wire_format                  all messages (frames) of wire format 1
MasterLink, FollowerLink     the two peers, each in its own thread
Inbox                        selection of valid received frames
LinkView, LinkReport         data exchanged with the control loop of the follower
"""
