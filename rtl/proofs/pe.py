"""One processing element of rtl/switch_array/pe_array.sv against NU-1 and SW-2: the sum of the products (x - zx)(w - zw) of nine-bit operands, and the
accumulator. A beat's sum leaves in as many enabled clocks as there are stages; what a stage keeps adds up to it."""

from circuit import Circuit

# Bits of the set-up by docs/isa.md, from the operands' first one on: zero point and type of the input, of the weights.
OPERANDS = {"a": ("operand", 96, 128), "b": ("weight", 112, 210)}


def operand(port, index, zero_point, kind):
    """(x - zx) in nine bits, and what a file may have: a zero point within the type."""
    byte = f"((_ extract {index * 8 + 7} {index * 8}) |{port}|)"
    zero = f"((_ extract {zero_point + 15} {zero_point}) |setup|)"
    unsigned = f"(= ((_ extract {kind + 2} {kind}) |setup|) #b001)"
    low = f"((_ extract 8 0) {zero})"
    difference = f"(bvsub (ite {unsigned} (concat #b0 {byte}) ((_ sign_extend 1) {byte})) {low})"
    within = f"(ite {unsigned} (bvult {zero} (_ bv256 16)) (and (bvsle (bvneg (_ bv128 16)) {zero}) (bvsle {zero} (_ bv127 16))))"
    return difference, within


def total(terms):
    return f"(bvadd {' '.join(terms)})" if len(terms) > 1 else terms[0]


def prove(rtl, products, stages, fan):
    """An element of so many products; `fan`: one stage adds so many."""
    circuit = Circuit("pe_array", [rtl / "common/conv_pkg.sv"], [rtl / "switch_array/pe_array.sv"], {"R": 1, "C": 1, "P": products, "STAGES": stages})
    facts, equal = "", []
    for side, (port, zero_point, kind) in OPERANDS.items():
        for k in range(products):
            difference, within = operand(port, k, zero_point, kind)
            facts += f"(assert {within})\n"
            equal.append(f"(= |product{k}.{side}| ((_ sign_extend 87) {difference}))")
    done = circuit.prove("operands", facts, f"(and {' '.join(equal)})", shown=["|operand|", "|weight|", "|setup|"])
    shown = [f"|product{k}.y|" for k in range(products)] + ["|enable|", "|accumulates|", "|clears|", "|sum|", "|accumulator|", "|total.q|", "|total.d|"]
    # What enters a stage: the products, then what the stage before keeps.
    enters, cases = total([f"((_ extract 31 0) |product{k}.y|)" for k in range(products)]), []
    numbers = products
    for stage in range(stages - 1):
        numbers = -(-numbers // fan)
        at = stage * products * 32

        def kept(side, at=at, numbers=numbers):
            return total([f"((_ extract {at + k * 32 + 31} {at + k * 32}) |kept.{side}|)" for k in range(numbers)])

        cases.append(("|enable|", f"(= {kept('d')} {enters})"))
        enters = kept("q")
    cases += [("true", f"(= |sum| {enters})"), ("true", "(= |accumulator| (bvadd (ite |clears| (_ bv0 32) |total.q|) |sum|))"),
              ("true", "(= |total.d| (ite (and |enable| |accumulates|) |accumulator| |total.q|))")]
    if stages > 1:
        cases.append(("(not |enable|)", "(= |kept.d| |kept.q|)"))
    return done + circuit.prove(f"sums in {stages} stages", "", None, cases, shown)
