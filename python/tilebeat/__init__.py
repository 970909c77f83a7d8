"""Tilebeat: a cycle-accurate, bit-exact simulator of a neural-network processor.

>>> import tilebeat as tb
>>> result = tb.run("configs/switch16.json", "models/small_chain.json")
>>> result.passed, sorted(result.outputs)
(True, ['conv3'])

Hardware and workloads are paths, JSON texts, dictionaries, or the classes of `tilebeat.hardware` and
`tilebeat.workload`, which are dictionaries with names that editors complete.
"""

from . import hardware, workload
from ._library import Cancelled, Error, library_version, share
from ._run import Plan, Run, WhatIf, check, import_model, plan, run, schema, sweep, whatif
from ._version import VERSION as __version__

__all__ = [
    "Cancelled",
    "Error",
    "Plan",
    "Run",
    "WhatIf",
    "__version__",
    "check",
    "hardware",
    "import_model",
    "library_version",
    "plan",
    "run",
    "schema",
    "share",
    "sweep",
    "whatif",
    "workload",
]
