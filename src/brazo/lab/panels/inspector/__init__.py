"""Inspector panel: kinematics and dynamics of the selected robot."""
