"""Random layers for the switch array, and how they are run."""

import json
import random
import re
import struct
from pathlib import Path

import assembler
from lockstep_common import Failure, call, changed, compare, npy, random_layer, read_npy, run_on_core, smaller_layers, zero_point

TOP = "switch_array"
# Rows, columns, groups, channels of a port, adder stages, bytes of a bus beat. The first three are those of every push.
GEOMETRIES = [
    (4, 4, 2, 2, 1, 16),
    (8, 8, 2, 4, 2, 16),
    (6, 3, 3, 3, 2, 32),
    (8, 4, 1, 8, 3, 32),
    (2, 2, 2, 1, 1, 16),
    (16, 16, 2, 4, 1, 16),
    (4, 5, 1, 5, 2, 64),
    (6, 4, 2, 2, 1, 16),
]
EVERY_PUSH = [0]
MUTANTS = [0, 1, 2]
LARGEST = {"bank_words": 512, "parameter_words": 512, "slots": 64, "output_bytes": 4096, "queue": 128, "latency": 8}


def parameters(geometry, hardware=None):
    """Parameters of the model. Memories are those of the random hardware, or of `hardware`."""
    array = (hardware or {}).get("switch_array", {})
    size = lambda name, key, default: array.get(key, default) if hardware else LARGEST[name]
    rows, columns, groups, channels, stages, bus = geometry
    output = max(size("output_bytes", "output_buffer_bytes", 262144), 1 << (rows * columns * 8 - 1).bit_length())
    return {"R": rows, "C": columns, "G": groups, "P": channels, "ADDER_STAGES": stages, "BUS": bus,
            "BANK_WORDS": size("bank_words", "bank_depth_words", 8192), "PARAMETER_WORDS": size("parameter_words", "parameter_depth_words", 16384),
            "SLOTS": LARGEST["slots"], "OUTPUT_BYTES": output, "QUEUE": LARGEST["queue"], "MAX_LATENCY": LARGEST["latency"]}


def random_case(rng, geometry, on_chip=False):
    """A layer and hardware for it, as JSON; None where they would take too long."""
    rows, columns, groups, channels, stages, bus = geometry
    pick = rng.choice
    depthwise = rng.random() < 0.15
    conv_groups = 1 if rng.random() < 0.7 else pick([2, 3, 4])
    if depthwise:
        conv_groups = rng.randint(2, 3 * channels + 2)
        ci = conv_groups
        co = conv_groups * pick([1, 1, 2])
    else:
        ci = conv_groups * rng.randint(1, max(1, 3 * channels // conv_groups))
        co = conv_groups * rng.randint(1, max(1, 3 * columns // conv_groups))
    kernel = [pick([1, 1, 2, 3, 3, 4, 5]), pick([1, 1, 2, 3, 3, 4, 5])]
    stride = [pick([1, 1, 1, 2, 2, 3, 4]), pick([1, 1, 1, 2, 2, 3, 4])]
    dilation = [pick([1, 1, 1, 2, 3, 5]), pick([1, 1, 1, 2, 3, 5])]
    pads = [rng.randint(0, 3) if rng.random() < 0.5 else 0 for _ in range(4)]
    reach = [(kernel[i] - 1) * dilation[i] + 1 for i in range(2)]
    height = max(1, reach[0] - pads[0] - pads[2]) + rng.randint(0, 12)
    width = max(1, reach[1] - pads[1] - pads[3]) + rng.randint(0, 16)
    batch = pick([1, 1, 1, 1, 2])
    sizes = {"out_channels": co, "kernel": kernel, "stride": stride, "dilation": dilation, "pads": pads, "groups": conv_groups}
    layer, in_type = random_layer(rng, sizes, 0.8)
    workload = {"name": "lockstep", "inputs": [{"name": "x", "shape": [batch, height, width, ci], "dtype": in_type, "random": {"seed": 1}, "zero_point": zero_point(rng, in_type)}],
                "layers": [layer], "outputs": ["conv"]}
    half = rows * columns * 4
    banks = pick([1, 4, 16])
    chip = {"clusters": 1, "cores_per_cluster": 1, "memory_controllers": 1,
            "core": {"nram": {"size_bytes": 65536, "banks": banks, "bank_bytes": bus}, "wram": {"size_bytes": 65536, "banks": banks, "bank_bytes": bus},
                     "bus": {"bytes_per_clock": bus}}}
    hardware = {
        "name": "lockstep",
        "switch_array": {
            "rows": rows, "columns": columns, "groups": groups, "port_channels": channels, "adder_stages": stages,
            "arrangement": pick(["stride_aware", "stride_aware", "table1"]),
            "bank_depth_words": pick([16, 64, 128, 512]), "parameter_depth_words": pick([16, 64, 128, 512]),
            "parameter_slots": pick([1, 2, 4, 64]), "records": pick(["held", "copied"]),
            "output_buffer_bytes": pick([2 * half, max(2 * half, 1024), max(2 * half, LARGEST["output_bytes"])]),
            # The queue holds at least what one beat can have for a bank: a word a byte, and one without bytes behind them.
            "arrangement_queue_words": pick([bus + 1, bus + 1, bus + 3, 40, 128]) if bus <= 32 else 128,
            "drain_clocks_per_lane": pick([1, 1, 1, 1, 2, 3, 7, 30]), "post_latency_cycles": pick([4, 4, 0, 1, 7]),
        },
        "dma": {"burst_bytes": pick([64, 128, 256, 1024]), "max_outstanding": pick([1, 2, 8]), "buffer_bytes": pick([1024, 4096]), "command_queue": pick([1, 2, 8])},
        "interconnect": {"bytes_per_clock": bus, "request_cycles": pick([1, 2, 9]), "response_cycles": pick([1, 2, 9]), "max_outstanding": pick([1, 4, 16])},
        "dram": {"preset": pick(["ddr4_2400", "ddr4_3200", "lpddr4_3200", "hbm2_2000"])},
        "clock_mhz": pick([1000, 500, 2000]),
        "planner": {"max_tile_rows": pick([0, 0, groups, 3 * groups]), "max_tile_columns": pick([0, 0, rows // groups, 2 * rows // groups])},
    }
    if on_chip:
        hardware["chip"] = chip
        if banks > 1:  # bursts that meet in a bank are answered out of order, and the waveform does not say which one an answer is of
            hardware["dma"]["max_outstanding"] = 1
    return {"geometry": list(geometry), "varied": rng.random() < 0.4, "workload": workload, "hardware": hardware, "seed": rng.randrange(1 << 32)}


def beats(case):
    """The beats of a layer without groups, roughly."""
    rows, columns, groups, channels = case["geometry"][:4]
    x, layer = case["workload"]["inputs"][0]["shape"], case["workload"]["layers"][0]
    out = [(x[1 + i] + layer["pads"][i] + layer["pads"][i + 2] - (layer["kernel"][i] - 1) * layer["dilation"][i] - 1) // layer["stride"][i] + 1 for i in range(2)]
    if min(out) < 1:
        return None
    up = lambda a, b: -(-a // b)
    cycles = x[0] * up(out[0], groups) * up(out[1], rows // groups) * up(layer["out_channels"], columns)
    return cycles * layer["kernel"][0] * layer["kernel"][1] * up(x[3], channels)


def instructions(listing):
    """The text of each instruction of a listing."""
    result = []
    for line in listing.splitlines():
        match = re.match(r"\s+0x[0-9a-f]{8}\s+(\S+)\s*(.*)$", line)
        if match:
            text = (match.group(1) + " " + match.group(2)).strip()
            result.append((match.group(1) + " " + match.group(2)).strip())
    return result


def kernel_bytes(f, columns, channels):
    """The bytes of a load.kernels that lie in memory."""
    if f["group_channels"] == 0:
        return f["words"] * columns * channels
    size, total = f["group_channels"], 0
    for word in range(f["words"]):
        block, plane = word // f["block_words"], word % f["block_words"] // f["taps"]
        first = f["first_channel"] + block * f["block_channels"] + plane * channels
        for kernel in range(block * columns, min((block + 1) * columns, f["kernels"])):
            group = (f["first_kernel"] + kernel) // f["group_kernels"]
            total += max(0, min(first + channels, (group + 1) * size) - max(first, group * size))
    return total


def shortest_burst(program, burst_bytes):
    """Bytes of the shortest burst that a load of a map asks for."""
    shortest = 1 << 32
    for mnemonic, f, _ in map(assembler.parse, program):
        if mnemonic != "load.input" or not f["height"]:
            continue
        taken = f["slice"] or f["channels"]
        for first in range(0, f["channels"], taken):
            length = min(taken, f["channels"] - first)
            end = None  # of the bytes that lie back to back
            for row in range(f["height"]):
                for column in range(f["width"]):
                    address = f["address"] + row * f["row_stride"] + column * f["pixel_stride"] + first
                    if address != end:
                        if end is not None:
                            shortest = min(shortest, parts(begin, end, burst_bytes))
                        begin = address
                    end = address + length
            if end is not None:
                shortest = min(shortest, parts(begin, end, burst_bytes))
    return shortest


def parts(begin, end, burst_bytes):
    """The shortest of the bursts that bytes are cut into."""
    cuts = [begin] + list(range(begin // burst_bytes * burst_bytes + burst_bytes, end, burst_bytes)) + [end]
    return min(after - before for before, after in zip(cuts, cuts[1:]))


def varied(case, program):
    """The program with what the planner does not ask for: further conv.setup between its runs, whose results tell which one was used,
    kernels of uint8, bounds of the output, and maps that come in slices of channels."""
    rng = random.Random(case["seed"])
    channels = case["geometry"][3]
    result, setup = [], None
    for line in program:
        if line.startswith("conv.setup"):
            if rng.random() < 0.3:
                line = re.sub(r" weight_zero_point=-?\d+", "", line) + f" weight_type=uint8 weight_zero_point={rng.randint(0, 255)}"
            if rng.random() < 0.5:
                line += f" floor={rng.randint(0, 60)} ceiling={rng.randint(0, 60)}"
            setup = re.sub(r" (clamp|clamp_low|clamp_high|output_zero_point)=-?\d+", "", line)
        if line.startswith("conv.run") and setup and rng.random() < 0.5:
            low = rng.randint(-5000, 0)
            result.append(f"{setup} clamp=1 clamp_low={low} clamp_high={low + rng.randint(0, 20000)} output_zero_point={rng.randint(0, 127)}")
        if line.startswith("load.input") and rng.random() < 0.3:
            taken = assembler.parse(line)[1]["channels"]
            if taken > channels:
                line = line.replace("load.input", f"load.input slice={channels * rng.randint(1, (taken - 1) // channels)}")
        result.append(line)
    return result


def memory(case, program):
    """Random contents for what the program reads: pieces of bytes by address."""
    rng = random.Random(case["seed"])
    rows, columns, groups, channels = case["geometry"][:4]
    spans = {"input": [], "kernels": [], "records": []}
    rescale = 0
    for text in program:
        mnemonic, f, _ = assembler.parse(text)
        if mnemonic == "conv.setup":
            rescale = f["rescale"]
        if mnemonic == "load.input" and f["height"]:
            spans["input"].append((f["address"], f["address"] + (f["height"] - 1) * f["row_stride"] + (f["width"] - 1) * f["pixel_stride"] + f["channels"]))
        if mnemonic == "load.kernels":
            spans["kernels"].append((f["address"], f["address"] + kernel_bytes(f, columns, channels)))
            if f["post_records"]:
                spans["records"].append((f["post_address"], f["post_address"] + 16 * f["post_records"]))
    pieces = {}
    for name, ranges in spans.items():
        if not ranges:
            continue
        begin, end = min(r[0] for r in ranges), max(r[1] for r in ranges)
        if name != "records":
            pieces[begin] = rng.randbytes(end - begin)
            continue
        data = b""
        for _ in range((end - begin) // 16):
            shift = 0
            scale = 2.0 ** -rng.randint(4, 16) * (1 + rng.random())
            if rescale == 1:
                scale = struct.unpack("<f", struct.pack("<f", scale))[0]
            if rescale in (2, 3):
                scale, shift = float(rng.randint(1 << 30, (1 << 31) - 1)), -rng.randint(2, 14)
                if rng.random() < 0.1:
                    shift = rng.randint(0, 2)
            data += struct.pack("<dii", scale, rng.randint(-20000, 20000), shift)
        pieces[begin] = data
    return pieces


def run_case(case, folder, product, bench):
    """Runs a case on both. Returns (clocks, records) where they are equal, None where the planner refuses the case."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hw.json").write_text(json.dumps(case["hardware"]))
    (folder / "layer.json").write_text(json.dumps(case.get("workload")))
    if "chip" in case["hardware"]:
        units = ("engine", "bus", "load", "parameter", "store")
        return compare(folder, bench, settings(case["hardware"])) if run_on_core(case, folder, product, units) else None
    if "program" in case:
        program, pieces = case["program"], case["pieces"]
    else:
        status, out, err = call([product, "plan", "--config", "hw.json", "--layer", "layer.json", "--disassemble"], folder)
        if status != 0:
            case["refused"] = (out + err).strip()
            return None
        program = instructions(out)
        if case.get("varied"):
            program = varied(case, program)
        dma = case["hardware"].setdefault("dma", {})
        if shortest_burst(program, dma.get("burst_bytes", 1024)) < 4 and dma.get("max_outstanding") != 1:
            # Memories answer out of order, and the bytes of so short bursts do not tell them apart.
            dma["max_outstanding"] = 1
            return run_case(case, folder, product, bench)
        pieces = memory(case, program)
    text = ".program soc\n"
    with open(folder / "dram.image", "wb") as image:
        for address, data in pieces.items():
            npy(folder / f"data_{address:x}.npy", data)
            text += f".data 0x{address:x} data_{address:x}.npy\n"
            image.write(struct.pack("<QQ", address, len(data)) + data)
    (folder / "case.program").write_text(text + "".join(line + "\n" for line in program))
    (folder / "program.image").write_bytes(b"".join(assembler.encode(line) for line in program))
    status, out, err = call([product, "run", "--config", "hw.json", "--program", "case.program", "--out", "out", "--vectors", "vectors",
                             "--vectors-ports", "soc.engine.*", "soc.bus.*", "soc.dma_*", "soc.states", "instructions"], folder)
    if status != 0:
        raise Failure("the product fails: " + (out + err).strip()[-600:])
    return compare(folder, bench, settings(case["hardware"]))


def settings(hardware):
    """What the bench must know of the hardware."""
    array, dma = hardware.get("switch_array", {}), hardware.get("dma", {})
    chip = "chip" in hardware
    return {"scope": "chip.cluster0.core0." if chip else "soc.", "processor": "cluster0.core0.control" if chip else "control", "in_order": int(chip), "burst_bytes": dma.get("burst_bytes", 1024),
                "table1": int(array.get("arrangement") == "table1"), "copied": int(array.get("records") == "copied"),
                "queue_words": array.get("arrangement_queue_words", 128), "drain_clocks": array.get("drain_clocks_per_lane", 1),
                "post_latency": array.get("post_latency_cycles", 4), "bank_words": array.get("bank_depth_words", 8192),
                "buffer_bytes": dma.get("buffer_bytes", 16384), "outstanding": dma.get("max_outstanding", 8)}


def given_case(hardware, work):
    """A case of files: a workload, whose data are drawn at random, or a program with its data."""
    hw = json.loads(Path(hardware).read_text())
    array = hw.get("switch_array", {})
    bus = hw.get("interconnect", {}).get("bytes_per_clock", 16)
    if "chip" in hw:
        bus = hw["chip"].get("core", {}).get("bus", {}).get("bytes_per_clock", 64)
    geometry = [array.get("rows", 16), array.get("columns", 16), array.get("groups", 2), array.get("port_channels", 4), array.get("adder_stages", 1), bus]
    case = {"geometry": geometry, "hardware": hw, "seed": 1}
    if not str(work).endswith(".program"):
        return dict(case, workload=json.loads(Path(work).read_text()))
    case.update(program=[], pieces={})
    for line in Path(work).read_text().splitlines():
        words = line.split()
        if words and words[0] == ".data":
            case["pieces"][int(words[1], 0)] = read_npy(Path(work).parent / words[2])
        elif words and words[0][0] not in ".#":
            if words[0] == "conv.run":  # the assembler fills in what setting up the run divides for
                line = complete_run(line, case["program"], array)
            case["program"].append(line)
    return case


def complete_run(line, before, array):
    """The quotients of a conv.run that a program leaves out (docs/isa.md)."""
    _, run, _ = assembler.parse(line)
    if run["plane_words"]:
        return line
    setup = [assembler.parse(l)[1] for l in before if l.startswith("conv.setup")][-1]
    strides = array.get("arrangement") != "table1"
    sh, sw = (setup["stride_h"], setup["stride_w"]) if strides else (1, 1)
    groups, lanes = array.get("groups", 2), array.get("rows", 16) // array.get("groups", 2)
    rows = run["height"] // (sh * groups) * sh + min(run["height"] % (sh * groups), sh)
    fields = {"plane_words": -(-rows * run["width"] // lanes), "phase_columns": run["width"] // sw if sw > 1 else 0,
              "h_quotient": run["h_offset"] // sh if sh > 1 else 0, "w_quotient": run["w_offset"] // sw if sw > 1 else 0}
    return line.replace("conv.run", "conv.run " + " ".join(f"{k}={v}" for k, v in fields.items() if v), 1)


def smaller(case):
    """Cases with one size halved."""
    yield from smaller_layers(case)
    for group in ("dma", "interconnect", "dram", "planner"):
        for key in list(case["hardware"][group]):
            if (group, key) != ("interconnect", "bytes_per_clock"):
                yield changed(case, ("hardware", group, key))
    fixed = ("rows", "columns", "groups", "port_channels", "adder_stages", "bank_depth_words", "parameter_depth_words")
    for key in list(case["hardware"]["switch_array"]):
        if key not in fixed and (key, case["hardware"]["switch_array"][key]) != ("output_buffer_bytes", LARGEST["output_bytes"]):
            new = json.loads(json.dumps(case))
            del new["hardware"]["switch_array"][key]
            if key == "output_buffer_bytes":
                new["hardware"]["switch_array"][key] = LARGEST["output_bytes"]
            if key == "parameter_slots":
                new["hardware"]["switch_array"][key] = LARGEST["slots"]
            yield new
