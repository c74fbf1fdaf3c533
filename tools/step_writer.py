"""Minimal writer of STEP (ISO 10303-21, schema AP214) for closed polyhedra.

An assembly is a root product with one product per part, placed where it was drawn; a product is a
set of faceted B-rep solids.  Triangles in one plane are merged into a face with holes.
Lengths are millimetres.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

PLANE = 1e-6  # faces whose normals differ by less, and that share an edge, are in one plane


@dataclass(frozen=True)
class Solid:
    """Closed surface: vertices (v, 3) in mm and faces (f, 3), counter-clockwise from outside."""

    vertices: np.ndarray
    faces: np.ndarray


def step_text(name: str, products: Mapping[str, Sequence[Solid]]) -> str:
    """Return the text of a STEP file."""
    file = _File()
    context = file.context()
    root = file.product(name, context)
    origin = file.axes()
    root_shape = file.add(f"SHAPE_REPRESENTATION('',({origin}),{context.units})")
    file.add(f"SHAPE_DEFINITION_REPRESENTATION({file.shape_of(root)},{root_shape})")
    for part, solids in products.items():
        child = file.product(part, context)
        place = file.axes()
        breps = [place, *(file.brep(solid) for solid in solids)]
        shape = file.add(
            f"FACETED_BREP_SHAPE_REPRESENTATION('',({','.join(breps)}),{context.units})"
        )
        file.add(f"SHAPE_DEFINITION_REPRESENTATION({file.shape_of(child)},{shape})")
        usage = file.add(f"NEXT_ASSEMBLY_USAGE_OCCURRENCE('{part}','{part}','',{root},{child},$)")
        moved = file.add(f"ITEM_DEFINED_TRANSFORMATION('','',{place},{origin})")
        relation = file.add(
            f"(REPRESENTATION_RELATIONSHIP('','',{shape},{root_shape})"
            f"REPRESENTATION_RELATIONSHIP_WITH_TRANSFORMATION({moved})"
            "SHAPE_REPRESENTATION_RELATIONSHIP())"
        )
        placed = file.add(f"PRODUCT_DEFINITION_SHAPE('','',{usage})")
        file.add(f"CONTEXT_DEPENDENT_SHAPE_REPRESENTATION({relation},{placed})")
    return file.text(name)


@dataclass(frozen=True)
class _Context:
    application: str
    definition: str
    units: str


class _File:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self._known: dict[str, str] = {}

    def add(self, entity: str) -> str:
        self.lines.append(entity)
        return f"#{len(self.lines)}"

    def shared(self, entity: str) -> str:
        if entity not in self._known:
            self._known[entity] = self.add(entity)
        return self._known[entity]

    def text(self, name: str) -> str:
        data = "\n".join(f"#{i}={line};" for i, line in enumerate(self.lines, start=1))
        return (
            "ISO-10303-21;\nHEADER;\nFILE_DESCRIPTION((''),'2;1');\n"
            f"FILE_NAME('{name}','',(''),(''),'brazo tools/step_writer.py','','');\n"
            "FILE_SCHEMA(('AUTOMOTIVE_DESIGN { 1 0 10303 214 1 1 1 1 }'));\n"
            f"ENDSEC;\nDATA;\n{data}\nENDSEC;\nEND-ISO-10303-21;\n"
        )

    def context(self) -> _Context:
        application = self.add("APPLICATION_CONTEXT('mechanical design')")
        self.add(
            "APPLICATION_PROTOCOL_DEFINITION('international standard','automotive_design',2000,"
            f"{application})"
        )
        definition = self.add(
            f"PRODUCT_DEFINITION_CONTEXT('part definition',{application},'design')"
        )
        length = self.add("(LENGTH_UNIT()NAMED_UNIT(*)SI_UNIT(.MILLI.,.METRE.))")
        angle = self.add("(NAMED_UNIT(*)PLANE_ANGLE_UNIT()SI_UNIT($,.RADIAN.))")
        solid = self.add("(NAMED_UNIT(*)SOLID_ANGLE_UNIT()SI_UNIT($,.STERADIAN.))")
        accuracy = self.add(f"UNCERTAINTY_MEASURE_WITH_UNIT(LENGTH_MEASURE(1.E-05),{length},'','')")
        units = self.add(
            "(GEOMETRIC_REPRESENTATION_CONTEXT(3)"
            f"GLOBAL_UNCERTAINTY_ASSIGNED_CONTEXT(({accuracy}))"
            f"GLOBAL_UNIT_ASSIGNED_CONTEXT(({length},{angle},{solid}))"
            "REPRESENTATION_CONTEXT('',''))"
        )
        return _Context(application, definition, units)

    def product(self, name: str, context: _Context) -> str:
        kind = self.shared(f"PRODUCT_CONTEXT('',{context.application},'mechanical')")
        product = self.add(f"PRODUCT('{name}','{name}','',({kind}))")
        formation = self.add(f"PRODUCT_DEFINITION_FORMATION('','',{product})")
        return self.add(f"PRODUCT_DEFINITION('design','',{formation},{context.definition})")

    def shape_of(self, definition: str) -> str:
        return self.add(f"PRODUCT_DEFINITION_SHAPE('','',{definition})")

    def axes(self) -> str:
        place, z, x = self.point((0, 0, 0)), self.direction((0, 0, 1)), self.direction((1, 0, 0))
        return self.add(f"AXIS2_PLACEMENT_3D('',{place},{z},{x})")

    def point(self, xyz: Sequence[float] | np.ndarray) -> str:
        return self.shared(f"CARTESIAN_POINT('',({_numbers(xyz, 5)}))")

    def direction(self, xyz: Sequence[float] | np.ndarray) -> str:
        return self.shared(f"DIRECTION('',({_numbers(xyz, 7)}))")

    # ---- solids ----------------------------------------------------------------------------

    def brep(self, solid: Solid) -> str:
        points = [self.point(vertex) for vertex in solid.vertices]
        normals = _normals(solid)
        faces = []
        for group in _plane_groups(solid, normals):
            loops = _loops(solid.faces[group])
            normal = normals[group[0]]
            outer = max(loops, key=lambda loop: _area(solid.vertices[loop], normal))
            bounds = []
            for loop in loops:
                path = self.add(f"POLY_LOOP('',({','.join(points[i] for i in loop)}))")
                kind = "FACE_OUTER_BOUND" if loop is outer else "FACE_BOUND"
                bounds.append(self.add(f"{kind}('',{path},.T.)"))
            along = _along(solid.vertices[outer])
            frame = self.add(
                f"AXIS2_PLACEMENT_3D('',{points[outer[0]]},{self.direction(normal)},"
                f"{self.direction(along)})"
            )
            plane = self.add(f"PLANE('',{frame})")
            faces.append(self.add(f"FACE_SURFACE('',({','.join(bounds)}),{plane},.T.)"))
        shell = self.add(f"CLOSED_SHELL('',({','.join(faces)}))")
        return self.add(f"FACETED_BREP('',{shell})")


def _numbers(xyz: Sequence[float] | np.ndarray, digits: int) -> str:
    texts = []
    for x in xyz:
        text = f"{round(float(x), digits) + 0.0:.{digits}f}".rstrip("0")
        texts.append("0." if text == "-0." else text)
    return ",".join(texts)


def _normals(solid: Solid) -> np.ndarray:
    a, b, c = (solid.vertices[solid.faces[:, k]] for k in range(3))
    across = np.cross(b - a, c - a)
    return across / np.linalg.norm(across, axis=1, keepdims=True)


def _plane_groups(solid: Solid, normals: np.ndarray) -> list[list[int]]:
    """Connected triangles in one plane."""
    sides: dict[tuple[int, int], list[int]] = {}
    for i, face in enumerate(solid.faces.tolist()):
        for a, b in zip(face, face[1:] + face[:1], strict=True):
            sides.setdefault((min(a, b), max(a, b)), []).append(i)
    beside: dict[int, list[int]] = {i: [] for i in range(len(solid.faces))}
    for i, j in (pair for pair in sides.values() if len(pair) == 2):
        if normals[i] @ normals[j] > 1.0 - PLANE:
            beside[i].append(j)
            beside[j].append(i)
    groups, seen = [], set()
    for start in beside:
        if start in seen:
            continue
        group, waiting = [], [start]
        seen.add(start)
        while waiting:
            at = waiting.pop()
            group.append(at)
            near = normals[start]
            for j in beside[at]:
                if j not in seen and near @ normals[j] > 1.0 - PLANE:
                    seen.add(j)
                    waiting.append(j)
        groups.append(group)
    return groups


def _loops(faces: np.ndarray) -> list[list[int]]:
    """Boundary loops of connected triangles."""
    half = {(a, b) for f in faces.tolist() for a, b in zip(f, f[1:] + f[:1], strict=True)}
    after: dict[int, list[int]] = {}
    for a, b in half:
        if (b, a) not in half:
            after.setdefault(a, []).append(b)
    loops = []
    for start in sorted(after):
        while after[start]:
            loop, at = [start], after[start].pop()
            while at != start:
                loop.append(at)
                at = after[at].pop()
            loops.append(loop)
    return loops


def _along(points: np.ndarray) -> np.ndarray:
    """Direction of the longest side of a loop."""
    sides = np.roll(points, -1, axis=0) - points
    lengths = np.linalg.norm(sides, axis=1)
    return sides[lengths.argmax()] / lengths.max()


def _area(points: np.ndarray, normal: np.ndarray) -> float:
    """Signed area of a loop, seen from outside; that of a hole is negative."""
    middle = points.mean(axis=0)
    turned = np.roll(points, -1, axis=0)
    return 0.5 * float(np.cross(points - middle, turned - middle).sum(axis=0) @ normal)
