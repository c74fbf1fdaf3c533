"""The lab's web server: access rules, the channel to the pages, file transfers and viser."""
