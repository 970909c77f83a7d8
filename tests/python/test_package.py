"""The package as a user has it: whatever simulates is the command that was built."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import tilebeat as tb

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIG = ROOT / "configs" / "core1.json"
CHAIN = ROOT / "models" / "small_chain.json"


def doubling() -> tb.workload.Workload:
    """Adds x to itself."""
    x = tb.workload.Inputs(
        name="x", shape=[1, 1, 2, 4], dtype="int8", random=tb.workload.Random(seed=1)
    )
    twice = tb.workload.Add(name="twice", inputs=["x", "x"], requant={"scale": 1})
    return tb.workload.Workload(name="double", inputs=[x], layers=[twice], outputs=["twice"])


def test_AP_2_arrays_go_in_and_come_out() -> None:
    x = np.array([1, -2, 3, 40, -50, 63, -64, 0], np.int8).reshape(1, 1, 2, 4)
    result = tb.run(CONFIG, doubling(), {"x": x})
    assert result.passed and result.error == ""
    np.testing.assert_array_equal(result.outputs["twice"], 2 * x)
    assert result.outputs["twice"].dtype == np.int8
    real = tb.workload.Workload(
        name="real",
        inputs=[{"name": "f", "shape": [1, 1, 1, 8], "dtype": "float32", "random": {"seed": 1}}],
        layers=[
            tb.workload.Quantize(name="q", inputs=["f"], requant={"scale": 1.0})
        ],
        outputs=["q"],
    )
    f = np.array([0.6, -2, 3, 40, -50, 63, -64, 0], ">f4").reshape(1, 1, 1, 8)
    rounded = tb.run(CONFIG, real, {"f": f})
    np.testing.assert_array_equal(rounded.outputs["q"], np.rint(f).astype(np.int8))
    strided = tb.run(CONFIG, doubling(), {"x": np.asfortranarray(x)[:, :, :, ::-1]})
    np.testing.assert_array_equal(strided.outputs["twice"], 2 * x[:, :, :, ::-1])


def test_AP_2_a_run_is_that_of_the_command(tmp_path: pathlib.Path) -> None:
    command = pathlib.Path(tb.__file__).parent / "bundled" / "tilebeat"
    subprocess.run(
        [command, "run", "--config", CONFIG, "--layer", CHAIN, "--out", tmp_path],
        check=True,
        capture_output=True,
    )
    report = json.loads((tmp_path / "report.json").read_text())
    for granularity in ("tile", "clock"):
        result = tb.run(CONFIG, CHAIN, granularity=granularity)
        assert result.report["total"] == report["total"]
        assert result.cycles == report["total"]["cycles"]
        for name in report["outputs"]:
            np.testing.assert_array_equal(
                result.outputs[name], np.load(tmp_path / "outputs" / f"{name}.npy")
            )


def test_AP_2_layers_and_stalls_are_tables() -> None:
    pandas = pytest.importorskip("pandas")
    result = tb.run(CONFIG, CHAIN)
    assert isinstance(result.layers, pandas.DataFrame)
    assert result.layers["cycles"].sum() == result.cycles
    for row, layer in zip(result.layers.to_dict("records"), result.report["layers"]):
        assert row["dram_read_bytes"] == layer["bytes"]["dram"]["read"] > 0
        assert row["energy_pj"] == layer["energy_pj"]["total"] > 0
    by_layer = {layer["name"]: layer["stall_cycles"] for layer in result.report["layers"]}
    for row in result.stalls.to_dict("records"):
        for cause, cycles in by_layer[row.pop("name")].items():
            assert row[cause] == cycles


def test_AP_2_without_pandas_tables_are_lists() -> None:
    code = (
        "import sys; sys.modules['pandas'] = None\n"
        "import tilebeat as tb\n"
        f"print(tb.run({str(CONFIG)!r}, {str(CHAIN)!r}).layers[0]['name'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "conv1\n"


def test_AP_2_errors_have_their_path() -> None:
    hardware = json.loads(CONFIG.read_text())
    hardware["chip"]["clusters"] = 0
    with pytest.raises(tb.Error, match="/chip/clusters: 0 is not allowed") as error:
        tb.run(hardware, CHAIN)
    assert error.value.path == "/chip/clusters"
    with pytest.raises(tb.Error, match="is not int8"):
        tb.run(CONFIG, doubling(), {"x": np.zeros((1, 1, 2, 4), np.float64)})
    with pytest.raises(tb.Error, match="of int64 is not allowed, allowed is shape .* of int8"):
        tb.run(CONFIG, doubling(), {"x": np.zeros((1, 1, 2, 4), np.int64)})


def test_AP_2_builders_are_dictionaries_with_known_names() -> None:
    hardware = tb.hardware.Hardware(dataflow="dilated", dram=tb.hardware.Dram(preset="ddr5_4800"))
    assert hardware == {"dataflow": "dilated", "dram": {"preset": "ddr5_4800"}}
    hardware.fused = True
    assert hardware["fused"] is True and hardware.dram.preset == "ddr5_4800"
    hardware.fused = None
    assert "fused" not in hardware and hardware.clock_mhz is None
    with pytest.raises(AttributeError, match="no entry 'dataflows'"):
        hardware.dataflows = "wfold"
    with pytest.raises(TypeError):
        tb.hardware.Hardware(dataflows="wfold")  # type: ignore[call-arg]


def test_AP_2_builders_have_what_the_schemas_have() -> None:
    for kind, made in (("hardware", tb.hardware.Hardware), ("workload", tb.workload.Workload)):
        properties = tb.schema(kind)["properties"]
        assert set(made.__annotations__) == set(properties) - {"comment", "$schema"}
        for name, entry in properties.items():
            if name in made.__annotations__:
                assert f"{name}: {entry['description']}" in " ".join(str(made.__doc__).split())
    operators = {
        layer["properties"]["op"]["enum"][0]
        for layer in tb.schema("workload")["properties"]["layers"]["items"]["anyOf"]
    }
    classes = [made for made in vars(tb.workload).values() if isinstance(made, type)]
    assert operators <= {
        "".join(f"_{c.lower()}" if c.isupper() else c for c in made.__name__).lstrip("_")
        for made in classes
    }


def test_AP_2_a_sweep_is_a_table_and_goes_on(tmp_path: pathlib.Path) -> None:
    pandas = pytest.importorskip("pandas")
    axes: dict[str, object] = {"/dma/max_outstanding": np.array([1, 2, 4]), "/dram/preset": ["ddr4_2400", "lpddr4_3200"]}
    table = tb.sweep(CONFIG, doubling(), axes, out=tmp_path)
    assert isinstance(table, pandas.DataFrame) and len(table) == 6
    assert set(table["result"]) == {"passed"}
    hardware = json.loads(CONFIG.read_text())
    hardware["dma"] = {**hardware.get("dma", {}), "max_outstanding": 1}
    hardware["dram"]["preset"] = "ddr4_2400"
    assert table["cycles"][0] == tb.run(hardware, doubling()).cycles
    reports = {p: p.stat().st_mtime_ns for p in tmp_path.glob("points/*/report.json")}
    assert len(reports) == 6
    assert tb.sweep(CONFIG, doubling(), axes, out=tmp_path).equals(table)
    assert {p: p.stat().st_mtime_ns for p in tmp_path.glob("points/*/report.json")} == reports


def test_AP_2_fifty_runs_in_one_line() -> None:
    pytest.importorskip("pandas")
    table = tb.sweep(CONFIG, doubling(), {"workload:/inputs/0/random/seed": range(50)})
    assert len(table) == 50 and set(table["result"]) == {"passed"}


def test_AP_2_what_if_and_plan() -> None:
    pytest.importorskip("pandas")
    steps = tb.whatif(CONFIG, doubling(), ["dram.preset"]).steps
    assert set(steps["result"]) == {"measured"} and set(steps["knob"]) == {"dram.preset"}
    plan = tb.plan(CONFIG, CHAIN)
    assert tb.run(CONFIG, CHAIN, mapping=plan.mapping).cycles == tb.run(CONFIG, CHAIN).cycles
    assert "conv1" in plan.text


def test_AP_2_progress_can_cancel_and_raise() -> None:
    resnet = ROOT / "models" / "resnet50.json"
    with pytest.raises(tb.Cancelled):
        tb.run(CONFIG, resnet, progress=lambda line: True)

    def raises(line: str | None) -> bool:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        tb.run(CONFIG, resnet, progress=raises)


def test_AP_2_an_interrupt_ends_the_call() -> None:
    code = (
        "import os, signal, threading, tilebeat as tb\n"
        "threading.Timer(0.7, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "try:\n"
        f"    tb.run({str(CONFIG)!r}, {str(ROOT / 'models' / 'vgg16.json')!r})\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "interrupted\n" and done.stderr == ""


def test_AP_2_pages_and_plots() -> None:
    result = tb.run(CONFIG, CHAIN)
    page = result.html()
    assert page.startswith("<!DOCTYPE html>") and "conv1" in page
    assert "<iframe" in result._repr_html_()
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = result.plot()
    widths = sum(patch.get_width() for patch in axes.patches)
    layers = result.report["layers"]
    assert widths == sum(layer["beats"] + sum(layer["stall_cycles"].values()) for layer in layers)


def test_AP_2_import_and_check(tmp_path: pathlib.Path) -> None:
    with pytest.raises(tb.Error, match="nothing.onnx"):
        tb.import_model(tmp_path / "nothing.onnx", tmp_path / "net")
    model = ROOT / "tests" / "data" / "models" / "kws" / "model.tflite"
    assert tb.run(CONFIG, tb.import_model(model, tmp_path / "net")).passed
    suite = {
        "tilebeat_suite": 1,
        "name": "one",
        "runs": [{"configs": [str(CONFIG)], "layers": [str(CHAIN)]}],
    }
    path = tmp_path / "suite.json"
    path.write_text(json.dumps(suite))
    assert tb.check(path, options=["--update"])[0]
    assert tb.check(path)[0]
    stored = json.loads(path.read_text())
    text = json.dumps(stored).replace(str(tb.run(CONFIG, CHAIN).cycles), "1")
    path.write_text(text)
    same, said = tb.check(path)
    assert not same and "-> " in said


def test_AP_2_versions_agree() -> None:
    assert tb.__version__ == tb.library_version()
