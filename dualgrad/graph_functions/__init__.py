"""The functions of SavedModels: read as nodes that a tape can run, and written from the nodes of a ``tf.function``.

`graph_api` knows TensorFlow's nodes. What it makes of a function of a file is made of the engine's ops, like any other
function, and runs wherever these run. So `tape_api` reads and writes functions without graphs or sessions.
"""
