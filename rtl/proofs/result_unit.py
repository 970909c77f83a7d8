"""The requantisers of rtl/common/result_unit.sv against NU-2, NU-6 and docs/arithmetic.md.

A result is proved stage by stage. A stage is proved for any value of the wire in front of it, which is cut there, and so for the values that
the stages before it bring. Products are free where both sides have equal operands.
"""

from circuit import Circuit

# Fields of conv.setup by docs/isa.md, bits from the operands' first one: name, bit, width.
FIELDS = [("output_type", 259, 3), ("requantise", 262, 1), ("clamp", 263, 1), ("post_parameters", 264, 1), ("clamp_low", 265, 32), ("clamp_high", 297, 32),
          ("zero_point", 329, 9), ("rescale", 472, 3), ("floor", 475, 16), ("ceiling", 491, 16)]
FIRST_BIT = 128

# What a file may have: sums within int32 (NU-3), bounds in their order. `biased` is the sum with its bias, `acc` the one behind the clamp.
SUM = """
(define-fun bias () (_ BitVec 34) (ite (= post_parameters_ #b1) ((_ sign_extend 2) ((_ extract 95 64) |record|)) (_ bv0 34)))
(define-fun exact_sum () (_ BitVec 34) (bvadd ((_ sign_extend 2) |accumulator|) bias))
(assert (bvsle (bvneg (_ bv2147483648 34)) exact_sum))
(assert (bvsle exact_sum (_ bv2147483647 34)))
(assert (bvsle clamp_low_ clamp_high_))
(define-fun clamped ((v (_ BitVec 34))) (_ BitVec 34)
  (ite (= clamp_ #b0) v (ite (bvslt v ((_ sign_extend 2) clamp_low_)) ((_ sign_extend 2) clamp_low_)
    (ite (bvsgt v ((_ sign_extend 2) clamp_high_)) ((_ sign_extend 2) clamp_high_) v))))
(define-fun acc () (_ BitVec 32) ((_ extract 31 0) (clamped exact_sum)))
"""

# saturate(v + zy), within what the type, floor and ceiling leave.
PLACED = """
(define-fun least () (_ BitVec 40) (bvadd ((_ zero_extend 24) floor_)
  (ite (= output_type_ #b000) (bvneg (_ bv128 40)) (ite (= output_type_ #b001) (_ bv0 40) (bvneg (_ bv2147483648 40))))))
(define-fun greatest () (_ BitVec 40) (bvsub
  (ite (= output_type_ #b000) (_ bv127 40) (ite (= output_type_ #b001) (_ bv255 40) (_ bv2147483647 40))) ((_ zero_extend 24) ceiling_)))
(assert (bvsle least greatest))
(define-fun saturated ((v (_ BitVec 40))) (_ BitVec 32)
  ((_ extract 31 0) (ite (bvsle v least) least (ite (bvsge v greatest) greatest v))))
(define-fun placed_ ((v (_ BitVec 40))) (_ BitVec 32) (saturated (bvadd v ((_ sign_extend 31) zero_point_))))
"""

# The scale is an IEEE double that is a number: significand * 2^(biased - 1075).
SCALE = """
(define-fun scale () (_ FloatingPoint 11 53) ((_ to_fp 11 53) ((_ extract 63 0) |record|)))
(assert (not (or (fp.isInfinite scale) (fp.isNaN scale))))
(define-fun hidden () (_ BitVec 1) (ite (or (fp.isSubnormal scale) (fp.isZero scale)) #b0 #b1))
(define-fun significand () (_ BitVec 96) (concat (_ bv0 43) hidden ((_ extract 51 0) |record|)))
(define-fun power () (_ BitVec 32) (bvsub (concat (_ bv0 21) (ite (= hidden #b0) (_ bv1 11) ((_ extract 62 52) |record|))) (_ bv1075 32)))
"""


def fields():
    """The fields of the set-up as constants, with an underscore behind their names: some are names of wires, too."""
    return "".join(f"(define-fun {name}_ () (_ BitVec {width}) ((_ extract {bit - FIRST_BIT + width - 1} {bit - FIRST_BIT}) |setup|))\n" for name, bit, width in FIELDS)


SHOWN = ["|accumulator|", "|record|", "|setup|", "|result|"]


def sums(circuit):
    """Bias and clamp, and results without requantisation."""
    return circuit.prove("bias and clamp", fields() + SUM, "(and (= |sum| acc) (=> (= requantise_ #b0) (= |result| acc)))", shown=SHOWN)


def leading_bit(name, width):
    """The cases of a number by its highest bit that is 1, and 0. The number's lower bits are free."""
    zero = f"(= {name} (_ bv0 {width}))"
    return [zero] + [f"(= ((_ extract {width - 1} {k}) {name}) (_ bv1 {width - k}))" for k in range(width)]


def real(circuit, rescale, bits, exponent_bits):
    """real64, real32: an IEEE number of `bits` significant bits times the scale, rounded to as many, then to a whole number."""
    rule = fields() + SUM + f"(assert (= rescale_ (_ bv{rescale} 3)))\n"
    # The sum as a number of the format: SMT-LIB's own conversion. 32 bits are exact in a double.
    operands = SCALE + f"""
(define-fun number () (_ FloatingPoint {exponent_bits} {bits}) ((_ to_fp {exponent_bits} {bits}) RNE acc))
(define-fun factor () (_ BitVec 96) ((_ fp.to_ubv 96) RNE (fp.abs number)))
"""
    done = circuit.prove("operands", rule + operands, "(and (= |product0.a| factor) (= |product0.b| significand))", shown=SHOWN)
    done += rounding(circuit, rescale, bits)
    done += whole(circuit.cut("product"), rescale)
    return done + final(circuit.cut("real_whole"), rescale)


# The product is below 2^84: the sum has at most 2^31, the significand 53 bits.
PRODUCT_BITS = 84
# The least significand of a scale that is not subnormal: the product of a sum with it is 0 or no less.
FULL_SCALE = f"(_ bv{2 ** 52} 96)"


def rounding(circuit, rescale, bits):
    """The product rounded to `bits` significant bits is what SMT-LIB's conversion to such a number gives, whose exponents have no bounds here.
    What is 0 stays so, and what has the 53 bits of a scale keeps them."""
    facts = fields() + f"(assert (= rescale_ (_ bv{rescale} 3)))\n" + f"""
(define-fun exact () (_ FloatingPoint 9 {PRODUCT_BITS}) ((_ to_fp_unsigned 9 {PRODUCT_BITS}) RNE ((_ extract {PRODUCT_BITS - 1} 0) |product0.y|)))
(define-fun rounded () (_ FloatingPoint 9 {bits}) ((_ to_fp 9 {bits}) RNE exact))
"""
    return circuit.prove("rounding", facts, f"""(and (= |product| ((_ fp.to_ubv 96) RNE rounded))
  (=> (= |product0.y| (_ bv0 96)) (= |product| (_ bv0 96))) (=> (bvuge |product0.y| {FULL_SCALE}) (bvuge |product| {FULL_SCALE})))""", leading_bit("|product0.y|", 96)[: PRODUCT_BITS + 1], ["|product0.y|", "|product|"])


def whole(circuit, rescale):
    """A number v * 2^power as a whole number q: the nearest one, the even one of two; 2^34 stands for all that are no less."""
    facts = fields() + SCALE + f"""
(assert (= rescale_ (_ bv{rescale} 3)))
(assert (bvule |product| (_ bv{2 ** PRODUCT_BITS} 96)))
(assert (=> (= hidden #b1) (or (= |product| (_ bv0 96)) (bvuge |product| {FULL_SCALE}))))
(define-fun v () (_ BitVec 200) (concat (_ bv0 104) |product|))
(define-fun q () (_ BitVec 200) (concat (_ bv0 165) |real_whole|))
(define-fun limit () (_ BitVec 200) (_ bv{2 ** 34} 200))
"""
    shown = ["|product|", "|record|", "|real_whole|"]
    cases = []
    for places in range(-100, 36):
        case = f"(= ((_ extract 62 52) |record|) (_ bv{places + 1075} 11))"
        if places >= 0:
            exact = f"(bvshl v (_ bv{places} 200))"
            statement = f"(= q (ite (bvult {exact} limit) {exact} limit))"
        else:
            unit = f"(bvshl q (_ bv{-places} 200))"
            half = f"(_ bv{2 ** (-places - 1)} 200)"
            statement = f"""(ite (= q limit) (bvuge v (bvsub {unit} {half})) (and (bvult q limit)
  (bvule v (bvadd {unit} {half})) (bvule {unit} (bvadd v {half}))
  (=> (or (= v (bvadd {unit} {half})) (= {unit} (bvadd v {half}))) (= ((_ extract 0 0) q) #b0))))"""
        cases.append((case, statement))
    cases.append((f"(bvslt power (_ bv{2 ** 32 - 100} 32))", "(= q (_ bv0 200))"))
    cases.append(("(bvsgt power (_ bv35 32))", "(= q (ite (= v (_ bv0 200)) v limit))"))
    return circuit.prove("whole number", facts, None, cases, shown)


def final(circuit, rescale):
    """Sign, zero point and saturation of a whole number."""
    facts = fields() + SUM + PLACED + f"""
(assert (= rescale_ (_ bv{rescale} 3)))
(assert (= requantise_ #b1))
(assert (bvule |real_whole| (_ bv{2 ** 34} 35)))
(define-fun whole () (_ BitVec 40) (concat (_ bv0 5) |real_whole|))
(define-fun signed () (_ BitVec 40) (ite (= (bvslt acc (_ bv0 32)) (= ((_ extract 63 63) |record|) #b1)) whole (bvneg whole)))
"""
    return circuit.prove("sign, zero point, saturation", facts, "(= |result| (placed_ signed))", shown=SHOWN + ["|real_whole|"])


# M is a whole number of 31 bits, which the record holds as a double; the product of a sum and M is at most 2^62 either way.
MULTIPLIER = """
(declare-const m (_ BitVec 32))
(assert (= ((_ extract 31 31) m) #b0))
(assert (= ((_ to_fp 11 53) ((_ extract 63 0) |record|)) ((_ to_fp_unsigned 11 53) RNE m)))
"""


def fixed(circuit, rescale):
    """single_rounding, double_rounding: SR and DR, DR in the words of the library that it comes from."""
    single = rescale == 2
    name = f"product{rescale - 1}"
    rule = fields() + SUM + PLACED + f"""
(assert (= rescale_ (_ bv{rescale} 3)))
(define-fun s () (_ BitVec 32) ((_ extract 127 96) |record|))
(assert (bvsge s (bvneg (_ bv31 32))))
(assert (bvsle s (_ bv30 32)))
"""
    # int32 << s, as int32.
    factor = "acc" if single else "(bvshl acc (ite (bvsgt s (_ bv0 32)) s (_ bv0 32)))"
    done = circuit.prove("operands", rule + MULTIPLIER, f"(and (= |{name}.a| ((_ sign_extend 64) {factor})) (= |{name}.b| ((_ zero_extend 64) m)))", shown=SHOWN)
    value = rule + f"""
(define-fun ab () (_ BitVec 64) ((_ extract 63 0) |{name}.y|))
(assert (bvsle (bvneg (_ bv{2 ** 62} 64)) ab))
(assert (bvsle ab (_ bv{2 ** 62} 64)))
"""
    # The quotient of C's division, which cuts off towards zero, and the divisions by shifts of the other forms.
    value += """
(define-fun high_half () (_ BitVec 64) (let ((nudged (bvadd ab (ite (bvsge ab (_ bv0 64)) (_ bv1073741824 64) (bvsub (_ bv1 64) (_ bv1073741824 64))))))
  (ite (bvsge nudged (_ bv0 64)) (bvlshr nudged (_ bv31 64)) (bvneg (bvlshr (bvneg nudged) (_ bv31 64))))))
(define-fun doubled () (_ BitVec 64) (ite (bvsgt high_half (_ bv2147483647 64)) (_ bv2147483647 64) high_half))
"""
    cases = []
    wire, width = ("single_value", 64) if single else ("double_value", 32)
    for shift in range(-31, 31):
        case = f"(= s (_ bv{shift % 2 ** 32} 32))"
        if single:
            exact = f"(bvashr (bvadd ab (_ bv{2 ** (30 - shift)} 64)) (_ bv{31 - shift} 64))"
        elif shift < 0:
            # Half away from zero: of the magnitude, half up.
            size = f"(bvlshr (bvadd (ite (bvslt doubled (_ bv0 64)) (bvneg doubled) doubled) (_ bv{2 ** (-shift - 1)} 64)) (_ bv{-shift} 64))"
            exact = f"(ite (bvslt doubled (_ bv0 64)) (bvneg {size}) {size})"
        else:
            exact = "doubled"
        cases.append((case, f"(= ((_ sign_extend {64 - width}) |{wire}|) {exact})"))
    done += circuit.prove(f"value of {wire}", value, None, cases, SHOWN + [f"|{name}.y|"])
    # Within 40 bits: what is beyond 2^34 is beyond every type with every zero point, too.
    limit = f"(_ bv{2 ** 34} 64)"
    near = f"""(let ((e ((_ sign_extend {64 - width}) |{wire}|)))
  ((_ extract 39 0) (ite (bvsgt e {limit}) {limit} (ite (bvslt e (bvneg {limit})) (bvneg {limit}) e))))"""
    return done + circuit.cut(wire).prove("zero point, saturation", rule + "(assert (= requantise_ #b1))\n", f"(= |result| (placed_ {near}))", shown=SHOWN + [f"|{wire}|"])
