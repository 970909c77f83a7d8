"""Random layers for the offset-table engine, and how they are run."""

import json
import random
from pathlib import Path

from lockstep_common import changed, compare, other_zero_point, random_layer, random_window, run_on_core, smaller_layers, vary, whole_rows, zero_point

TOP = "offset_unit"
# Threads, kernels, neighbouring elements, bytes of a line, sets, ways, banks, bytes of an access, sums that drain in a cycle, bytes of the bus.
GEOMETRIES = [
    (4, 4, 4, 16, 16, 4, 4, 16, 4, 16),
    (3, 2, 2, 8, 8, 2, 2, 4, 1, 8),
    (5, 3, 8, 32, 4, 4, 8, 32, 2, 32),
    (8, 8, 4, 64, 4, 4, 16, 64, 16, 64),
    (4, 2, 1, 4, 16, 2, 4, 8, 1, 16),
    (2, 6, 16, 8, 32, 8, 2, 16, 3, 16),
]
EVERY_PUSH = [0]
MUTANTS = [1, 0, 2]
UNITS = ["offset", "nram.engine", "wram.engine"]
# What the model has room for; hardware may have less.
LARGEST = {"TABLE": 2048, "QUEUE": 16, "MISSES": 16, "WRITES": 16, "RECORDS": 64, "MAX_LATENCY": 32}


def parameters(geometry, hardware=None):
    """Parameters of the model."""
    return {**dict(zip(("R", "C", "V", "LINE", "SETS", "WAYS", "BANKS", "PORT", "SUMS", "BUS"), geometry)), **LARGEST}


def memory(rng, sizes, bus):
    """A memory whose banks together hold what goes over a port, or less."""
    bank_bytes = rng.choice([b for b in (4, 8, 16, 32) if b <= bus])
    return {"size_bytes": rng.choice(sizes), "banks": rng.choice([1, 2, 3, 4, 6, 8, 16]), "bank_bytes": bank_bytes, "latency_cycles": rng.choice([1, 1, 1, 0, 2, 3, 7, 20])}


def random_engine(rng, geometry):
    """The engine's part of a hardware file."""
    rows, columns, vector, line, sets, ways, banks, port, sums, bus = geometry
    pick = rng.choice
    cache = {"bytes": line * sets * ways, "line_bytes": line, "ways": ways, "banks": banks, "replacement": pick(["lru", "lru", "fifo"]),
             "bank_order": pick(["rotated", "rotated", "plain"]), "misses": pick([8, 16, 1, 2, 3, 4]), "hit_latency_cycles": pick([2, 2, 1, 3, 5])}
    engine = {"rows": rows, "columns": columns, "vector": vector, "cache": cache, "port_bytes": port, "drain_bytes": 4 * sums,
              "layout": pick(["nhwc", "nhwc", "nhwc", "nchw", "cnhw", "nchwc", "nchwc"]), "block_channels": pick([2, 3, 4, 8]),
              "thread_order": pick(["linear", "linear", "block"]), "table_bytes": pick([2048, 2048, 1024, 512, 256]),
              "beat_queue": pick([16, 16, 8, 1, 2, 3, 5]), "write_queue": pick([16, 16, 8, 1, 2, 4]), "post_latency_cycles": pick([4, 4, 0, 1, 7]),
              "record_kernels": pick([LARGEST["RECORDS"] // columns, 1, 2, 3]) * columns}
    if rng.random() < 0.2:
        engine.update({"addresses": "computed", "divider_cycles": pick([8, 1, 2, 3]), "multiplier_cycles": pick([1, 1, 2, 5]), "address_queue": pick([4, 4, 1, 2, 3, 8])})
    return engine


def random_case(rng, geometry, on_chip=False):
    """A layer and hardware for it, as JSON."""
    rows, columns, vector, line, sets, ways, banks, port, sums, bus = geometry
    pick = rng.choice
    conv_groups = 1 if rng.random() < 0.7 else pick([2, 3, 4])
    channels = conv_groups * pick([rng.randint(1, 5), rng.randint(1, 3 * line)])
    kernels = conv_groups * rng.randint(1, max(1, 4 * columns // conv_groups))
    window, height, width = random_window(rng, 6, 10)
    if rng.random() < 0.12:  # coordinates in place of masks
        axis = rng.randrange(2)
        size = [min(height, 3), min(width, 3)]
        window.update({"kernel": [1, 1], "stride": [1, 1], "dilation": [1, 1]})
        window["kernel"][axis], window["stride"][axis], size[axis] = 33 + rng.randint(0, 3), pick([1, 2]), 34 + rng.randint(0, 8)
        window["pads"][axis] = rng.randint(0, 3)
        height, width = size
        channels, kernels = conv_groups * rng.randint(1, 3), conv_groups * rng.randint(1, 2)
    sizes = {"out_channels": kernels, **window, "groups": conv_groups}
    layer, in_type = random_layer(rng, sizes, 0.7)
    layers = [layer]
    if "requant" in layer and rng.random() < 0.15:
        layers.append({"name": "conv2", "op": "conv2d", "inputs": ["conv"], "out_channels": rng.randint(1, 2 * columns), "kernel": [1, pick([1, 2])], "stride": [1, 1],
                       "dilation": [1, 1], "pads": [0, 0, 0, 1], "weights": {"random": {"seed": 4}}})
    workload = {"name": "lockstep", "inputs": [{"name": "x", "shape": [pick([1, 1, 1, 2]), height, width, channels], "dtype": in_type, "random": {"seed": 1},
                                                "zero_point": zero_point(rng, in_type)}], "layers": layers, "outputs": [layers[-1]["name"]]}
    engine = random_engine(rng, geometry)
    hardware = {
        "name": "lockstep", "clock_mhz": 1000, "dataflow": "offset", "offset": engine, "dram": {"preset": "ddr4_2400"},
        "interconnect": {"bytes_per_clock": bus}, "planner": {"map_layout": engine["layout"], "map_block_channels": engine["block_channels"]},
        "chip": {"clusters": 1, "cores_per_cluster": 1, "memory_controllers": 1, "cluster_bus": {"bytes_per_clock": bus}, "sram": {"bank_bytes": min(16, bus)},
                 "core": {"nram": memory(rng, [65536, 65536, 4096], bus), "wram": memory(rng, [65536, 65536, 2048, 1024], bus), "bus": {"bytes_per_clock": bus}}},
    }
    if rng.random() < 0.35:  # half of WRAM holds the kernels of a block in two or more parts of channels alone
        block = min(columns, kernels // conv_groups) * channels // conv_groups * window["kernel"][0] * window["kernel"][1]
        hardware["chip"]["core"]["wram"]["size_bytes"] = max(512, (1 << (block - 1).bit_length()) // pick([1, 1, 2, 4]))
    whole_rows(hardware["chip"]["core"]["nram"], 256)
    whole_rows(hardware["chip"]["core"]["wram"])
    if rng.random() < 0.2:
        hardware["planner"] = {"map_layout": pick(["nhwc", "nchw", "nchwc"]), "map_block_channels": pick([2, 4, 8])}
    if rng.random() < 0.3:
        hardware["dma"] = {"burst_bytes": pick([64, 128, 256]), "max_outstanding": pick([8, 1, 2, 5])}
    return {"geometry": list(geometry), "workload": workload, "hardware": hardware, "varied": rng.random() < 0.3, "seed": rng.randrange(1 << 32)}


def beats(case):
    """The beats of a layer, roughly."""
    rows, columns, vector = case["geometry"][:3]
    x, layer = case["workload"]["inputs"][0]["shape"], case["workload"]["layers"][0]
    out = [(x[1 + i] + layer["pads"][i] + layer["pads"][i + 2] - (layer["kernel"][i] - 1) * layer["dilation"][i] - 1) // layer["stride"][i] + 1 for i in range(2)]
    if min(out) < 1:
        return None
    groups = layer["groups"]
    tiles = -(-out[0] * out[1] // rows) * x[0] * groups * -(-layer["out_channels"] // groups // columns)
    neighbours = vector if case["hardware"]["offset"]["layout"] in ("nhwc", "nchwc") else 1
    return tiles * layer["kernel"][0] * layer["kernel"][1] * -(-x[3] // groups // neighbours)


def settings(hardware):
    """What the bench must know of the hardware."""
    engine, core = hardware.get("offset", {}), hardware["chip"]["core"]
    cache = engine.get("cache", {})
    result = {"scope": "chip.cluster0.core0.", "tables": "chip.noc.cluster0.core0.tables", "processor": "cluster0.core0.control",
              "fifo": int(cache.get("replacement") == "fifo"), "computed": int(engine.get("addresses") == "computed"), "divider": engine.get("divider_cycles", 8),
              "multiplier": engine.get("multiplier_cycles", 1), "address_queue": engine.get("address_queue", 4), "table_bytes": engine.get("table_bytes", 16384), "burst_bytes": hardware.get("dma", {}).get("burst_bytes", 1024),
              "outstanding": hardware.get("dma", {}).get("max_outstanding", 8), "beat_queue": engine.get("beat_queue", 16), "hit_latency": cache.get("hit_latency_cycles", 2), "misses": cache.get("misses", 8),
              "write_queue": engine.get("write_queue", 16), "post_latency": engine.get("post_latency_cycles", 4)}
    for port, name in (("lines", "nram"), ("kernels", "wram")):
        banks = core.get(name, {})
        result[port + "_latency"] = banks.get("latency_cycles", 1)
        result[port + "_bank_shift"] = (banks.get("bank_bytes", 16) - 1).bit_length()
        result[port + "_banks"] = banks.get("banks", 16)
    return result


def varied(case, folder, product):
    """Writes the planner's program with set-ups between its runs. Returns whether there is such a program."""
    rng = random.Random(case["seed"])
    setups, runs = {}, 0

    def before(words, line):
        nonlocal runs
        if words[0] in ("conv.setup", "offset.setup", "offset.map"):
            setups[words[0]] = line
        if words[0] != "offset.run":
            return []
        runs += 1
        fresh = runs > 1 and "first=0" not in words
        result = [other_zero_point(rng, setups["conv.setup"])] if fresh and rng.random() < 0.4 else []
        return result + [setups[name] for name in ("offset.setup", "offset.map") if fresh and rng.random() < 0.2]

    return vary(folder, product, before) and runs > 1


def run_case(case, folder, product, bench):
    """Runs a case on both. Returns (clocks, records) where they are equal, None where the planner refuses the case."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hw.json").write_text(json.dumps(case["hardware"]))
    (folder / "layer.json").write_text(json.dumps(case["workload"]))
    work = ["--program", "case.program"] if case.get("varied") and varied(case, folder, product) else ["--layer", "layer.json"]
    return compare(folder, bench, settings(case["hardware"])) if run_on_core(case, folder, product, UNITS, work, ["chip.noc.cluster0.core0.tables.*"]) else None


def given_case(hardware, work):
    """A case of files: hardware with a core, and a workload."""
    hw = json.loads(Path(hardware).read_text())
    engine, bus = hw.get("offset", {}), hw.get("interconnect", {})
    cache = engine.get("cache", {})
    line, ways = cache.get("line_bytes", 64), cache.get("ways", 4)
    geometry = [engine.get("rows", 16), engine.get("columns", 16), engine.get("vector", 4), line, cache.get("bytes", 16384) // line // ways, ways, cache.get("banks", 16),
                engine.get("port_bytes", 64), engine.get("drain_bytes", 64) // 4, bus.get("bytes_per_clock", 16)]
    return {"geometry": geometry, "hardware": hw, "workload": json.loads(Path(work).read_text())}


def smaller(case):
    """Cases with one size halved, or one setting left out."""
    yield from smaller_layers(case)
    geometry = ("rows", "columns", "vector", "cache", "port_bytes", "drain_bytes", "record_kernels", "layout", "block_channels")
    for key in case["hardware"]["offset"]:
        if key not in geometry and (key, case["hardware"]["offset"][key]) != ("table_bytes", LARGEST["TABLE"]):
            value = LARGEST["TABLE"] if key == "table_bytes" else None
            yield changed(case, ("hardware", "offset", key), value)
    for key in ("replacement", "bank_order", "misses", "hit_latency_cycles"):
        if key in case["hardware"]["offset"]["cache"]:
            yield changed(case, ("hardware", "offset", "cache", key))
    if "dma" in case["hardware"]:
        yield changed(case, ("hardware", "dma"))
    if len(case["workload"]["layers"]) > 1:
        yield changed(changed(case, ("workload", "layers", 1)), ("workload", "outputs"), ["conv"])
    if case["varied"]:
        yield changed(case, ("varied",), False)
