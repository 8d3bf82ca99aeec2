"""Graphs in files: TensorFlow's GraphDef, MetaGraphDef and SavedModel, read and written without TensorFlow.

`definition` says what a file's nodes are, `regions` where choices and loops are among them, `importing` makes them
anew in a graph by the tables of rows, `exporting` writes a graph's nodes as TensorFlow's; `meta_graphs`,
`saved_models` and `graph_util` rest on these.
"""
