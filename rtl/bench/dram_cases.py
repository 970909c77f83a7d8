"""Random copies for a memory controller, and how they are run."""

import json
from pathlib import Path

import copy_programs
from lockstep_common import Failure, call, changed, compare

TOP = "dram_controller"
# Channels, banks, places of a queue, requests that may arrive in a clock of the DRAM.
GEOMETRIES = [(1, 16, 64, 2), (2, 32, 16, 2), (4, 16, 16, 2), (2, 8, 64, 2), (2, 16, 64, 4), (16, 16, 8, 2)]
EVERY_PUSH = [0]
MUTANTS = [0, 2, 1]
PRESETS = [["ddr4_2400", "ddr4_3200"], ["ddr5_4800"], ["ddr4_2400_ecc_x4"], ["lpddr4_3200"], ["lpddr5_6400"], ["hbm2_2000"]]
MAPPINGS = ["row_bank_column_group_channel", "row_bank_column_channel", "row_column_bank_channel", "channel_row_bank_column"]
TIMES = ["tRCD", "tRP", "tCL", "tCWL", "tRAS", "tCCD", "tCCD_L", "tCCD_L_WR", "tRRD", "tRRD_L", "tFAW", "tWR", "tWTR", "tWTR_L", "tRTP", "tRFC"]
AREA = 1 << 18  # bytes from one area of DRAM to the next


def parameters(geometry, hardware=None):
    """Parameters of the model."""
    return dict(zip(("CHANNELS", "BANKS", "QUEUE", "INPUTS"), geometry))


def random_dram(rng, geometry):
    """The DRAM of a hardware file: a preset of the geometry, and what a file may change of it."""
    pick = rng.choice
    dram = {"preset": pick(PRESETS[GEOMETRIES.index(geometry)]), "mapping": pick(MAPPINGS[:1] + MAPPINGS)}
    if geometry[2] < 64 or rng.random() < 0.5:
        dram["queue_depth"] = pick([depth for depth in (1, 2, 3, 5, 8, 16, 33) if depth <= geometry[2]])
    if rng.random() < 0.5:
        dram["starvation_cap"] = pick([0, 1, 2, 3, 8, 20])
    if rng.random() < 0.7:
        dram["tREFI_ps"] = pick([1000000, 1500000, 3000000])
    elif rng.random() < 0.3:
        dram["refresh"] = False
    if rng.random() < 0.3:
        dram["ecc_bits"] = pick([0, 8])
    if rng.random() < 0.3:
        dram["bank_groups"] = pick([1, 2, 4, 8])
    for name in TIMES:
        if rng.random() < 0.15:
            dram[f"{name}_ps"] = rng.randint(0, 45000)
    return dram


def random_case(rng, geometry, on_chip=False):
    """Copies between DRAM and the cores of a chip, as JSON."""
    pick = rng.choice
    clusters, cores = pick([(1, 1), (1, 2), (1, 4), (2, 2)])
    controllers = pick([1, 1, 2])
    hardware = {
        "name": "lockstep", "clock_mhz": pick([1000, 1000, 800, 500, 1200]), "dram": random_dram(rng, geometry), "interconnect": {"bytes_per_clock": pick([16, 16, 32, 64])},
        "chip": {"clusters": clusters, "cores_per_cluster": cores, "memory_controllers": controllers, "core": {"nram": {"size_bytes": 65536}, "copy": {"burst_bytes": pick([64, 256, 1024, 4096]), "max_outstanding": pick([1, 2, 8, 8])}}},
    }
    # Reads are in even areas and writes in odd ones. Few areas have many row hits, many have conflicts.
    areas = [2 * rng.randrange(64) for _ in range(pick([1, 2, 4, 16]))]
    writes = pick([0.0, 0.2, 0.5, 0.8])
    parts = {}
    for cluster in range(clusters):
        for core in range(cores):
            nram = copy_programs.NRAM + (cluster * cores + core) * copy_programs.CORE_STEP
            lines = []
            for _ in range(rng.randint(1, 10)):
                fields, spans = copy_programs.strided(rng, (16384, 16384))
                if rng.random() < 0.1:  # the DRAM is idle meanwhile
                    fields.update({"outer_count": 0, "pad_top": 100, "pad_left": 16, "run_bytes": rng.randint(1, 20), "destination_inner_stride": 20, "destination_outer_stride": 320})
                    lines.append(copy_programs.line("iodma", 0x100000, nram, fields))
                    continue
                there = pick(areas) * AREA + pick([rng.randrange(AREA - 16384), 64 * rng.randrange(200)]) + (1 << 25)
                if rng.random() < writes:
                    lines.append(copy_programs.line("iodma", nram + 32768 + rng.randrange(32768 - spans[0] + 1), there + AREA, fields))
                else:
                    lines.append(copy_programs.line("iodma", there, nram + rng.randrange(32768 - spans[1] + 1), fields))
            parts[f"core {cluster}.{core}"] = lines
    return {"geometry": list(geometry), "hardware": hardware, "parts": parts, "controller": rng.randrange(controllers)}


def beats(case):
    """The copies of a case."""
    return sum(map(len, case["parts"].values()))


def cycles(picoseconds, clock):
    return -(-picoseconds // clock)


def settings(hardware, controller, controllers):
    """What the bench must know of the hardware, from a report's configuration."""
    dram = hardware["dram"]
    clock = dram["clock_ps"]
    times = {name: cycles(dram[f"{name}_ps"], clock) for name in TIMES}
    beats_of_burst = -(-dram["burst_length"] // dram["transfers_per_clock"])
    burst_bytes = dram["burst_length"] * dram["data_bits"] // 8
    behind_write = times["tCWL"] + beats_of_burst
    log = lambda number: number.bit_length() - 1
    result = {"scope": f"chip.dram{controller}", "npu_ps": round(1e6 / hardware["clock_mhz"]), "dram_ps": clock, "controllers": controllers,
              "beats": beats_of_burst, "read_to_write": times["tCL"] + beats_of_burst + 2 - times["tCWL"], "write_to_precharge": behind_write + times["tWR"],
              "write_to_read": behind_write + times["tWTR"], "write_to_read_group": behind_write + times["tWTR_L"], "REFI": cycles(dram["tREFI_ps"], clock),
              "mapping": MAPPINGS.index(dram["mapping"]), "burst_bits": log(burst_bytes), "channel_bits": log(dram["channels"]), "group_bits": log(dram["bank_groups"]),
              "bank_bits": log(dram["banks"]), "column_bits": log(dram["row_bytes"] // burst_bytes),
              "row_bits": log(dram["size_bytes"] // dram["channels"] // dram["banks"] // dram["row_bytes"]),
              "queue_depth": dram["queue_depth"], "starvation_cap": dram["starvation_cap"], "refresh": int(dram["refresh"]), "ecc": int(dram["ecc_bits"] > 0)}
    result.update({name[1:]: value for name, value in times.items()})
    result["CCD"] = max(times["tCCD"], beats_of_burst)
    result["read_to_write"] = max(result["read_to_write"], result["CCD"])
    return result


def run_case(case, folder, product, bench):
    """Runs a case on both. Returns (clocks, records) where they are equal, None where the product refuses the case."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hw.json").write_text(json.dumps(case["hardware"]))
    (folder / "case.program").write_text(copy_programs.program(case["parts"]))
    controller = case["controller"]
    status, out, err = call([product, "run", "--config", "hw.json", "--program", "case.program", "--uninitialised", "allow", "--out", "out", "--vectors", "vectors",
                             "--vectors-ports", f"chip.dram{controller}.*"], folder)
    if status != 0:
        case["refused"] = (out + err).strip()
        if status == 2:
            return None
        raise Failure("the product fails: " + case["refused"][-600:])
    configuration = json.loads((folder / "out" / "report.json").read_text())["configuration"]
    return compare(folder, bench, settings(configuration, controller, case["hardware"]["chip"]["memory_controllers"]))


def given_case(hardware, work):
    """A case of files: hardware, and a program."""
    raise SystemExit("memory controllers have random cases alone")


def smaller(case):
    """Cases with one copy less, or one setting left out."""
    for processor, lines in case["parts"].items():
        for i in range(len(lines)):
            yield changed(case, ("parts", processor, i))
    for key in case["hardware"]["dram"]:
        if key != "preset":
            yield changed(case, ("hardware", "dram", key))
