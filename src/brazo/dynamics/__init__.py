"""How forces move a robot: Newton–Euler, mass matrix, Coriolis, gravity, friction, energy."""
