"""Import of CAD assemblies: named parts become the shapes and inertias of robot links."""

from brazo.formats.cad.importer import CadImport, import_cad

__all__ = ["CadImport", "import_cad"]
