"""Random copies for a DMA engine, and how they are run."""

import json
import random

import copy_programs
from copy_programs import CLUSTER_STEP, NRAM, SRAM, WRAM
from lockstep_common import Failure, call, changed, compare, npy, program_image

TOP = "copy_engine"
# Ports; bytes of the bus of the outer side and the link, and of the inner side and the broadcast.
GEOMETRIES = [(2, 16, 64), (2, 8, 8), (2, 32, 16), (2, 64, 32), (2, 4, 128), (4, 16, 64), (4, 8, 8), (4, 32, 16)]
EVERY_PUSH = [5]
MUTANTS = [5, 1]
CORE, MEMORY = "chip.cluster0.core0", "chip.cluster0.memory"
CORE_PORTS = ("chip.cluster0.core0.bus.broadcast", "chip.cluster0.core1.bus.broadcast")
PORTS = ("unit", "side0", "side1", "side2", "side3", "core0", "core1")
NOWHERE, EVERYWHERE = (0, 0), (1 << 47, (1 << 48) - 1)
CORE_MEMORIES, OWN_SRAM, SRAMS = (NRAM, 1 << 47), (SRAM, SRAM + CLUSTER_STEP), (SRAM, NRAM)
# By what an engine does: its name in the hardware, its processor, the opcodes of its copies, and of each side the port and the addresses;
# those of the first side are the others. Sides: outer, inner, link, broadcast.
UNITS = {
    "iodma": ("iodma", "core0", (0x30, 0x30), [("chip.noc.cluster0.core0.iodma", NOWHERE), (f"{CORE}.bus.iodma", CORE_MEMORIES)]),
    "mvdma": ("mvdma", "core0", (0x31, 0x31), [(f"{MEMORY}.bus.core0", NOWHERE), (f"{CORE}.bus.mvdma", CORE_MEMORIES)]),
    "gdma": ("gdma", "memory", (0x32, 0x32), [("chip.noc.cluster0.memory.gdma", NOWHERE), (f"{MEMORY}.bus.gdma", SRAMS)]),
    "cdma": ("cdma", "memory", (0x33, 0x33), [("chip.link.cluster0", NOWHERE), (f"{MEMORY}.bus.cdma", OWN_SRAM)]),
    "broadcast": ("mvdma", "memory", (0x31, 0x31), [("-", NOWHERE), (f"{MEMORY}.bus.broadcast", SRAMS), ("-", NOWHERE), (f"{MEMORY}.broadcast", EVERYWHERE)]),
    "merged": ("dma", "memory", (0x31, 0x33), [("chip.noc.cluster0.memory.gdma", NOWHERE), (f"{MEMORY}.bus.dma", OWN_SRAM), ("chip.link.cluster0", SRAMS), (f"{MEMORY}.broadcast", EVERYWHERE)]),
}
DATA, RESULTS = 0x100000, 0x400000  # in DRAM
HALF = 16384  # of a memory: the lower half is read, the upper one written
ROOM = 1 << 16  # bytes in DRAM, at either place


def parameters(geometry, hardware=None):
    """Parameters of the model."""
    return dict(zip(("SIDES", "WIDTH0", "WIDTH1"), geometry))


def random_bus(rng, width):
    """A bus of this width."""
    return {"bytes_per_clock": width, "request_cycles": rng.choice([1, 1, 2, 5]), "response_cycles": rng.choice([1, 1, 2, 4]), "max_outstanding": rng.choice([16, 16, 1, 2, 3])}


def random_memory(rng, width):
    """A memory on a bus of this width."""
    return {"size_bytes": 2 * HALF, "banks": rng.choice([1, 2, 4, 16]), "bank_bytes": rng.choice([b for b in (1, 2, 4, 8, 16) if b <= width]),
            "latency_cycles": rng.choice([1, 0, 2, 7]), "request_queue": rng.choice([16, 1, 2])}


def places(unit, rng, load):
    """Where a copy reads and where it writes: the first byte and the bytes there are."""
    if unit == "cdma":
        return (SRAM, HALF), (SRAM + CLUSTER_STEP + HALF, HALF)
    if unit == "broadcast":
        return (SRAM, HALF), ((1 << 47) + rng.choice([0, 1 << 46]) + (rng.randint(1, 3) << 30) + HALF, HALF)
    inner = SRAM if unit == "gdma" else NRAM
    if unit == "mvdma" and rng.random() < 0.15:  # within the core
        return (NRAM, HALF), (rng.choice([NRAM, WRAM]) + HALF, HALF)
    outer, room = ((SRAM, SRAM + HALF), HALF) if unit == "mvdma" else ((DATA, RESULTS), ROOM)
    return ((outer[0], room), (inner + HALF, HALF)) if load else ((inner, HALF), (outer[1], room))


def random_copy(unit, rng, block_bytes):
    """The text of a copy of a unit; blocks that it turns have at most so many bytes."""
    if unit == "merged":
        unit = rng.choice(["gdma", "cdma", "broadcast"])
    source, destination = places(unit, rng, rng.random() < 0.5)
    kind = rng.random()
    if kind < 0.2:
        fields, spans = copy_programs.bordered(rng, (8192, 8192))
    elif kind < 0.4:
        fields, spans = copy_programs.turned(rng, (8192, 8192), block_bytes)
    else:
        fields, spans = copy_programs.strided(rng, (8192, 8192))
    begin = [place + rng.choice([rng.randrange(room - span + 1), 64 * rng.randrange((room - span) // 64 + 1)]) for (place, room), span in zip((source, destination), spans)]
    return copy_programs.line("mvdma" if unit == "broadcast" else unit, *begin, fields)


def random_case(rng, geometry, on_chip=False):
    """Copies of an engine of a chip, as JSON."""
    pick = rng.choice
    sides, outer, inner = geometry
    unit = pick(["iodma", "iodma", "mvdma", "gdma", "cdma"] + ["broadcast", "merged", "merged", "merged"] * (sides == 4))
    width = {"noc": outer, "core": inner, "cluster": outer if unit == "mvdma" else inner, "link": outer}
    burst = pick([b for b in (32, 64, 128, 256) if b >= max(width.values())])
    copy = {"burst_bytes": burst, "max_outstanding": pick([o for o in (1, 2, 3, 8) if o * burst <= 1024]), "buffer_bytes": pick([b for b in (2 * burst, 2 * burst + 7, 512, 2048) if b >= 2 * burst])}
    memory = lambda: random_memory(rng, min(width.values()))
    hardware = {
        "name": "lockstep", "clock_mhz": 1000, "dram": {"preset": "ddr4_2400"}, "interconnect": random_bus(rng, outer), "switch_array": {"arrangement_queue_words": 256},
        "chip": {"clusters": 2, "cores_per_cluster": 2, "merged_dma": unit == "merged", "memory_controllers": pick([1, 1, 2]), "sram": memory(), "cluster_bus": random_bus(rng, width["cluster"]),
                 "cluster_link": random_bus(rng, outer), "copy": copy, "core": {"nram": memory(), "wram": memory(), "bus": random_bus(rng, inner), "copy": copy}},
    }
    on_core = unit in ("iodma", "mvdma")
    first = copy_programs.line("iodma" if on_core else "gdma", DATA, NRAM if on_core else SRAM, {"run_bytes": HALF}) + "  completes map_full[0],map_full[1]"
    block_bytes = copy["buffer_bytes"] - burst
    lines = [random_copy(unit, rng, block_bytes) for _ in range(rng.randint(1, 12))]
    lines[0] += "  waits map_full[0]"
    parts = {"core 0.0" if on_core else "memory 0": [first, *lines]}
    if rng.random() < 0.5 and unit != "merged":  # others use the buses
        other = "gdma" if on_core else "cdma" if unit == "gdma" else "gdma"
        more = [random_copy(other, rng, block_bytes) for _ in range(rng.randint(1, 8))]
        if unit == "mvdma":
            parts["memory 0"] = more
        elif on_core:
            parts["memory 0"] = [copy_programs.line("gdma", DATA, SRAM, {"run_bytes": HALF}) + "  completes map_full[0]", more[0] + "  waits map_full[0]", *more[1:]]
        else:
            more[0] += "  waits map_full[1]"
            parts["memory 0"] += more
    return {"geometry": list(geometry), "hardware": hardware, "unit": unit, "parts": parts, "seed": rng.randrange(1 << 32)}


def beats(case):
    """The copies of a case."""
    return sum(map(len, case["parts"].values()))


def settings(case):
    """What the bench must know of the hardware."""
    name, processor, (first, last), sides = UNITS[case["unit"]]
    copy = case["hardware"]["chip"]["core"]["copy"]
    result = {"unit": f"chip.cluster0.{processor}.{name}", "processor": f"cluster0.{processor}.control", "first_opcode": first, "last_opcode": last,
              **{name: copy[name] for name in ("burst_bytes", "max_outstanding", "buffer_bytes")}}
    for i, (port, (begin, end)) in enumerate(sides + [("-", NOWHERE)] * (4 - len(sides))):
        result.update({f"side{i}": port, f"begin{i}": begin, f"end{i}": end})
    return result | {f"core{i}": port for i, port in enumerate(CORE_PORTS)}


def run_case(case, folder, product, bench):
    """Runs a case on both. Returns (clocks, records) where they are equal, None where the product refuses the case."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hw.json").write_text(json.dumps(case["hardware"]))
    npy(folder / "data.npy", random.Random(case["seed"]).randbytes(ROOM))
    (folder / "case.program").write_text(f".data {DATA:#x} data.npy\n" + copy_programs.program(case["parts"]))
    known = settings(case)
    status, out, err = call([product, "run", "--config", "hw.json", "--program", "case.program", "--uninitialised", "allow", "--out", "out", "--vectors", "vectors",
                             "--vectors-ports", *(known[name] + ".*" for name in PORTS if known[name] != "-"), "instructions"], folder)
    if status != 0:
        case["refused"] = (out + err).strip()
        if status == 2:
            return None
        raise Failure("the product fails: " + case["refused"][-600:])
    (folder / "program.image").write_bytes(program_image(folder, known["processor"]))
    try:
        return compare(folder, bench, known)
    except Failure as failure:
        if "no record tells" not in failure.args[0]:
            raise
        case["refused"] = failure.args[0]
        return None


def given_case(hardware, work):
    """A case of files: hardware, and a program."""
    raise SystemExit("DMA engines have random cases alone")


def smaller(case):
    """Cases with one copy less, or one setting left out."""
    for processor, lines in case["parts"].items():
        for i in range(1, len(lines)):
            if "waits" not in lines[i]:
                yield changed(case, ("parts", processor, i))
