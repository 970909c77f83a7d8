"""What lock step of all engines shares: building a bench, running the product and the bench, files of a case."""

import json
import math
import re
import shutil
import struct
import subprocess
from pathlib import Path

import assembler

RTL = Path(__file__).resolve().parent.parent
BENCH = RTL / "bench"
MOST_SECONDS = 300  # of processor time for a bench: a wrong model may not end
ARITHMETICS = ("exact", "float32", "float32_ort", "fixed")


class Failure(Exception):
    """A step of a case did not work, or found a difference."""


def sources(engine, rtl):
    """The files of an engine's RTL below `rtl`, packages first."""
    files = sorted((rtl / "common").glob("*.sv")) + sorted((rtl / engine).glob("*.sv"))
    return sorted(files, key=lambda file: not file.name.endswith("_pkg.sv"))


def build(engine, top, parameters, folder, rtl=RTL, optimise="-O1"):
    """The bench of an engine at a geometry, built where it is not there or older than its sources. `optimise`: of the model's compiler."""
    benches = sorted(BENCH.glob("*.cpp")) + sorted((BENCH / engine).glob("*.cpp"))
    files = sources(engine, rtl) + benches
    target = folder / (f"{engine}_" + "_".join(str(n) for n in parameters.values())) / "bench"
    stamp = max(f.stat().st_mtime for f in files + sorted(BENCH.glob("*.h")) + sorted((BENCH / engine).glob("*.h")))
    if target.exists() and target.stat().st_mtime > stamp:
        return target
    shutil.rmtree(target.parent, ignore_errors=True)  # sources may have moved since it was built
    target.parent.mkdir(parents=True)
    flags = f"-O1 -std=c++17 -I{BENCH} -I{BENCH / engine} " + " ".join(f"-DGEOMETRY_{name}={value}" for name, value in parameters.items())
    make = f"OPT_FAST={optimise} OPT_SLOW=-O0 OPT_GLOBAL=-O0" + (" OBJCACHE=ccache" if shutil.which("ccache") else "")
    command = ["verilator", "--cc", "--exe", "--build", "-j", "1", "--top-module", top, "--Mdir", str(target.parent), "-O3",
               "--output-split", "40000", "--x-assign", "fast", "--noassert", "-Wno-fatal", "-Wno-WIDTH", "-Wno-UNUSED",
               "--unroll-count", "256", "--unroll-stmts", "1000", "-CFLAGS", flags, "-MAKEFLAGS", make, "-o", "bench"]
    command += [f"-G{name}={value}" for name, value in parameters.items()] + [str(f) for f in files]
    if not shutil.which("verilator"):
        raise Failure("Verilator is not there: apt-get install verilator")
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise Failure("the model cannot be built:\n" + "\n".join(l for l in (result.stdout + result.stderr).splitlines() if "rror" in l)[:4000])
    return target


def zero_point(rng, kind):
    """A zero point of a type; often 0."""
    return 0 if rng.random() < 0.3 else rng.randint(-128, 127) if kind == "int8" else rng.randint(0, 255)


def random_layer(rng, sizes, share):
    """A convolution of these sizes with random types, zero points, bias and requantisation, the last two of this share of layers.
    Returns it and the type of its input."""
    pick = rng.choice
    in_type, weight_type = pick(["int8", "int8", "uint8"]), pick(["int8", "int8", "int8", "uint8"])
    weights = {"random": {"seed": 2}, "dtype": weight_type, "zero_point": zero_point(rng, weight_type)}
    layer = {"name": "conv", "op": "conv2d", "inputs": ["x"], **sizes, "weights": weights}
    if rng.random() < share:
        layer["bias"] = {"random": {"seed": 3, "min": -1000, "max": 1000}}
    if rng.random() < share:
        out = pick(["int8", "int8", "uint8"])
        layer["arithmetic"] = pick(ARITHMETICS)
        layer["requant"] = {"zero_point": zero_point(rng, out), "dtype": out}
        # Just below a half: whether a product is rounded up or down decides what an odd sum becomes. Sums are small then.
        half = rng.random() < 0.2
        if layer["arithmetic"] == "exact":
            layer["requant"]["scale"] = 0.5 - 2.0**-54 if half else 0.001
        else:
            scales = (0.5 - 2.0**-25, 1.0, 1.0) if half else (0.05, 0.02, 0.4)
            layer["requant"].update(zip(("input_scale", "weight_scale", "output_scale"), scales))
        if half:
            weights.update({"random": {"seed": 2, "min": 0, "max": 2}, "zero_point": 0})
    layer["activation"] = pick(["none", "relu"])
    return layer, in_type


def changed(case, path, value=None):
    """A copy of a case with a value at a path; None: with nothing there."""
    result = json.loads(json.dumps(case))
    inner = result
    for step in path[:-1]:
        inner = inner[step]
    if value is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return result


def smaller_layers(case):
    """Cases whose layer has one size less or halved, or is without one of its parts."""
    paths = [("inputs", 0, "shape", i) for i in range(4)] + [("layers", 0, k, i) for k in ("kernel", "stride", "dilation") for i in range(2)]
    paths += [("layers", 0, "out_channels")] + [("layers", 0, "pads", i) for i in range(4)] + [("layers", 0, "groups")]
    for path in paths:
        least = 0 if "pads" in path else 1
        at = case["workload"]
        for step in path:
            at = at[step]
        for value in sorted({least, at // 2, at - 1}):
            if least <= value < at:
                yield changed(case, ("workload", *path), value)
    for key in ("bias", "requant", "activation", "arithmetic"):
        if key in case["workload"]["layers"][0]:
            yield changed(case, ("workload", "layers", 0, key))


def random_window(rng, most_rows, most_columns):
    """Kernel, stride, dilation and pads of a convolution, and a map for it whose height and width exceed the least ones by at most so much."""
    pick = rng.choice
    kernel = [pick([1, 1, 2, 3]), pick([1, 2, 3, 3, 4])]
    stride = [pick([1, 1, 2, 3]), pick([1, 1, 2, 3])]
    dilation = [pick([1, 1, 2]), pick([1, 1, 2, 3])]
    pads = [rng.randint(0, 2) if rng.random() < 0.5 else 0 for _ in range(4)]
    reach = [(kernel[i] - 1) * dilation[i] + 1 for i in range(2)]
    height = max(1, reach[0] - pads[0] - pads[2]) + rng.randint(0, most_rows)
    width = max(1, reach[1] - pads[1] - pads[3]) + rng.randint(0, most_columns)
    return {"kernel": kernel, "stride": stride, "dilation": dilation, "pads": pads}, height, width


def whole_rows(memory, others=1):
    """A memory without what is no row of its banks, which need not be a power of two, nor of `others` bytes, a row of the SRAM that follows its size."""
    memory["size_bytes"] -= memory["size_bytes"] % math.lcm(memory["banks"] * memory["bank_bytes"], others)
    return memory


def call(command, folder):
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=folder)
    return result.returncode, result.stdout, result.stderr


def compare(folder, bench, settings):
    """Runs the bench on what the product recorded in a folder. Returns (clocks, records) where they are equal."""
    (folder / "settings").write_text("".join(f"{k} {v}\n" for k, v in settings.items()))
    status, out, err = call(["prlimit", f"--cpu={MOST_SECONDS}", bench, folder], folder)
    match = re.search(r"equal: (\d+) clocks, (\d+) records", out)
    if status != 0 or not match:
        raise Failure((out + err).strip() or f"the bench ends with status {status}")
    return int(match.group(1)), int(match.group(2))


def run_on_core(case, folder, product, units, work=("--layer", "layer.json"), others=()):
    """Runs a workload or a program on the core of a chip and records its units and `others`, patterns of ports. Returns whether the planner takes the case."""
    scopes = [f"chip.cluster0.core0.{unit}.*" for unit in units]
    status, out, err = call([product, "run", "--config", "hw.json", *work, "--out", "out", "--vectors", "vectors",
                             "--vectors-ports", *scopes, *others, "chip.states", "instructions"], folder)
    if status != 0:
        case["refused"] = (out + err).strip()
        if status == 2:
            return False
        raise Failure("the product fails: " + case["refused"][-600:])
    (folder / "program.image").write_bytes(program_image(folder, "cluster0.core0.control"))
    return True


def vary(folder, product, before):
    """Writes the planner's program with more instructions in it: `before(words, line)` gives those in front of a line. Returns whether there is a program."""
    status, _, _ = call([product, "plan", "--config", "hw.json", "--layer", "layer.json", "--export", "planned.program"], folder)
    if status != 0:
        return False
    result = []
    for line in (folder / "planned.program").read_text().splitlines():
        words = line.split()
        if words and words[0].startswith("0x"):
            line = "  " + " ".join(words[1:])
            result += before(words[1:], line)
        elif words and words[0] == ".program":
            line = " ".join(words[:3])
        result.append(line)
    (folder / "case.program").write_text("\n".join(result) + "\n")
    return True


def other_zero_point(rng, setup):
    """A conv.setup with another zero point of the output, by which results tell which one was used."""
    return re.sub(r" output_zero_point=-?\d+", "", setup) + f" output_zero_point={rng.randint(0, 100)}"


def program_image(folder, processor):
    """The encoded instructions of a processor; those that no unit of lock step executes are zeros."""
    ports = json.loads((folder / "vectors" / "ports.json").read_text())["ports"]
    wanted = next(p for p in ports if p["name"] == "instructions")["signals"].index(processor)
    image = b""
    for line in (folder / "vectors" / "programs.txt").read_text().splitlines():
        number, _, text = line.split(" ", 2)
        if int(number) == wanted:
            image += assembler.encode(text) if text.split()[0] in assembler.FIELDS else bytes(64)
    return image


def npy(path, data):
    header = f"{{'descr': '|i1', 'fortran_order': False, 'shape': ({len(data)},), }}"
    header += " " * ((64 - (len(header) + 11) % 64) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + bytes(data))


def read_npy(path):
    data = path.read_bytes()
    return data[10 + struct.unpack("<H", data[8:10])[0]:]
