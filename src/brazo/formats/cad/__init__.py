"""Import of CAD assemblies: named parts become bodies, inertias and collision shapes of links."""

from brazo.formats.cad.importer import CadImport, import_cad

__all__ = ["CadImport", "import_cad"]
