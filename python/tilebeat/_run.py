"""Runs, plans and what else the simulator does, as functions that return values."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import pathlib
import tempfile
from typing import Any, Iterator, Mapping, Optional, Sequence, Union

from . import _library
from ._library import Array, Error, Progress

#: What describes a file: its path, its JSON text, or what that text stands for.
Source = Union[str, "os.PathLike[str]", Mapping[str, Any]]
Row = dict[str, Any]


def _text_of(source: Source) -> str:
    """A JSON text, or a path, as the library takes it."""
    if isinstance(source, Mapping):
        return _dump(source)
    text = os.fspath(source)
    return text if text.lstrip().startswith("{") else os.path.abspath(_shipped(text))


def _dump(value: Any) -> str:
    """JSON of dictionaries, lists and numbers, NumPy's as well."""

    def plain(other: Any) -> Any:
        if isinstance(other, Mapping):
            return dict(other)
        if hasattr(other, "tolist"):  # arrays and numbers of NumPy
            return other.tolist()
        return list(other)

    return json.dumps(value, default=plain)


def _with_absolute_files(value: Any, folder: str, of_layers: bool = False) -> Any:
    """The same with absolute names of files: "file": NAME, and "expected": {LAYER: NAME}."""
    if isinstance(value, Mapping):
        return {
            key: (
                os.path.join(folder, item)
                if isinstance(item, str) and (key == "file" or of_layers)
                else _with_absolute_files(item, folder, key == "expected")
            )
            for key, item in value.items()
        }
    return [_with_absolute_files(item, folder) for item in value] if isinstance(value, list) else value


def _shipped(path: str) -> str:
    """The path, or of a file that does not exist the one of that name that came with the package."""
    carried = _library.bundled(path)
    return str(carried) if not os.path.exists(path) and carried.is_file() else path


def _table(rows: Sequence[Row]) -> Any:
    """A pandas DataFrame where pandas is installed, otherwise the rows themselves."""
    try:
        import pandas
    except ImportError:
        return list(rows)
    return pandas.DataFrame(rows)


def _flat_layer(layer: Mapping[str, Any]) -> Row:
    simple = ("name", "op", "cycles", "macs", "utilization", "estimated_cycles", "check")
    row: Row = {key: layer[key] for key in simple if key in layer}
    memory = layer.get("bytes", {}).get("dram", {})
    row["dram_read_bytes"], row["dram_write_bytes"] = memory.get("read", 0), memory.get("write", 0)
    if "energy_pj" in layer:
        row["energy_pj"] = layer["energy_pj"]["total"]
    return row


class Run:
    """A run that came to its end, or that a check or the simulated hardware stopped: `passed` says which."""

    def __init__(self, result: _library.Result) -> None:
        self._report_text = result.documents["report.json"]
        #: The report as docs/outputs.md describes it.
        self.report: dict[str, Any] = json.loads(self._report_text)
        #: The outputs by the names of their layers.
        self.outputs: dict[str, Array] = result.tensors
        #: The tables that `tilebeat run` prints.
        self.text: str = result.text
        #: Why the run did not pass; empty: it did.
        self.error: str = result.error

    @property
    def passed(self) -> bool:
        """Whether it came to its end and every check passed."""
        return bool(self.report["passed"])

    @property
    def cycles(self) -> int:
        """Cycles of the chip's clock from the start of its programs to the end of the last layer."""
        return int(self.report["total"]["cycles"])

    @property
    def utilization(self) -> float:
        """Useful multiply-accumulates as a share of the peak, 0 to 1."""
        return float(self.report["total"]["utilization"])

    @property
    def energy_pj(self) -> Optional[float]:
        """Energy in picojoules; None where the hardware has no technology."""
        energy = self.report.get("energy")
        return float(energy["pj"]["total"]) if energy else None

    @property
    def layers(self) -> Any:
        """A row for each layer and fusion group, with cycles, bytes over DRAM and energy: a pandas DataFrame
        where pandas is installed, otherwise a list of dictionaries."""
        return _table([_flat_layer(layer) for layer in self.report["layers"]])

    @property
    def stalls(self) -> Any:
        """A row for each layer with the cycles that its matrix units lost to each cause; a DataFrame or a list
        as in `layers`."""
        causes = sorted({cause for layer in self.report["layers"] for cause in layer["stall_cycles"]})
        return _table(
            [
                {"name": layer["name"], **{cause: layer["stall_cycles"].get(cause, 0) for cause in causes}}
                for layer in self.report["layers"]
            ]
        )

    def plot(self, axes: Any = None) -> Any:
        """Draws the cycles of each layer by what the matrix units did, and returns the axes of matplotlib,
        which has to be installed."""
        import matplotlib.pyplot

        layers = self.report["layers"]
        if axes is None:
            size = (9, max(3, 1.5 + 0.25 * len(layers)))
            axes = matplotlib.pyplot.subplots(figsize=size, layout="constrained")[1]
        names = [layer["name"] for layer in layers]
        lost = [layer["stall_cycles"] for layer in layers]
        causes = sorted({cause for stalls in lost for cause in stalls})
        parts = {"busy": [layer.get("beats", 0) for layer in layers]}
        parts.update({cause: [stalls.get(cause, 0) for stalls in lost] for cause in causes})
        left = [0.0] * len(names)
        for number, (cause, cycles) in enumerate(parts.items()):
            axes.barh(names, cycles, left=left, label=cause, color=f"C{number % 10}")
            left = [begin + width for begin, width in zip(left, cycles)]
        axes.invert_yaxis()
        axes.margins(x=0.02)
        axes.set_xlabel("cycles of the matrix units")
        axes.set_title(f"{self.report['workload']} on {self.report['hardware']}")
        axes.legend(fontsize="small")
        return axes

    def html(self) -> str:
        """The page that `tilebeat report` makes of the run."""
        with _folder() as folder:
            path, page = folder / "report.json", folder / "run.html"
            path.write_text(self._report_text, encoding="utf-8")
            _library.command(["report", str(path), "--html", str(page)])
            return page.read_text(encoding="utf-8")

    def _repr_html_(self) -> str:
        """The page in a frame of a notebook."""
        import html

        return (
            f'<iframe srcdoc="{html.escape(self.html(), quote=True)}" '
            'style="width: 100%; height: 40em; border: 1px solid #ccc"></iframe>'
        )

    def __repr__(self) -> str:
        state = "passed" if self.passed else "failed"
        return f"<Run of {self.report['workload']} on {self.report['hardware']}: {self.cycles:,} cycles, {state}>"


class Plan:
    """How a workload would run: `text` is what `tilebeat plan` prints, `mapping` what `run` may be given."""

    def __init__(self, result: _library.Result) -> None:
        self.text: str = result.text
        self.mapping: dict[str, Any] = json.loads(result.documents["mapping.json"])

    def __repr__(self) -> str:
        return self.text


class WhatIf:
    """What steps of the hardware's knobs are worth, as measured."""

    def __init__(self, result: _library.Result) -> None:
        self.report: dict[str, Any] = json.loads(result.documents["whatif.json"])
        self.text: str = result.text
        self._rows = list(csv.DictReader(result.documents["whatif.csv"].splitlines()))
        self._page = result.documents["whatif.html"]

    @property
    def steps(self) -> Any:
        """A row for each step and pair (docs/whatif.md); a DataFrame or a list as in `Run.layers`."""
        return _table([_numbers(row) for row in self._rows])

    def html(self) -> str:
        """The page whatif.html."""
        return self._page


def run(
    hardware: Source,
    workload: Source,
    inputs: Optional[Mapping[str, Array]] = None,
    *,
    mapping: Optional[Source] = None,
    granularity: Optional[str] = None,
    check: Optional[bool] = None,
    folder: Optional[Union[str, "os.PathLike[str]"]] = None,
    options: Sequence[str] = (),
    progress: Optional[Progress] = None,
) -> Run:
    """Simulates a workload on hardware.

    `inputs` has elements in place of those that the workload names. `granularity` is "tile" or "clock", which
    have the same results; `check` says whether outputs are compared with the reference. `folder` is where the
    relative names of files in dictionaries begin. `options` are further arguments of `tilebeat run`. Raises
    Error where an input is wrong: it has the JSON path.
    """
    arguments = list(options)
    if granularity is not None:
        arguments += ["--granularity", granularity]
    if check is not None:
        arguments += ["--check", "on" if check else "off"]
    result = _library.call(
        "run",
        ["report.json"],
        _text_of(hardware),
        _text_of(workload),
        mapping=_text_of(mapping) if mapping is not None else None,
        folder=os.fspath(folder) if folder is not None else None,
        inputs=inputs,
        options=arguments,
        progress=progress,
    )
    return Run(result)


def plan(
    hardware: Source, workload: Source, *, options: Sequence[str] = (), progress: Optional[Progress] = None
) -> Plan:
    """Maps a workload to hardware without running it."""
    result = _library.call(
        "plan",
        ["mapping.json"],
        _text_of(hardware),
        _text_of(workload),
        options=options,
        progress=progress,
    )
    return Plan(result)


def whatif(
    hardware: Source,
    workload: Source,
    knobs: Sequence[str] = (),
    *,
    budget: Optional[float] = None,
    jobs: Optional[int] = None,
    progress: Optional[Progress] = None,
) -> WhatIf:
    """Measures steps of the hardware's knobs; `budget` in seconds."""
    options = ["--knobs", ",".join(knobs)] if knobs else []
    options += ["--budget", str(budget)] if budget is not None else []
    options += ["--jobs", str(jobs)] if jobs is not None else []
    documents = ["whatif.json", "whatif.csv", "whatif.html"]
    return WhatIf(
        _library.call(
            "whatif", documents, _text_of(hardware), _text_of(workload), options=options, progress=progress
        )
    )


def sweep(
    hardware: Source,
    workload: Source,
    axes: Mapping[str, Sequence[Any]],
    *,
    out: Optional[Union[str, "os.PathLike[str]"]] = None,
    jobs: Optional[int] = None,
    pareto: Optional[Sequence[str]] = None,
    progress: Optional[Progress] = None,
) -> Any:
    """Runs all combinations of the values of axes, several at a time, and returns a row for each: a DataFrame
    or a list as in `Run.layers`.

    An axis is a JSON pointer into the hardware, such as "/switch_array/rows", or into the workload behind
    "workload:". With `out` the sweep goes on where it was when the same call is made again. A point that
    fails has its reason in the column `error`.
    """
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(out) if out is not None else stack.enter_context(_folder())
        inputs = folder / "inputs"
        inputs.mkdir(parents=True, exist_ok=True)
        described: Row = {"tilebeat_sweep": 1, "name": "sweep", "axes": []}
        for key, source in (("config", hardware), ("layer", workload)):
            text = _text_of(source)
            if text.lstrip().startswith("{"):
                text = json.dumps(_with_absolute_files(json.loads(text), os.getcwd()))
                path = inputs / f"{key}.json"
                if not path.exists() or path.read_text(encoding="utf-8") != text:
                    path.write_text(text, encoding="utf-8")
                text = str(path.absolute())
            described[key] = text
        for pointer, values in axes.items():
            in_workload = pointer.startswith("workload:")
            where = pointer[len("workload:") :] if in_workload else pointer
            name = where.strip("/").replace("/", ".")
            target = "layer" if in_workload else "config"
            described["axes"].append(
                {"name": name, "target": target, "pointer": where, "values": list(values)}
            )
        path = inputs / "sweep.json"
        path.write_text(_dump(described), encoding="utf-8")
        arguments = ["sweep", str(path), "--out", str(folder)]
        arguments += ["--jobs", str(jobs)] if jobs is not None else []
        arguments += ["--pareto", ",".join(pareto)] if pareto is not None else []
        result = _library.command(arguments, progress)
        if not (folder / "sweep.csv").exists():
            raise Error(result.error, result.error_path)
        with open(folder / "sweep.csv", newline="", encoding="utf-8") as file:
            return _table([_numbers(row) for row in csv.DictReader(file)])


def import_model(
    model: Union[str, "os.PathLike[str]"],
    out: Union[str, "os.PathLike[str]"],
    *,
    options: Sequence[str] = (),
    progress: Optional[Progress] = None,
) -> str:
    """Makes a workload of an ONNX or TensorFlow Lite model in the folder `out`; returns the workload's path."""
    _library.command(["import", os.fspath(model), "--out", os.fspath(out), *options], progress)
    return str(pathlib.Path(out) / "workload.json")


def check(
    suite: Union[str, "os.PathLike[str]"], *, options: Sequence[str] = (), progress: Optional[Progress] = None
) -> tuple[bool, str]:
    """Compares runs with what a suite stores of them; returns whether all are as stored, and what is said."""
    result = _library.command(["check", os.fspath(suite), *options], progress)
    return result.status == _library.OK, result.text


def schema(kind: str) -> dict[str, Any]:
    """The JSON Schema of a kind of file: "hardware", "workload", "mapping", "report", "sweep"."""
    loaded: dict[str, Any] = json.loads(_library.command(["schema", kind]).text)
    return loaded


@contextlib.contextmanager
def _folder() -> Iterator[pathlib.Path]:
    with tempfile.TemporaryDirectory(prefix="tilebeat-") as name:
        yield pathlib.Path(name)


def _numbers(row: Mapping[str, str]) -> Row:
    """A row of a table with its numbers as such."""

    def value(text: str) -> Any:
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
        return text if text != "" else None

    return {key: value(text) for key, text in row.items()}
