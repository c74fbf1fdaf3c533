"""The lab's side of the network: who may connect, the channel to the pages, files, and viser."""
