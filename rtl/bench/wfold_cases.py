"""Random layers for the W-fold engine, and how they are run."""

import json
import random
from pathlib import Path

from lockstep_common import changed, compare, other_zero_point, random_layer, random_window, run_on_core, smaller_layers, vary, whole_rows, zero_point

TOP = "wfold_unit"
# Slaves, compute units, bytes of a line, lines of the first and of the second buffers, bytes of a region's port, of the bus, whether the first
# buffers hold kernels.
GEOMETRIES = [
    (4, 2, 16, 5, 5, 16, 16, 0),
    (2, 3, 32, 7, 7, 16, 32, 1),
    (3, 1, 8, 3, 4, 16, 8, 0),
    (2, 3, 32, 6, 7, 16, 32, 0),
    (4, 2, 16, 5, 6, 16, 16, 1),
    (4, 4, 64, 8, 9, 64, 64, 0),
]
EVERY_PUSH = [0]
MUTANTS = [2, 0, 1]
UNITS = ["engine", "bus.lines", "bus.results", "wram.engine"]


def parameters(geometry, hardware=None):
    """Parameters of the model."""
    return dict(zip(("NS", "NCU", "M", "L1", "L2", "PORT", "BUS", "KF"), geometry))


def memory(rng, bus, banks):
    """The map's memory."""
    bank_bytes = rng.choice([b for b in (1, 4, 8, 16, 32) if b <= bus])
    return whole_rows({"size_bytes": rng.choice([65536, 65536, 8192]), "banks": rng.choice(banks), "bank_bytes": bank_bytes,
                       "latency_cycles": rng.choice([1, 1, 1, 0, 2, 3, 7, 20])}, 256)


def random_engine(rng, geometry):
    """The engine's part of a hardware file."""
    slaves, units, line, first, second, port, bus, kernels_first = geometry
    pick = rng.choice
    engine = {"slaves": slaves, "compute_units": units, "line_bytes": line, "first_buffer_lines": first, "second_buffer_lines": second, "first_buffer": "kernels" if kernels_first else "maps",
              "weight_port_bytes": port, "line_queue": pick([16, 16, 8, 1, 2, 3, 5]), "write_queue": pick([16, 16, 8, 1, 2, 4]),
              "post_latency_cycles": pick([4, 4, 0, 1, 7]), "smallest_pci": 4, "tolerance_bytes": pick([4, 16, 64]),
              "transit_bytes": pick([0, 64, 256, 512]), "block_order": pick(["kernel_row_outer", "kernel_row_outer", "block_outer"])}
    engine.update({"adder_stages": pick([1, 1, 1, 2, 3]), "kernel_place": pick(["load", "load", "offline", "in_place"]), "fold_place": pick(["on_chip", "on_chip", "dram", "in_place"])})
    granularities = [p for p in (4, 8, 16, 32, 64) if p <= line]
    engine["pci"] = pick([0, 0, pick(granularities)])
    if rng.random() < 0.5:
        engine["multicast_groups"] = pick([g for g in range(1, slaves + 1) if slaves % g == 0])
    engine["read_mode"] = pick(["auto", "auto", "strided", "transit", "continuous"])
    return engine


def random_case(rng, geometry, on_chip=False):
    """A layer and hardware for it, as JSON."""
    slaves, units, line, first, second, port, bus, kernels_first = geometry
    pick = rng.choice
    conv_groups = 1 if rng.random() < 0.75 else pick([2, 3, 4, 6])
    channels = conv_groups * pick([rng.randint(1, 4), rng.randint(1, 2 * line)])
    kernels = conv_groups * rng.randint(1, max(1, 2 * slaves * (units if kernels_first else second // 2) // conv_groups))
    window, height, width = random_window(rng, 4, 12)
    sizes = {"out_channels": kernels, **window, "groups": conv_groups}
    layer, in_type = random_layer(rng, sizes, 0.7)
    layers = [layer]
    if "requant" in layer and rng.random() < 0.15:
        layers.append({"name": "conv2", "op": "conv2d", "inputs": ["conv"], "out_channels": rng.randint(1, 2 * slaves), "kernel": [1, pick([1, 2])], "stride": [1, 1],
                       "dilation": [1, 1], "pads": [0, 0, 0, 1], "weights": {"random": {"seed": 4}}})
    workload = {"name": "lockstep", "inputs": [{"name": "x", "shape": [pick([1, 1, 1, 2]), height, width, channels], "dtype": in_type, "random": {"seed": 1},
                                                "zero_point": zero_point(rng, in_type)}], "layers": layers, "outputs": [layers[-1]["name"]]}
    # Vectors do not say which of several requests to write is answered. One bank answers in order; with more the limit is out of reach.
    outstanding = pick([2, 3, 8, 64, 64])
    engine = random_engine(rng, geometry)
    in_order = outstanding <= 16 or engine["fold_place"] != "on_chip" or len(layers) > 1
    hardware = {
        "name": "lockstep", "clock_mhz": 1000, "dataflow": "wfold", "wfold": engine, "dram": {"preset": "ddr4_2400"},
        "dma": {"max_outstanding": outstanding},
        "chip": {"clusters": 1, "cores_per_cluster": 1, "memory_controllers": 1, "cluster_bus": {"bytes_per_clock": bus}, "sram": {"bank_bytes": min(16, bus)},
                 "core": {"nram": memory(rng, bus, [1] if in_order else [1, 2, 3, 4, 6, 8, 16]), "wram": {"size_bytes": slaves * pick([16384, 16384, 1024]), "banks": slaves, "bank_bytes": pick([1, bus])},
                          "bus": {"bytes_per_clock": bus, "max_outstanding": pick([16, 16, 2, 5])}}},
    }
    core = hardware["chip"]["core"]
    if bus >= port and len(layers) == 1 and rng.random() < 0.15:
        engine["storage"] = "shared"
        core["nram"] = {"size_bytes": slaves * 16384, "banks": slaves, "bank_bytes": bus, "latency_cycles": 1}
        core["wram"] = dict(core["nram"])
        hardware["dma"]["max_outstanding"], engine["fold_place"] = 64, "on_chip"
    return {"geometry": list(geometry), "workload": workload, "hardware": hardware, "varied": rng.random() < 0.3, "seed": rng.randrange(1 << 32)}


def beats(case):
    """The beats of a layer, roughly."""
    slaves, units, line = case["geometry"][:3]
    x, layer = case["workload"]["inputs"][0]["shape"], case["workload"]["layers"][0]
    out = [(x[1 + i] + layer["pads"][i] + layer["pads"][i + 2] - (layer["kernel"][i] - 1) * layer["dilation"][i] - 1) // layer["stride"][i] + 1 for i in range(2)]
    if min(out) < 1:
        return None
    folded = -(-line // max(4, x[3]))
    return x[0] * out[0] * -(-out[1] // (units * folded)) * -(-layer["out_channels"] // slaves) * layer["kernel"][0] * layer["kernel"][1] * -(-x[3] // line)


def settings(hardware):
    """What the bench must know of the hardware."""
    engine, core = hardware.get("wfold", {}), hardware["chip"]["core"]
    return {"scope": "chip.cluster0.core0.", "processor": "cluster0.core0.control", "line_queue": engine.get("line_queue", 16),
            "write_queue": engine.get("write_queue", 16), "post_latency": engine.get("post_latency_cycles", 4), "half": engine.get("transit_bytes", 4096) // 2,
            "stages": engine.get("adder_stages", 1), "outstanding": hardware.get("dma", {}).get("max_outstanding", 8), "map_base": 1 << 42, "banks": core.get("nram", {}).get("banks", 16),
            "region_bytes": core.get("wram", {}).get("size_bytes", 1 << 20) // engine.get("slaves", 16), "bank_shift": (core.get("wram", {}).get("bank_bytes", 16) - 1).bit_length()}


def varied(case, folder, product):
    """Writes the planner's program with set-ups between its runs. Returns whether there is such a program."""
    rng = random.Random(case["seed"])
    setups, runs, ends = {}, 0, True

    def before(words, line):
        nonlocal runs, ends
        if words[0] == "conv.setup":
            setups.clear()
        if words[0] in ("conv.setup", "wfold.kernels"):
            setups[words[0]] = line
        if words[0] != "wfold.run":
            return []
        runs += 1
        changes = runs > 1 and ends and rng.random() < 0.5
        ends = "ends_sums=0" not in words
        return [other_zero_point(rng, setups["conv.setup"])] + [line for name, line in setups.items() if name != "conv.setup"] if changes else []

    return vary(folder, product, before) and runs > 1


def run_case(case, folder, product, bench):
    """Runs a case on both. Returns (clocks, records) where they are equal, None where the planner refuses the case."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hw.json").write_text(json.dumps(case["hardware"]))
    (folder / "layer.json").write_text(json.dumps(case["workload"]))
    work = ["--program", "case.program"] if case.get("varied") and varied(case, folder, product) else ["--layer", "layer.json"]
    return compare(folder, bench, settings(case["hardware"])) if run_on_core(case, folder, product, UNITS, work) else None


def given_case(hardware, work):
    """A case of files: hardware with a core, and a workload."""
    hw = json.loads(Path(hardware).read_text())
    engine, bus = hw.get("wfold", {}), hw["chip"]["core"].get("bus", {})
    names = [("slaves", 16), ("compute_units", 4), ("line_bytes", 64), ("first_buffer_lines", 8), ("second_buffer_lines", 9), ("weight_port_bytes", 64)]
    geometry = [engine.get(name, value) for name, value in names] + [bus.get("bytes_per_clock", 64), int(engine.get("first_buffer") == "kernels")]
    return {"geometry": geometry, "hardware": hw, "workload": json.loads(Path(work).read_text())}


def smaller(case):
    """Cases with one size halved, or one setting left out."""
    yield from smaller_layers(case)
    geometry = ("slaves", "compute_units", "line_bytes", "first_buffer_lines", "second_buffer_lines", "first_buffer", "weight_port_bytes", "smallest_pci")
    for key in case["hardware"]["wfold"]:
        if key not in geometry:
            yield changed(case, ("hardware", "wfold", key))
    if len(case["workload"]["layers"]) > 1:
        yield changed(changed(case, ("workload", "layers", 1)), ("workload", "outputs"), ["conv"])
    if case["varied"]:
        yield changed(case, ("varied",), False)
