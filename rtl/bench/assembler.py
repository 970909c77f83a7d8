"""Instructions of the programs that lock step runs, from text to the 64 bytes of docs/isa.md. Written from the page; lock step compares
the bytes with those that the command processor fetched."""

import re
import struct

# Name, bits, what text leaves out. A field begins where the one before ends; the first one is bit 128.
FIELDS = {
    "conv.setup": (0x01, [
        ("kernel_h", 16, 1), ("kernel_w", 16, 1), ("stride_h", 16, 1), ("stride_w", 16, 1), ("dilation_h", 16, 1), ("dilation_w", 16, 1),
        ("input_zero_point", 16, 0), ("weight_zero_point", 16, 0), ("input_type", 3, 0), ("output_type", 3, 2), ("requantise", 1, 0),
        ("clamp", 1, 0), ("post_parameters", 1, 0), ("clamp_low", 32, 0), ("clamp_high", 32, 0), ("output_zero_point", 9, 0),
        ("weight_type", 3, 0), ("function", 3, 0), ("output_scale", 64, 1.0), ("slope", 64, 0.0), ("rescale", 3, 0), ("floor", 16, 0), ("ceiling", 16, 0)]),
    "conv.run": (0x02, [
        ("copy", 1, 0), ("first", 1, 1), ("last", 1, 1), ("rows", 16, 0), ("columns", 16, 0), ("height", 16, 0), ("width", 16, 0),
        ("h_offset", 16, 0), ("w_offset", 16, 0), ("first_plane", 16, 0), ("planes", 16, 0), ("kernels", 16, 0), ("slot", 16, 0),
        ("parameter_word", 32, 0), ("output_base", 32, 0), ("output_stride", 32, 0), ("macs_per_pixel", 32, 0), ("blocks", 16, 1),
        ("plane_step", 16, 0), ("plane_words", 16, 0), ("phase_columns", 15, 0), ("h_quotient", 15, 0), ("w_quotient", 15, 0)]),
    "wfold.run": (0x03, [
        ("map", 32, 0), ("row_bytes", 32, 0), ("lead_bytes", 32, 0), ("weights", 32, 0), ("result", 32, 0), ("result_pixel", 32, 0), ("macs_per_output", 32, 0),
        ("rows", 16, 1), ("columns", 16, 1), ("kernels", 16, 1), ("height", 16, 0), ("h_offset", 16, 0), ("pixel_bytes", 16, 1), ("first_channel", 16, 0),
        ("channels", 16, 1), ("granularity", 9, 64), ("result_granularity", 9, 64), ("read_mode", 2, 0), ("block_outer", 1, 0), ("begins_sums", 1, 1),
        ("ends_sums", 1, 1)]),
    "wfold.kernels": (0x04, [
        ("channels", 16, 1), ("group_kernels", 16, 0), ("first_in_group", 16, 0), ("folded", 1, 0), ("slave_groups", 7, 1)]),
    "wfold.align": (0x0A, [("weights", 32, 0), ("kernels", 16, 1), ("pixel_bytes", 16, 1), ("first_channel", 16, 0), ("channels", 16, 1)]),
    "rolling.setup": (0x05, [
        ("variant", 3, 0), ("scheme", 2, 0), ("realignment", 1, 0), ("wrap", 1, 0), ("transposition", 1, 0), ("stacked_blocks", 8, 1), ("stacked_cuts", 8, 1),
        ("pixel_bytes", 16, 1), ("group_channels", 16, 1), ("group_kernels", 16, 1), ("block_kernels", 16, 1), ("images", 16, 1), ("useful_taps", 32, 1)]),
    "rolling.run": (0x06, [
        ("map", 48, 0), ("weights", 48, 0), ("post", 48, 0), ("result", 48, 0), ("result_pixel", 20, 0), ("rows", 16, 1), ("columns", 16, 1), ("kernels", 16, 1),
        ("height", 16, 0), ("width", 16, 0), ("h_offset", 16, 0), ("w_offset", 16, 0), ("first_kernel", 16, 0), ("first_channel", 16, 0), ("channels", 16, 1),
        ("first", 1, 1), ("last", 1, 1), ("transposes", 1, 0)]),
    "offset.setup": (0x07, [
        ("layout", 2, 2), ("order", 1, 0), ("block", 16, 1), ("channels", 16, 1), ("groups", 16, 1), ("group_kernels", 16, 1), ("block_kernels", 16, 1),
        ("vector", 8, 1), ("bank_shift", 5, 0), ("part", 16, 1), ("useful_taps", 32, 1)]),
    "offset.map": (0x08, [
        ("tables", 48, 0), ("rows", 16, 0), ("columns", 16, 0), ("height", 16, 0), ("width", 16, 0), ("h_offset", 16, 0), ("w_offset", 16, 0)]),
    "offset.run": (0x09, [
        ("map", 48, 0), ("weights", 48, 0), ("post", 48, 0), ("result", 48, 0), ("result_pixel", 32, 0), ("kernels", 16, 0), ("first_kernel", 16, 0),
        ("first_channel", 16, 0), ("channels", 16, 0), ("first", 1, 1), ("last", 1, 1), ("same_map", 1, 0)]),
    "load.input": (0x10, [
        ("copy", 1, 0), ("address", 48, 0), ("row_stride", 32, 0), ("pixel_stride", 32, 0), ("height", 16, 0), ("width", 16, 0),
        ("channels", 16, 0), ("stride_h", 16, 1), ("stride_w", 16, 1), ("fill", 8, 0), ("slice", 16, 0)]),
    "load.kernels": (0x11, [
        ("address", 48, 0), ("post_address", 48, 0), ("words", 25, 0), ("parameter_word", 24, 0), ("slot", 8, 0), ("post_records", 16, 0),
        ("packed", 1, 0), ("stream_bytes", 31, 0), ("group_channels", 30, 0), ("group_kernels", 16, 1), ("first_kernel", 16, 0), ("kernels", 16, 0), ("first_channel", 32, 0),
        ("block_words", 25, 1), ("block_channels", 16, 0), ("taps", 24, 1), ("fill", 8, 0)]),
    "store.output": (0x12, [
        ("address", 48, 0), ("row_stride", 32, 0), ("pixel_stride", 32, 0), ("source", 32, 0), ("pixel_bytes", 32, 0), ("rows", 16, 0), ("columns", 16, 0)]),
    **{name: (opcode, [
        ("source", 48, 0), ("destination", 48, 0), ("run_bytes", 32, 1), ("inner_count", 16, 1), ("outer_count", 16, 1), ("source_inner_stride", 32, 0),
        ("source_outer_stride", 32, 0), ("destination_inner_stride", 32, 0), ("destination_outer_stride", 32, 0), ("pad_top", 8, 0), ("pad_left", 8, 0),
        ("pad_bottom", 8, 0), ("pad_right", 8, 0), ("fill", 8, 0), ("transposed_columns", 16, 0), ("transposed_stride", 32, 0)])
       for name, opcode in (("iodma.copy", 0x30), ("mvdma.copy", 0x31), ("gdma.copy", 0x32), ("cdma.copy", 0x33), ("fold.copy", 0x34), ("iostore.copy", 0x35))},
    "layer.end": (0x20, [("layer", 32, 0)]),
    "halt": (0x21, []),
}
NAMES = {
    "int8": 0, "uint8": 1, "int32": 2, "float32": 3,
    "right_b_up": 0, "right_b_down": 1, "right_a_up": 2, "right_a_down": 3, "left_a_left": 4, "left_a_right": 5, "left_b_left": 6, "left_b_right": 7,
    "plain": 0, "group_rolling": 1, "whole_rolling": 2, "output_stationary": 3, "rolling": 0, "tags": 1, "register": 0, "buffer": 1, "in_memory": 0,
    "while_loading": 1, "nchw": 0, "cnhw": 1, "nhwc": 2, "nchwc": 3, "linear": 0, "block": 1, "none": 0, "leaky_relu": 1, "sigmoid": 2, "tanh": 3, "hard_swish": 4, "gelu": 5,
    "continuous": 0, "strided": 1, "transit": 2, "real64": 0, "real32": 1, "single_rounding": 2, "double_rounding": 3,
}
SEMAPHORES = {
    "semaphore": 0, "input_full": 1, "input_free": 3, "output_full": 5, "output_free": 7, "map_begun": 9, "kernels_full": 16, "kernels_free": 80,
    "map_full": 144, "map_free": 152, "wram_full": 160, "wram_free": 168, "result_full": 176, "result_free": 184, "layer_stored": 192, "peer": 200,
}


def parse(text):
    """Mnemonic, fields and semaphores of an instruction's text; fields that are left out have their defaults."""
    words = text.split()
    mnemonic = words[0]
    fields = {name: default for name, _, default in FIELDS[mnemonic][1]}
    signals = {"waits": [], "releases": [], "completes": []}
    at = 1
    while at < len(words):
        if words[at] in signals:
            for name, index in re.findall(r"(\w+)(?:\[(\d+)\])?(?:,|$)", words[at + 1]):
                signals[words[at]].append(SEMAPHORES[name] + int(index or 0))
            at += 2
            continue
        name, value = words[at].split("=")
        if name not in fields:
            raise ValueError(f"{mnemonic} has no field {name}")
        if value in NAMES:
            fields[name] = NAMES[value]
        elif isinstance(fields[name], float):
            fields[name] = float(value)
        else:
            fields[name] = int(value, 0)
        at += 1
    return mnemonic, fields, signals


def encode(text):
    """The 64 bytes of an instruction."""
    mnemonic, fields, signals = parse(text)
    opcode, layout = FIELDS[mnemonic]
    value, at = opcode, 128
    for word, name in enumerate(("waits", "releases", "completes")):
        for i, semaphore in enumerate(signals[name]):
            value |= semaphore << (32 + 32 * word + 8 * i)
    for name, bits, _ in layout:
        field = fields[name]
        if isinstance(field, float):
            field = struct.unpack("<Q", struct.pack("<d", field))[0]
        value |= (field & ((1 << bits) - 1)) << at
        at += bits
    return value.to_bytes(64, "little")
