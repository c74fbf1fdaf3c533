"""The text of a program in the editor: files that it names."""

import brazo
from brazo.lab.panels.program.edited_program import EditedProgram

SVG = '<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0 L9 9"/></svg>'
TEXT = """name: p
robots:
  rv2aj:
    - path: {svg: {file: a.svg, width: 2cm, centre: [0.3, 0, 0.24]}, time: 2s}
"""


def test_svg_files_are_looked_up_in_the_folder_of_the_project(tmp_path, monkeypatch):
    working, project = tmp_path / "working", tmp_path / "programs"
    working.mkdir()
    project.mkdir()
    (working / "a.svg").write_text(SVG)
    monkeypatch.chdir(working)
    sim = brazo.Simulation(brazo.load("rv2aj"))
    edited = EditedProgram()
    edited.load("p", TEXT)
    edited.read(sim, {})
    assert edited.program is None
    assert edited.error_line == 4 and "save that file first" in edited.error
    edited.read(sim, {}, project)
    assert edited.program is None and "no such file" in edited.error
    (project / "a.svg").write_text(SVG)
    edited.read(sim, {}, project)
    assert edited.error == "" and edited.program is not None
    assert edited.program.steps["rv2aj"][0].folder == project
    edited.load("p", TEXT, working)
    edited.read(sim, {}, project)
    assert edited.program is not None and edited.program.steps["rv2aj"][0].folder == working
