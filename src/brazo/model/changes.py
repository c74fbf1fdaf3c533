"""Changes of tool, base or limits for models that were not read from a robot file.

A robot file has fields for these values. Models of other formats are changed by this module after
they are built.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from brazo.errors import BrazoError
from brazo.model.description import IDENTITY, Array, Joint, Model, Part, TreeModel, frozen
from brazo.model.payload import Carrying

_ROUNDING = 1e-12  # rad and m, of limits that are converted to those of the master joint

Rebuild = Callable[[Mapping[str, float]], Model]


@dataclass(frozen=True, eq=False)
class Changed:
    """Function that rebuilds a model with another tool, base or limits.

    A field that is None leaves the value of the model unchanged.
    """

    rebuild: Rebuild  # of the model without the changes
    tool: Array | None = None  # (4, 4) tool in the tip link
    base: Array | None = None  # (4, 4) the robot's first frame in the base frame
    limits: Array | None = None  # (n, 2)

    def __call__(self, overrides: Mapping[str, float]) -> Model:
        return self.applied(self.rebuild(overrides))

    def applied(self, model: Model) -> Model:
        """Return the model with the changes applied."""
        model = model.require_tree(
            "only serial arms and trees support changes of tool, base and limits"
        )
        if self.tool is not None:
            model = replace(model, tool=frozen(tip_frame(model) @ self.tool))
        if self.limits is not None:
            model = _limited(model, self.limits)
        return model if self.base is None else _placed(model, self.base)


def changed(rebuild: Rebuild, **values: Array) -> Changed | Carrying:
    """Return a function that calls `rebuild` and changes tool, base or limits of the model.

    `values` are fields of `Changed`. They replace earlier changes of the same fields. A payload is
    applied last, because it is given in the tool frame.
    """
    if isinstance(rebuild, Carrying):
        return replace(rebuild, rebuild=changed(rebuild.rebuild, **values))
    if isinstance(rebuild, Changed):
        return replace(rebuild, **values)
    return Changed(rebuild, **values)


def tip_frame(model: TreeModel) -> Array:
    """Return the pose (4, 4) of the tip link in the frame of the body that contains it.

    A body consists of links that are connected by fixed joints. The tip link is the one that
    carries the tool.
    """
    choice = model.tip_choice
    return IDENTITY if choice is None else model.named_frames[choice.link][1]


def _limited(model: TreeModel, limits: Array) -> TreeModel:
    """Return the model with other joint limits (n, 2) in rad or m.

    The limits of mimic joints do not change. An error is raised if a mimic joint could exceed its
    own limits while the joint that it mimics is within the new limits.
    """
    masters = model.coordinates
    bodies = list(model.bodies)
    for k, body in enumerate(bodies):
        joint = body.joint
        if joint is None:
            continue
        master = masters[joint.coordinate]
        low, high = limits[joint.coordinate].tolist()
        if joint is master:
            bodies[k] = replace(body, joint=replace(joint, limits=(low, high)))
        elif joint.multiplier:
            least, most = sorted((end - joint.offset) / joint.multiplier for end in joint.limits)
            if low < least - _ROUNDING or high > most + _ROUNDING:
                raise BrazoError(
                    f"limits of joint '{master.name}': {low:g} to {high:g}; its mimic joint "
                    f"'{joint.name}' allows only {least:g} to {most:g}: choose limits in the "
                    "allowed range"
                )
    return replace(model, bodies=tuple(bodies))


def _placed(model: TreeModel, T: Array) -> TreeModel:
    """Return the model with the whole robot moved by T (4, 4) in the base frame."""

    def moved(part: Part) -> Part:
        return replace(part, pose=frozen(T @ part.pose))

    def started(joint: Joint) -> Joint:
        return replace(joint, before=frozen(T @ joint.before))

    first, *others = model.bodies
    bodies = [replace(first, parts=tuple(moved(part) for part in first.parts))]
    for body in others:
        if body.parent == 0 and body.joint is not None:
            body = replace(body, joint=started(body.joint))
        bodies.append(body)
    frames = {
        name: (body, frozen(T @ pose) if body == 0 else pose)
        for name, (body, pose) in model.named_frames.items()
    }
    return replace(model, bodies=tuple(bodies), named_frames=frames)
