"""Bank and lane selection of a 4x4 switch array in two groups against SW-1, SW-2, SW-5, for all strides and dilations up to 4.

By induction over the beats of a run: the place in which `control` begins fits, a place that fits is followed by one that fits, and in a place
that fits every lane asks for the bank and the word in which the arrangement has put its pixel. Products are multiplications here.
"""

from circuit import Circuit

ROWS, GROUPS = 4, 2
LANES = ROWS // GROUPS
BITS = 6  # sizes of a map and of an output have so many
LARGEST = 4  # stride and dilation

# place_t of control.sv from its lowest bits on.
PLACE = [("w_remainder", 16), ("h_remainder", 16), ("w_quotient", 32), ("h_quotient", 32), ("w_tap", 32), ("h_tap", 32), ("block_base", 32), ("base", 32),
         ("block_parameter_word", 32), ("parameter_word", 32), ("beat", 32), ("tap_column", 16), ("tap_row", 16), ("plane", 16), ("column", 16), ("row", 16), ("block", 16)]
# Fields of conv.setup and conv.run by docs/isa.md, their bits from the operands' first one on.
SETUP = {"kernel_h": (0, 16), "kernel_w": (16, 16), "stride_h": (32, 16), "stride_w": (48, 16), "dilation_h": (64, 16), "dilation_w": (80, 16)}
RUN = {"rows": (3, 16), "columns": (19, 16), "height": (35, 16), "width": (51, 16), "h_offset": (67, 16), "w_offset": (83, 16), "phase_columns": (339, 15),
       "h_quotient": (354, 15), "w_quotient": (369, 15)}


def number(value, bits=32):
    return f"(_ bv{value % 2 ** bits} {bits})"


def slices():
    """Constants of 32 bits: `begun.FIELD`, `now.FIELD` and `next.FIELD` of the place, `setup.FIELD`, `run.FIELD`."""
    text, at = "", 0
    for field, width in PLACE:
        for wire in ("begun", "now", "next"):
            text += f"(define-fun {wire}.{field} () (_ BitVec 32) ((_ zero_extend {32 - width}) ((_ extract {at + width - 1} {at}) |{wire}|)))\n"
        at += width
    for field, (bit, width) in SETUP.items():
        text += f"(define-fun setup.{field} () (_ BitVec 32) ((_ zero_extend {32 - width}) ((_ extract {bit + width - 1} {bit}) |setup|)))\n"
    for field, (bit, width) in RUN.items():
        extend = "sign_extend" if field.endswith(("offset", "quotient")) else "zero_extend"
        text += f"(define-fun run.{field} () (_ BitVec 32) ((_ {extend} {32 - width}) ((_ extract {bit + width - 1} {bit}) |run|)))\n"
    return text


def bounds(bits=BITS):
    """Maps and outputs of up to 2^bits pixels a side, and pixels as far outside; what makes no difference is free."""
    limit = 2**bits
    text = "".join(f"(assert (bvult run.{field} {number(limit)}))\n" for field in ("rows", "columns", "height", "width"))
    text += "".join(f"(assert (bvult now.{field} {number(limit)}))\n" for field in ("row", "column", "tap_row", "tap_column"))
    text += "(assert (= (bvand now.row (_ bv1 32)) (_ bv0 32)))\n(assert (= (bvand now.column (_ bv1 32)) (_ bv0 32)))\n"
    return text + "".join(f"(assert (and (bvsle {number(-limit)} run.{axis}_offset) (bvslt run.{axis}_offset {number(limit)})))\n" for axis in "hw")


def fits(place, axis, stride):
    """A place says where the first lane's pixel is on an axis: offset + tap x dilation, and that number's quotient and remainder."""
    tap = f"{place}.{axis}_tap"
    at = f"(= {tap} (bvadd run.{axis}_offset (bvmul {place}.tap_{'row' if axis == 'h' else 'column'} setup.dilation_{axis})))"
    parts = f"(= {tap} (bvadd (bvmul {place}.{axis}_quotient {number(stride)}) {place}.{axis}_remainder))"
    return f"(and {at} {parts} (bvult {place}.{axis}_remainder {number(stride)}))"


def chosen(setup, **values):
    """These fields of a set-up wire have these values."""
    return "".join(f"(assert (= ((_ extract {SETUP[f][0] + 15} {SETUP[f][0]}) |{setup}|) (_ bv{value} 16)))\n" for f, value in values.items())


def steps(circuit, axis, stride, dilation, table1):
    """From tap to tap on one axis: the quotients that conv.setup computes, the first place of a run, the next one."""
    unit = 1 if table1 else stride
    fields = {f"stride_{axis}": stride, f"dilation_{axis}": dilation}
    common = slices() + f"(assert {'' if table1 else '(not '}|table1|{'' if table1 else ')'})\n"
    parts = (f"|dilation_{axis}_quotient{{0}}|", f"|dilation_{axis}_remainder{{0}}|")
    done = circuit.prove(f"set-up, {axis}, stride {stride}, dilation {dilation}", common + chosen("head_setup", **fields),
                         f"(and (= {parts[0].format('.d')} (_ bv{dilation // unit} 16)) (= {parts[1].format('.d')} (_ bv{dilation % unit} 16)))", ["|loads_setup|"])
    facts = common + chosen("setup", **fields) + bounds() + f"""
(assert (= {parts[0].format('')} (_ bv{dilation // unit} 16)))
(assert (= {parts[1].format('')} (_ bv{dilation % unit} 16)))
(assert (and (bvsle (bvmul run.{axis}_quotient {number(unit)}) run.{axis}_offset) (bvslt run.{axis}_offset (bvmul (bvadd run.{axis}_quotient (_ bv1 32)) {number(unit)}))))
"""
    if unit == 1:
        facts = facts.replace(facts[facts.rindex("(assert (and (bvsle (bvmul run."):], "")  # the field is 0 then
    begun, now, following = (fits(place, axis, unit) for place in ("begun", "now", "next"))
    return done + circuit.prove(f"places, {axis}, stride {stride}, dilation {dilation}", facts, None, [("true", begun), (now, following)])


def addresses(circuit, stride_h, stride_w, table1):
    """In a place that fits every lane asks for its own pixel, where the arrangement has put it."""
    unit_h, unit_w = (1, 1) if table1 else (stride_h, stride_w)
    facts = slices() + bounds() + chosen("setup", stride_h=stride_h, stride_w=stride_w) + f"(assert {'' if table1 else '(not '}|table1|{'' if table1 else ')'})\n"
    for axis, unit in (("h", unit_h), ("w", unit_w)):
        facts += f"""(assert (and (bvslt {number(-2 ** (BITS + 4))} now.{axis}_tap) (bvslt now.{axis}_tap {number(2 ** (BITS + 4))})))
(assert (= now.{axis}_tap (bvadd (bvmul now.{axis}_quotient {number(unit)}) now.{axis}_remainder)))
(assert (and (bvslt {number(-2 ** (BITS + 4))} now.{axis}_quotient) (bvslt now.{axis}_quotient {number(2 ** (BITS + 4))}) (bvult now.{axis}_remainder {number(unit)})))
"""
    # Columns of a row in the order of (w mod unit, w div unit): so many have a smaller remainder.
    before = [number(0)]
    for phase in range(unit_w):
        facts += f"(declare-const phase{phase} (_ BitVec 32))\n(assert (bvult phase{phase} {number(2 ** BITS)}))\n"
        reach = f"(bvadd run.width {number(unit_w - 1 - phase)})"
        facts += f"(assert (and (bvule (bvmul phase{phase} {number(unit_w)}) {reach}) (bvult {reach} (bvmul (bvadd phase{phase} (_ bv1 32)) {number(unit_w)}))))\n"
        before.append(f"(bvadd {before[-1]} phase{phase})")
    if unit_w > 1:  # conv.run says how many columns a remainder has at least
        facts += f"""(assert (and (bvule (bvmul run.phase_columns {number(unit_w)}) run.width) (bvult run.width (bvmul (bvadd run.phase_columns (_ bv1 32)) {number(unit_w)}))))\n"""
    lemmas, cases = [], []
    for lane in range(ROWS):
        group, column = divmod(lane, LANES)
        facts += f"(define-fun h{lane} () (_ BitVec 32) (bvadd (bvmul (bvadd now.row {number(group)}) {number(stride_h)}) now.h_tap))\n"
        facts += f"(define-fun w{lane} () (_ BitVec 32) (bvadd (bvmul (bvadd now.column {number(column)}) {number(stride_w)}) now.w_tap))\n"
        for axis, unit in (("h", unit_h), ("w", unit_w)):
            q, r = f"{axis}q{lane}", f"{axis}r{lane}"
            facts += f"""(declare-const {q} (_ BitVec 32))\n(declare-const {r} (_ BitVec 32))
(assert (and (= {axis}{lane} (bvadd (bvmul {q} {number(unit)}) {r})) (bvult {r} {number(unit)}) (bvslt {number(-2 ** (BITS + 6))} {q}) (bvslt {q} {number(2 ** (BITS + 6))})))\n"""
        phases = number(0)
        for phase in reversed(range(unit_w)):
            phases = f"(ite (= wr{lane} {number(phase)}) {before[phase]} {phases})"
        facts += f"""(define-fun n{lane} () (_ BitVec 32) (bvadd (bvmul (bvadd (bvmul (bvlshr hq{lane} (_ bv1 32)) {number(unit_h)}) hr{lane}) run.width) {phases} wq{lane}))
(define-fun pixel{lane} () Bool (and (bvult (bvadd now.row {number(group)}) run.rows) (bvult (bvadd now.column {number(column)}) run.columns)
  (bvult h{lane} run.height) (bvult w{lane} run.width)))\n"""
        bit = f"((_ extract {lane} {lane}) |pixel|)"
        bank, word = f"((_ extract {lane * 8 + 7} {lane * 8}) |bank|)", f"((_ extract {lane * 32 + 31} {lane * 32}) |address|)"
        lemmas.append(("true", f"(= (= {bit} #b1) pixel{lane})"))
        # What the unit multiplies and adds, first: with these wires cut both sides have one and the same product.
        terms = [(f"|addresses.row_quotient[{lane}]|", f"hq{lane}"), (f"|addresses.line[{lane}]|", f"(bvlshr hq{lane} (_ bv1 32))"), ("((_ zero_extend 16) now_h_remainder)", f"hr{lane}"),
                 (f"|addresses.column_quotient[{lane}]|", f"wq{lane}"), ("((_ zero_extend 16) |addresses.phase_begin|)", phases)]
        equal = [f"(= {wire} {value})" for wire, value in terms]
        lemmas += [(f"pixel{lane}", statement) for statement in equal]
        case = f"(and pixel{lane} {' '.join(equal)})"
        halves = f"(bvadd (bvmul (_ bv{LANES} 32) (bvand hq{lane} (_ bv1 32))) (bvand n{lane} (_ bv1 32)))"
        cases.append((case, f"(= ((_ zero_extend 24) {bank}) {halves})"))
        cases.append((case, f"(= {word} (bvadd now.base (bvlshr n{lane} (_ bv1 32))))"))
    facts = facts.replace("(declare-const phase0 ", "(define-fun now_h_remainder () (_ BitVec 16) ((_ extract 15 0) now.h_remainder))\n(declare-const phase0 ", 1)
    kind = "table1" if table1 else "stride-aware"
    shown = ["|setup|", "|run|", "|now|", "|bank|", "|address|", "|pixel|"]
    done = circuit.prove(f"addresses, {kind}, strides {stride_h} and {stride_w}", facts, None, lemmas, shown)
    for wire in ["phase_begin"] + [f"{name}[{lane}]" for lane in range(ROWS) for name in ("row_quotient", "line", "column_quotient")]:
        circuit = circuit.cut(f"addresses.{wire}")
    return done + circuit.prove(f"banks and words, {kind}, strides {stride_h} and {stride_w}", facts, None, cases, shown)


def selection(circuit):
    """A bank serves one lane, which is one of those that wait; the word that it reads is that lane's, and the lowest lane of a bank comes first."""
    statements = []
    for lane in range(ROWS):
        chosen_lane = f"(= ((_ extract {lane} {lane}) |selected|) #b1)"
        bank = f"((_ extract {lane * 8 + 7} {lane * 8}) |bank|)"
        statements.append(f"(=> {chosen_lane} (= ((_ extract {lane} {lane}) |waiting|) #b1))")
        for other in range(ROWS):
            same = f"(= {bank} (_ bv{other} 8))"
            statements.append(f"(=> (and {chosen_lane} {same}) (and (= ((_ extract {other} {other}) |read_valid|) #b1) "
                              f"(= ((_ extract {other * 32 + 31} {other * 32}) |read_address|) ((_ extract {lane * 32 + 31} {lane * 32}) |address|))))")
        earlier = [f"(and (= ((_ extract {k} {k}) |waiting|) #b1) (= ((_ extract {k * 8 + 7} {k * 8}) |bank|) {bank}))" for k in range(lane)]
        first = f"(not (or {' '.join(earlier)}))" if earlier else "true"
        statements.append(f"(=> (and |reads| (= ((_ extract {lane} {lane}) |waiting|) #b1)) (= {chosen_lane} {first}))")
    within = " ".join(f"(bvult ((_ extract {lane * 8 + 7} {lane * 8}) |bank|) (_ bv{ROWS} 8))" for lane in range(ROWS))
    for lane in range(ROWS):  # whatever the places are
        for wire in ("row_quotient", "line", "n"):
            circuit = circuit.cut(f"addresses.{wire}[{lane}]")
    return circuit.prove("selection", f"(assert (and {within}))", f"(and {' '.join(statements)})", shown=["|bank|", "|waiting|", "|selected|"])


def crossbar(rtl):
    """A lane that reads has its bank's word, one that has read keeps it, and one without a pixel has the zero point."""
    circuit = Circuit("switch_network", [rtl / "common/conv_pkg.sv"], [rtl / "switch_array/switch_network.sv"], {"R": ROWS, "P": 2}, False)
    cases = []
    for lane in range(ROWS):
        word, kept = (f"((_ extract {lane * 16 + 15} {lane * 16}) |{wire}|)" for wire in ("word", "kept"))
        chosen_lane, pixel = (f"(= ((_ extract {lane} {lane}) |{wire}|) #b1)" for wire in ("selected", "pixel"))
        for bank in range(ROWS):
            cases.append((f"(and {chosen_lane} (= ((_ extract {lane * 8 + 7} {lane * 8}) |bank|) (_ bv{bank} 8)))", f"(= {word} ((_ extract {bank * 16 + 15} {bank * 16}) |bank_data|))"))
        cases.append((f"(and (not {chosen_lane}) {pixel})", f"(= {word} {kept})"))
        cases.append((f"(and (not {chosen_lane}) (not {pixel}))", f"(= {word} (concat |zero_point| |zero_point|))"))
        following = f"((_ extract {lane * 16 + 15} {lane * 16}) |kept.d|)"
        cases.append(("true", f"(= {following} (ite (and |enable| {chosen_lane}) {word} {kept}))"))
    return circuit.prove("crossbar", "", None, cases + [("true", "(= |operand.d| (ite (and |enable| |last|) |word| |operand.q|))")], ["|bank|", "|bank_data|", "|word|"])


def control(rtl):
    common = [rtl / "common/conv_pkg.sv", rtl / "switch_array/switch_array_pkg.sv", rtl / "common/quotient.sv"]
    return Circuit("control", common, [rtl / "switch_array/control.sv", rtl / "switch_array/lane_addresses.sv"], {"R": ROWS, "G": GROUPS}, False)
