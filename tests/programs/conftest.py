"""Programs are run, not imported: they would import TensorFlow."""

collect_ignore_glob = ["graphs/*", "tapes/*", "equivalents/*"]
