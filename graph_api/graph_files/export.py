"""Graphs as graph definitions: `graph_def` of `exporting`, with the rows of all ops."""

from graph_api.graph_files import export_array_rows, export_derived_rows, export_network_rows, export_rows
from graph_api.graph_files.exporting import graph_def

__all__ = ["export_array_rows", "export_derived_rows", "export_network_rows", "export_rows", "graph_def"]
