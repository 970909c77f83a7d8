"""Random programs of copies between the memories of a chip, for the units that move data."""

NRAM, WRAM, SRAM = 1 << 42, 1 << 43, 1 << 41
CORE_STEP, CLUSTER_STEP = 1 << 30, 1 << 34


def strided(rng, bytes_of_sides, most_runs=64):
    """A strided transfer whose bytes on either side are at most so many: fields of a copy without its addresses, and the bytes from its
    first to its last one on both sides."""
    most = min(bytes_of_sides)
    run = rng.choice([rng.randint(1, 40), rng.randint(1, 300), rng.choice([16, 32, 64, 128, 256, 1024]), rng.randint(1, 3000)])
    run = min(run, most)
    counts = [rng.choice([1, 1, rng.randint(1, 4), rng.randint(1, 16)]), rng.choice([1, 1, rng.randint(1, 6)])]
    while counts[0] * counts[1] > most_runs or counts[0] * counts[1] * run > most:
        counts[0 if counts[0] > counts[1] else 1] -= 1
    fields, spans = {"run_bytes": run, "inner_count": counts[0], "outer_count": counts[1]}, []
    for side, limit in zip(("source", "destination"), bytes_of_sides):
        gap = rng.choice([0, 0, rng.randint(0, 70), rng.choice([64, 4096 - run % 4096])])
        inner = run + gap if (run + gap) * counts[0] * counts[1] <= limit else run
        row = inner * (counts[0] - 1) + run
        gap = rng.choice([0, 0, inner - run, rng.randint(0, 200)])
        outer = row + gap if (row + gap) * counts[1] <= limit else row
        fields[f"{side}_inner_stride"], fields[f"{side}_outer_stride"] = inner, outer
        spans.append(outer * (counts[1] - 1) + row)
    return fields, spans


def bordered(rng, bytes_of_sides):
    """Likewise with a border around the destination."""
    run, inner, outer = rng.randint(1, 40), rng.randint(1, 6), rng.randint(0, 4)
    pads = [rng.choice([0, 0, 1, 2, 3]) for _ in range(4)]
    if outer == 0 and pads[0] + pads[2] == 0:
        pads[0] = 1
    columns, rows = pads[1] + inner + pads[3], pads[0] + outer + pads[2]
    fields = {"run_bytes": run, "inner_count": inner, "outer_count": outer, "fill": rng.randint(1, 255), **dict(zip(("pad_top", "pad_left", "pad_bottom", "pad_right"), pads))}
    spans = []
    for side, (width, height) in (("source", (inner, outer)), ("destination", (columns, rows))):
        step = run + rng.choice([0, 0, rng.randint(0, 30)])
        row = step * width + rng.choice([0, 0, rng.randint(0, 50)])
        fields[f"{side}_inner_stride"], fields[f"{side}_outer_stride"] = step, row
        spans.append(max(1, row * height))
    return fields, spans


def turned(rng, bytes_of_sides, block_bytes):
    """Likewise of blocks that arrive turned, each of at most so many bytes: rows of its source are the columns of its destination."""
    columns = min(rng.choice([1, rng.randint(1, 8), rng.randint(1, 40), 16, 64]), block_bytes)
    rows = min(rng.choice([1, 2, 4, rng.randint(1, 20), rng.randint(1, 64)]), block_bytes // columns)
    run = columns * rng.randint(1, min(4, block_bytes // columns // rows))
    step = run + rng.choice([0, 0, rng.randint(0, 70)])
    column = rows + rng.choice([0, 0, rng.randint(0, 20)])
    group = column * (columns - 1) + rows + rng.choice([0, 0, rng.randint(0, 40)])
    spans = [step * (rows - 1) + run, group * (run // columns - 1) + column * (columns - 1) + rows]
    strides = [span + rng.choice([0, 0, rng.randint(0, 100)]) for span in spans]
    blocks = max(1, min(rng.choice([1, 2, rng.randint(1, 8)]), *(limit // stride for limit, stride in zip(bytes_of_sides, strides))))
    fields = {"run_bytes": run, "inner_count": rows, "outer_count": blocks, "source_inner_stride": step, "source_outer_stride": strides[0],
              "destination_inner_stride": column, "destination_outer_stride": strides[1], "transposed_columns": columns, "transposed_stride": group}
    return fields, [stride * (blocks - 1) + span for stride, span in zip(strides, spans)]


def line(unit, source, destination, fields):
    """The text of a copy."""
    rest = " ".join(f"{name}={value}" for name, value in fields.items())
    return f"{unit}.copy source={source:#x} destination={destination:#x} {rest}"


def program(parts):
    """The text of a program file of lines by processor, such as "core 0.1"."""
    result = []
    for processor, lines in parts.items():
        result += [f".program {processor}", *("  " + text for text in lines), "  layer.end", "  halt"]
    return "\n".join(result) + "\n"
