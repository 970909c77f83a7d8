"""Random layers for the rolling-register unit, and how they are run."""

import json
import random
import re
from pathlib import Path

from lockstep_common import changed, compare, other_zero_point, random_layer, random_window, run_on_core, smaller_layers, vary, whole_rows, zero_point

TOP = "rolling_unit"
# Rows, columns, register groups, multipliers of a PE, bytes of a port, blocks of lines in a half of the result buffer (one axis), sums that
# drain in a cycle.
GEOMETRIES = [
    (4, 4, 4, 1, 4, 2, 2),
    (3, 4, 8, 2, 16, 3, 4),
    (8, 8, 4, 1, 16, 1, 4),
    (2, 2, 9, 3, 2, 3, 1),
    (5, 3, 6, 1, 4, 2, 3),
    (4, 8, 8, 4, 8, 2, 8),
    (2, 3, 4, 1, 4, 2, 2),
]
EVERY_PUSH = [6]
MUTANTS = [6, 0, 1, 2]  # the fastest first
VARIANTS = ("right_b_up", "right_b_down", "right_a_up", "right_a_down", "left_a_left", "left_a_right", "left_b_left", "left_b_right")
# What the model has room for; hardware may have less.
LARGEST = {"queue": 64, "writes": 16, "slots": 12, "latency": 16}


def parameters(geometry, hardware=None):
    """Parameters of the model."""
    rows, columns, groups, multipliers, port, stack, sums = geometry
    return {"R": rows, "C": columns, "GROUPS": groups, "M": multipliers, "PORT": port, "STACK": stack, "SUMS": sums,
            "QUEUE": LARGEST["queue"], "WRITES": LARGEST["writes"], "SLOTS": LARGEST["slots"], "MAX_LATENCY": LARGEST["latency"]}


def memory(rng, sizes):
    """A memory whose banks together hold what goes over a port, or less."""
    bank_bytes = rng.choice([4, 8, 16, 32])
    return whole_rows({"size_bytes": rng.choice(sizes), "banks": rng.choice([1, 2, 3, 4, 6, 8, 16]), "bank_bytes": bank_bytes, "latency_cycles": rng.choice([1, 1, 1, 0, 2, 3, 7])}, 256)


def random_unit(rng, geometry):
    """The unit's part of a hardware file."""
    rows, columns, groups, multipliers, port, stack, sums = geometry
    pick = rng.choice
    unit = {"rows": rows, "columns": columns, "groups": groups, "multipliers": multipliers, "port_bytes": port, "result_blocks": stack * stack,
            "drain_bytes": 4 * sums, "line_queue": pick([64, 64, 1, 2, 3, 5, 9]), "write_queue": pick([16, 16, 1, 2, 4]),
            "record_slots": pick([0, 0, 0, 1, 2, 3]), "post_latency_cycles": pick([4, 4, 0, 1, 7]), "variant": pick(VARIANTS), "realign": pick(["rolling", "tags"]),
            "wrap": pick(["register", "register", "register", "buffer"]), "transposition": pick(["in_memory", "in_memory", "while_loading", "step"])}
    if unit["wrap"] == "register":
        unit["spare_lines"] = pick(["ring", "ring", "shared"])
    if rng.random() < 0.15:
        unit["registers"] = "assigned"
    blocks = rng.randint(1, stack)
    unit["blocking"] = pick(["plain", "group_rolling", "whole_rolling"]) if blocks > 1 else "plain"
    if unit["blocking"] != "plain":
        unit["stacked_blocks"] = blocks
        unit["stacked_cuts"] = rng.randint(1, max(1, groups // blocks))
    return unit


def random_case(rng, geometry, on_chip=False):
    """A layer and hardware for it, as JSON."""
    rows, columns, groups, multipliers, port, stack, sums = geometry
    pick = rng.choice
    lines = max(rows, columns) * stack
    conv_groups = 1 if rng.random() < 0.75 else pick([2, 3])
    channels = conv_groups * pick([rng.randint(1, 4), rng.randint(1, 8 * max(rows, columns))])
    kernels = conv_groups * rng.randint(1, max(1, 3 * lines // conv_groups))
    window = {"kernel": [1, 1], "stride": [1, 1], "dilation": [1, 1], "pads": [0, 0, 0, 0]}
    height, width = 1, rng.randint(1, 3 * lines)
    if rng.random() < 0.6:
        window, height, width = random_window(rng, 4, 6)
        channels = conv_groups * rng.randint(1, max(1, 4 * max(rows, columns) // conv_groups))
    batch = pick([1, 1, 1, 2])
    if window["kernel"] == [1, 1] and rng.random() < 0.15:
        batch, height, width = rng.randint(2, 3 * lines), 1, 1  # images are rows of one product
    sizes = {"out_channels": kernels, **window, "groups": conv_groups}
    layer, in_type = random_layer(rng, sizes, 0.7)
    layers = [layer]
    if "requant" in layer and rng.random() < 0.2:  # its set-up waits for the first one's runs
        layers.append({"name": "conv2", "op": "conv2d", "inputs": ["conv"], "out_channels": rng.randint(1, 2 * lines), "kernel": [1, 1], "stride": [1, 1],
                       "dilation": [1, 1], "pads": [0, 0, 0, 0], "weights": {"random": {"seed": 4}}})
    workload = {"name": "lockstep", "inputs": [{"name": "x", "shape": [batch, height, width, channels], "dtype": in_type, "random": {"seed": 1},
                                                "zero_point": zero_point(rng, in_type)}], "layers": layers, "outputs": [layers[-1]["name"]]}
    hardware = {
        "name": "lockstep", "clock_mhz": 1000, "dataflow": "rolling", "rolling": random_unit(rng, geometry), "dram": {"preset": "ddr4_2400"},
        "chip": {"clusters": 1, "cores_per_cluster": 1, "memory_controllers": 1, "cluster_bus": {"bytes_per_clock": 32},
                 "core": {"nram": memory(rng, [65536, 65536, 4096]), "wram": memory(rng, [65536, 65536, 2048, 1024]), "bus": {"bytes_per_clock": 32}}},
    }
    if rng.random() < 0.2:  # half of WRAM holds the kernels of a block in two or more parts of channels alone
        block = min(lines, kernels // conv_groups) * channels // conv_groups * window["kernel"][0] * window["kernel"][1]
        wram = hardware["chip"]["core"]["wram"]
        wram["size_bytes"] = max(512, (1 << (block - 1).bit_length()) // pick([1, 2, 4]))
        whole_rows(wram)
    return {"geometry": list(geometry), "workload": workload, "hardware": hardware, "varied": rng.random() < 0.3, "seed": rng.randrange(1 << 32)}


def beats(case):
    """The beats of a layer, roughly."""
    rows, columns = case["geometry"][:2]
    x, layer = case["workload"]["inputs"][0]["shape"], case["workload"]["layers"][0]
    out = [(x[1 + i] + layer["pads"][i] + layer["pads"][i + 2] - (layer["kernel"][i] - 1) * layer["dilation"][i] - 1) // layer["stride"][i] + 1 for i in range(2)]
    if min(out) < 1:
        return None
    n = layer["kernel"][0] * layer["kernel"][1] * x[3] // layer["groups"]
    side = min(rows, columns)
    return -(-x[0] * out[0] * out[1] // side) * -(-layer["out_channels"] // side) * -(-n // side) * side


def settings(hardware):
    """What the bench must know of the hardware."""
    unit, core = hardware.get("rolling", {}), hardware["chip"]["core"]
    slots = unit.get("record_slots", 0) or unit.get("groups", 4) + 2
    result = {"scope": "chip.cluster0.core0.", "processor": "cluster0.core0.control", "line_queue": unit.get("line_queue", 64), "write_queue": unit.get("write_queue", 16),
              "record_slots": slots, "post_latency": unit.get("post_latency_cycles", 4), "shared_spare": int(unit.get("spare_lines") == "shared"),
              "assigned": int(unit.get("registers") == "assigned")}
    for operand, name in (("a", "nram"), ("b", "wram")):
        banks = core.get(name, {})
        result[operand + "_latency"] = banks.get("latency_cycles", 1)
        result[operand + "_bank_shift"] = (banks.get("bank_bytes", 16) - 1).bit_length()
        result[operand + "_banks"] = banks.get("banks", 16)
    return result


def varied(case, folder, product):
    """Writes the planner's program with what the planner does not ask for: set-ups between runs, whose registers, accesses and results tell which
    one was used. Returns whether there is such a program."""
    rng = random.Random(case["seed"])
    setups, runs = {}, 0

    def before(words, line):
        nonlocal runs
        if words[0] in ("conv.setup", "rolling.setup"):
            setups[words[0]] = line
        if words[0] != "rolling.run":
            return []
        runs += 1
        result, fresh = [], runs > 1 and "first=0" not in words
        if fresh and rng.random() < 0.4:
            result.append(other_zero_point(rng, setups["conv.setup"]))
        if fresh and rng.random() < 0.6:
            left = "variant=left" in setups["rolling.setup"]
            kept = re.sub(r" (variant|realignment)=\w+", "", setups["rolling.setup"])
            result.append(kept + f" variant={rng.choice(VARIANTS[4:] if left else VARIANTS[:4])} realignment={rng.choice(['rolling', 'tags'])}")
        return result

    return vary(folder, product, before) and runs > 1


def run_case(case, folder, product, bench):
    """Runs a case on both. Returns (clocks, records) where they are equal, None where the planner refuses the case."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hw.json").write_text(json.dumps(case["hardware"]))
    (folder / "layer.json").write_text(json.dumps(case["workload"]))
    program = case.get("varied") and varied(case, folder, product)
    work = ["--program", "case.program"] if program else ["--layer", "layer.json"]
    return compare(folder, bench, settings(case["hardware"])) if run_on_core(case, folder, product, ["rolling"], work) else None


def given_case(hardware, work):
    """A case of files: hardware with a core, and a workload."""
    hw = json.loads(Path(hardware).read_text())
    unit = hw.get("rolling", {})
    stack = int(unit.get("result_blocks", 1) ** 0.5)
    geometry = [unit.get("rows", 16), unit.get("columns", 16), unit.get("groups", 4), unit.get("multipliers", 1), unit.get("port_bytes", 16), stack,
                unit.get("drain_bytes", 16) // 4]
    return {"geometry": geometry, "hardware": hw, "workload": json.loads(Path(work).read_text())}


def smaller(case):
    """Cases with one size halved, or one setting left out."""
    yield from smaller_layers(case)
    for key in ("line_queue", "write_queue", "record_slots", "post_latency_cycles", "realign", "wrap", "spare_lines", "transposition"):
        if key in case["hardware"]["rolling"]:
            yield changed(case, ("hardware", "rolling", key))
    for name in ("nram", "wram"):
        plain = {"size_bytes": 65536, "banks": 16, "bank_bytes": 16}
        if case["hardware"]["chip"]["core"][name] != plain:
            yield changed(case, ("hardware", "chip", "core", name), plain)
