"""A combinational module as SMT-LIB text, made by yosys, and questions to z3 about it."""

import re
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent

# Constants go through the circuit before it becomes bits: a case that fixes a shift leaves no shifter behind.
TACTIC = "(then simplify propagate-values solve-eqs fpa2bv simplify solve-eqs simplify bit-blast simplify sat)"


class Failure(Exception):
    """A statement that does not hold, or that z3 could not decide."""


def yosys(script):
    result = subprocess.run(["yosys", "-q", "-p", script], capture_output=True, text=True)
    if result.returncode != 0:
        raise SystemExit(f"yosys: {(result.stdout + result.stderr).strip()[-800:]}")


class Circuit:
    """Every wire of a module is a constant of the text, `|name|`. Its products are cut, `product0.a`, `.b` and `.y` in the order of the source, and so
    are its registers: `name.q` is what a register has, `name.d` what it has in the next clock."""

    def __init__(self, top, at_once, deferred=(), parameters=(), cut_products=True):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "circuit.smt2"
            products = HERE / "product.v"
            cut = f"techmap -map {products}; read_verilog {products}; hierarchy -top {top}; rename -enumerate -pattern product% t:product; " if cut_products else ""
            yosys(f"read_verilog -sv {' '.join(map(str, at_once))}; " + (f"read_verilog -defer -sv {' '.join(map(str, deferred))}; " if deferred else "") +
                  f"hierarchy -top {top} {' '.join(f'-chparam {name} {value}' for name, value in dict(parameters).items())}; proc; flatten; opt -nodffe -nosdff; "
                  f"{cut}opt -nodffe -nosdff; clean; expose -evert-dff; {'expose -evert t:product; ' if cut_products else ''}write_smt2 -wires {out}")
            text = out.read_text()
        text = re.sub(rf"\(declare-sort \|{top}_s\|.*\n", "", text)
        text = re.sub(rf"\(\(state \|{top}_s\|\)\)", "()", text)
        text = re.sub(rf"\(declare-fun (\|[^|]*\|) \(\|{top}_s\|\)", r"(declare-fun \1 ()", text)
        text = re.sub(rf"\((\|{top}[#_][^|]*\|) state\)", r"\1", text)
        text = re.sub(rf"\|{top}_n ([^|]*)\|", r"|\1|", text)
        kept = [line for line in text.split("\n") if not line.startswith(";")]
        # What follows the wires says how a state follows another one; there is one state.
        self.text = "\n".join(kept[: next(i for i, line in enumerate(kept) if line.startswith(f"(define-fun |{top}_a|"))])

    def cut(self, wire):
        """The same circuit in which nobody knows where the wire's value comes from."""
        name = re.search(rf"^\(define-fun \|{re.escape(wire)}\| \(\) .*?(\|[^|]*\|)\)*$", self.text, re.M).group(1)  # the wire is all of it, or a part
        other = object.__new__(Circuit)
        other.text, count = re.subn(rf"^\(define-fun {re.escape(name)} \(\) (\(_ BitVec \d+\)) .*$", lambda m: f"(declare-const {name} {m.group(1)})", self.text, flags=re.M)
        if count == 0 and f"(declare-const {name} " not in self.text:  # a part of a wire that is cut is free already
            raise SystemExit(f"{wire} cannot be cut")
        return other

    def prove(self, title, facts, statement, cases=("true",), shown=(), seconds=300):
        """Asks for every case whether the statement can fail where the facts hold; a pair is a case with a statement of its own. Throws Failure at
        the first that does. Returns the number of cases."""
        cases = [case if isinstance(case, tuple) else (case, statement) for case in cases]
        questions = [self.text, facts]
        for case, holds in cases:
            questions += ["(push)", f"(assert {case})", f"(assert (not {holds}))", f"(check-sat-using (try-for {TACTIC} {seconds * 1000}))", "(echo \"--\")",
                          f"(get-value ({' '.join(shown)}))" if shown else "", "(echo \"==\")", "(pop)"]
        result = subprocess.run(["z3", "-in"], input="\n".join(questions), capture_output=True, text=True).stdout
        answers = result.split("==\n")[:-1]
        if len(answers) != len(cases):
            raise SystemExit(f"{title}: z3: {result.strip()[-800:]}")
        for (case, _), answer in zip(cases, answers):
            verdict, values = answer.split("--\n")
            if "(error" in verdict:
                raise SystemExit(f"{title}, case {case}: z3: {verdict.strip()}")
            if verdict.strip() != "unsat":
                raise Failure(f"{title}, case {case}: " + (values.strip() if verdict.strip() == "sat" else verdict.strip()))
        return len(cases)
