"""# Reinforcement learning

A policy learns to move the tool of a SCARA to a goal.  `brazo/Reach-v0` is a Gymnasium environment
of any robot; its vectorised form moves all robots in one native call, so that a generation of an
evolution strategy (CMA-ES) is one batch: every candidate policy has its own robots, which meet the
same goals.  It needs `pip install "brazo[gym]" cmaes`.
"""

import gymnasium
import numpy as np
from cmaes import SepCMA

ROBOT, N, STEPS = "scara2", 5, 40
CANDIDATES, GOALS, GENERATIONS = 32, 16, 40


def features(observation: np.ndarray) -> np.ndarray:
    """Joints, goal direction, their products (the entries of a Jacobian are such), and 1."""
    joints, direction = observation[..., :N], 8.0 * observation[..., 2 * N : 2 * N + 3]
    products = (direction[..., :, None] * joints[..., None, :]).reshape(*joints.shape[:-1], -1)
    return np.concatenate([joints, direction, products, np.ones((*joints.shape[:-1], 1))], axis=-1)


def returns(env, weights: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean return (policies,) and success rate of policies, one episode for each goal."""
    policies = len(weights)
    goals = env.num_envs // policies
    seeds = [seed + i for _ in range(policies) for i in range(goals)]
    observation, _ = env.reset(seed=seeds)
    total, running = np.zeros(env.num_envs), np.ones(env.num_envs, dtype=bool)
    reached = np.zeros(env.num_envs, dtype=bool)
    for _ in range(STEPS):
        known = features(observation.reshape(policies, goals, -1))
        action = np.tanh(known @ weights.swapaxes(-1, -2))
        observation, reward, ended, late, _ = env.step(action.reshape(env.num_envs, -1))
        total += np.where(running, reward, 0.0)
        reached |= ended & running
        running &= ~(ended | late)
    return total.reshape(policies, -1).mean(axis=1), reached.reshape(policies, -1).mean(axis=1)


env = gymnasium.make_vec(
    "brazo.study.gym:brazo/Reach-v0", CANDIDATES * GOALS, robot=ROBOT, steps=STEPS
)
size = features(env.observation_space.sample()).shape[-1]
search = SepCMA(mean=np.zeros(N * size), sigma=0.5, population_size=CANDIDATES, seed=1)
for generation in range(GENERATIONS):
    candidates = np.array([search.ask() for _ in range(CANDIDATES)])
    scores, _ = returns(env, candidates.reshape(CANDIDATES, N, size), seed=1000 * generation)
    search.tell([(x, -float(score)) for x, score in zip(candidates, scores, strict=True)])
    if generation % 20 == 19:
        print(f"generation {generation + 1:2d}: mean return {scores.mean():6.2f}")

test = gymnasium.make_vec("brazo.study.gym:brazo/Reach-v0", 200, robot=ROBOT, steps=STEPS)
untrained = np.random.default_rng(0).normal(0.0, 0.5, (1, N, size))
for name, weights in (("untrained", untrained), ("trained", search.mean.reshape(1, N, size))):
    score, success = returns(test, weights, seed=10**6)  # goals that were not in the training
    print(f"{name}: mean return {score[0]:.2f}, goal reached in {100 * success[0]:.0f} % of 200")
