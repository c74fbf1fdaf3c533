"""# Studies

Many runs instead of one: the gains of a PID controller over a range, with payloads that it does not
know, measured and ranked against computed torque.
"""

import numpy as np

import brazo
from brazo.control import PID, ComputedTorque, LoopConditions
from brazo.control.benchmark import quintic
from brazo.study import Case, Study, StudyFault, loguniform, uniform

# A thousand closed loops in one call: gains and payload have a leading dimension.
arm = brazo.load("scara2")
pid = PID()
pid.bind(arm, dt=1e-3)
rng = np.random.default_rng(0)
scale = rng.uniform(0.3, 2.0, (1000, 1))
runs = arm.closed_loop(
    pid,
    quintic(arm),
    t_end=0.5,
    gains={"kp": scale * pid.gains["kp"]},
    conditions=LoopConditions(payload=rng.uniform(0.0, 1.0, 1000)),
)
error = runs.metrics["rms_error.tool"]
print(f"RMS tool error: {1e3 * error.min():.2f} to {1e3 * error.max():.2f} mm")
print(f"smallest at kp x {scale[error.argmin(), 0]:.2f}")

# The same as a study: sampled factors, cases with faults, a criterion of success.
study = Study(
    "scara2",
    {"PID": PID(), "computed torque": ComputedTorque()},
    tasks=["quintic"],
    cases=[
        Case(),
        Case("weak elbow", faults=(StudyFault("torque loss", "elbow", at=0.2, value=0.3),)),
    ],
    factors={"payload": uniform(0.0, 1.0), "PID.kp.scale": loguniform(0.5, 2.0)},
    samples=64,
    sampling="sobol",
    duration=0.5,
    success={"max_error.tool": 0.02},
)
results = study.run("pid-study")  # run again, it continues or returns the results
print(results)
for rank in results.ranking("scara2"):
    good = rank.success
    print(
        f"{rank.rank}. {rank.controller}: {1e3 * rank.score.value:.2f} mm, "
        f"success {100 * good.value:.0f} % ({100 * good.low:.0f} to {100 * good.high:.0f} %)"
    )
print("report:", results.to_html("pid-study/report.html"))
