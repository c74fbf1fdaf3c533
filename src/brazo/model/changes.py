"""Another tool, base or limits for a model that was not read from a robot file.

A robot file has fields for them; models of other formats are changed here, after they are built.
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
    """Callable that rebuilds a model with other values; None leaves a value unchanged."""

    rebuild: Rebuild  # of the model without the changes
    tool: Array | None = None  # (4, 4) tool in the tip link
    base: Array | None = None  # (4, 4) the robot's first frame in the base frame
    limits: Array | None = None  # (n, 2)

    def __call__(self, overrides: Mapping[str, float]) -> Model:
        return self.applied(self.rebuild(overrides))

    def applied(self, model: Model) -> Model:
        """Return the model with the changes."""
        model = model.require_tree("only the tool, base and limits of serial arms and trees change")
        if self.tool is not None:
            model = replace(model, tool=frozen(tip_frame(model) @ self.tool))
        if self.limits is not None:
            model = _limited(model, self.limits)
        return model if self.base is None else _placed(model, self.base)


def changed(rebuild: Rebuild, **values: Array) -> Changed | Carrying:
    """Return a callable that rebuilds a model like `rebuild`, with these changes.

    Later changes of a value replace earlier ones.

    A payload is applied last, because it is given in the tool frame.
    """
    if isinstance(rebuild, Carrying):
        return replace(rebuild, rebuild=changed(rebuild.rebuild, **values))
    if isinstance(rebuild, Changed):
        return replace(rebuild, **values)
    return Changed(rebuild, **values)


def tip_frame(model: TreeModel) -> Array:
    """Return the frame (4, 4) of the tip link in its body, to which fixed joints may connect it."""
    choice = model.tip_choice
    return IDENTITY if choice is None else model.named_frames[choice.link][1]


def _limited(model: TreeModel, limits: Array) -> TreeModel:
    """Return a model with other limits (n, 2).

    Mimic joints keep their own limits; it is an error if these do not allow the new ones.
    `TreeModel.coordinates` distinguishes a master from a mimic joint that moves in the same way.
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
                    f"limits of joint '{master.name}': {low:g} to {high:g}; joint '{joint.name}' "
                    f"moves with it and allows {least:g} to {most:g}; choose limits in this range"
                )
    return replace(model, bodies=tuple(bodies))


def _placed(model: TreeModel, T: Array) -> TreeModel:
    """Return a model whose fixed body and everything on it is moved by T."""

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
