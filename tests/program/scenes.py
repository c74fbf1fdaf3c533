"""Small cells and programs the tests share."""

from __future__ import annotations

from pathlib import Path

from brazo.program import Execution, Program, parse_program
from brazo.simulation import Simulation
from brazo.world import parse_cell

ARM = "robots: [{name: arm, robot: scara2, start: [60deg, 0, 0, 5cm, 0]}]\n"
PILLAR = "fixtures: [{name: pillar, box: [6cm, 6cm, 1m], xyz: [0.45, 0, 0.5]}]\n"
# A bar on a table, within reach and with room for the fingers.
BAR = (
    "robots: [{name: arm, robot: scara2, start: [30deg, 45deg, 45deg, 2cm, 0],"
    " parameters: {L_base: 0.305}}]\n"
    "floor: {height: 0}\n"
    "bodies: [{name: bar, box: [40cm, 3cm, 3cm], mass: 0.3, xyz: [0.3, 0.2, 15mm]}]\n"
)
TWO = (
    "robots:\n"
    "  - {name: left, robot: scara2, start: [90deg, 0, 0, 5cm, 0]}\n"
    "  - {name: right, robot: scara2, base: {xyz: [0.9, 0, 0]}, start: [90deg, 0, 0, 5cm, 0]}\n"
)


def sim_of(cell: str, **options) -> Simulation:
    text = f"name: test\n{cell}" if "floor" in cell else f"name: test\nfloor: none\n{cell}"
    return Simulation(parse_cell(text, Path("cell.yaml")), **options)


def program_of(robots: str, head: str = "") -> Program:
    """A program from its robots' blocks, e.g. `arm: [{wait: 1s}]`."""
    block = "\n".join(f"  {line}" for line in robots.strip("\n").splitlines())
    return parse_program(f"name: test\n{head}robots:\n{block}\n", Path("task.yaml"))


def run(sim: Simulation, program: Program, until: float = 30.0, **options) -> Execution:
    """A program to its end, without a recording."""
    execution = program.start(sim, **options)
    while not execution.done and sim.time < until:
        sim.step()
    return execution


def texts(sim: Simulation, kind: str) -> list[str]:
    return [event.text for event in sim.events if event.kind == kind]
