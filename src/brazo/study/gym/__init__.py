"""Gymnasium environments of robots and cells (`pip install "brazo[gym]"`).

    import gymnasium
    import brazo.study.gym                                       # registers the environments

    env = gymnasium.make("brazo/Reach-v0", robot="puma560")      # one robot, no contacts
    many = gymnasium.make_vec("brazo/Reach-v0", 1024, robot="puma560")
    cell = gymnasium.make("brazo/CellReach-v0", cell="cooperative", robot="scara1")

The id `brazo.study.gym:brazo/Reach-v0` registers and makes an environment in a single call.
"""

from brazo.errors import BrazoError

try:
    import gymnasium as _gymnasium
except ImportError:
    raise BrazoError('environments need Gymnasium: pip install "brazo[gym]"') from None

from brazo.study.gym.cell_env import CellReachEnv
from brazo.study.gym.reach_env import ReachEnv, ReachVectorEnv
from brazo.study.gym.reach_task import ReachTask

__all__ = ["CellReachEnv", "ReachEnv", "ReachTask", "ReachVectorEnv", "register"]

REACH, CELL_REACH = "brazo/Reach-v0", "brazo/CellReach-v0"


def register() -> None:
    """Register the environments; called when this module is imported."""
    here = "brazo.study.gym"
    # The environments count their steps themselves, as a batch of them has to.
    if REACH not in _gymnasium.registry:
        _gymnasium.register(
            REACH, entry_point=f"{here}:ReachEnv", vector_entry_point=f"{here}:ReachVectorEnv"
        )
    if CELL_REACH not in _gymnasium.registry:
        _gymnasium.register(CELL_REACH, entry_point=f"{here}:CellReachEnv")


register()
