"""Data only: robots and cells that ship with brazo."""
