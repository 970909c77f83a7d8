"""The transformers of models/, for scripts/make-networks: blocks with pre-normalisation, random weights.

Elements are int8 with a standard deviation near STEPS. A product of K elements with weights of mean square WEIGHT_RMS^2 has one of
STEPS * WEIGHT_RMS * sqrt(K), from which its scale follows; sums of two branches are divided by sqrt(2).
"""
import json
import math

STEPS = 32.0
WEIGHT_RMS = math.sqrt((255 ** 2 - 1) / 12)


def rounded(scale):
    return float(f"{scale:.3g}")


def text(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{key}": {text(v)}' for key, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(text(v) for v in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else f"{value}"


def comment_lines(lines):
    """The field `comment` of a workload file."""
    return [' "comment": [', ",\n".join(f"  {json.dumps(line)}" for line in lines), " ],"]


class Transformer:
    """Collects the layers of one workload file. Tensors are [1, heads, tokens, features]; a method returns its output's name."""

    def __init__(self, name, comment, width, heads, hidden):
        self.name, self.comment, self.layers, self.inputs = name, comment, [], []
        self.width, self.heads, self.hidden = width, heads, hidden
        self.head = width // heads

    def add(self, name, op, inputs, fields):
        self.layers.append({"name": name, "op": op, "inputs": inputs} | fields)
        return name

    def input(self, name, shape, fields):
        self.inputs.append({"name": name, "shape": shape} | fields)
        return name

    def project(self, name, x, features, inner, seed, axes=None):
        fields = {"out_features": features}
        if axes:
            fields["weights_axes"] = axes
        fields |= {"weights": {"random": {"seed": seed}}, "bias": {"random": {"seed": 1000 + seed}},
                   "requant": {"scale": rounded(1 / (WEIGHT_RMS * math.sqrt(inner)))}}
        return self.add(name, "matmul", [x], fields)

    def norm(self, name, x):
        return self.add(name, "layernorm", [x], {"input_scale": 0.03125, "requant": {"scale": STEPS}})

    def residual(self, name, x, y):
        return self.add(name, "add", [x, y], {"requant": {"scale": 0.707}})

    def attention(self, prefix, x, tokens, seed, cache=None):
        """Attention of `x`, whose tokens are `tokens`; with a cache to its keys and values too, which are extended."""
        q, k, v = (self.project(f"{prefix}_{which}", x, self.head, self.width, seed + i, [self.heads])
                   for i, which in enumerate("qkv"))
        if cache is not None:
            if cache:
                k = self.add(f"{prefix}_keys", "concat", [cache["k"], k], {"axis": 2})
                v = self.add(f"{prefix}_values", "concat", [cache["v"], v], {"axis": 2})
            cache["k"], cache["v"] = k, v
        scores = self.add(f"{prefix}_scores", "matmul", [q, k],
                          {"transpose_b": True, "requant": {"scale": rounded(1 / (STEPS * math.sqrt(self.head)))}})
        shares = self.add(f"{prefix}_shares", "softmax", [scores],
                          {"input_scale": 0.05, "requant": {"scale": 256, "dtype": "uint8"}})
        context = self.add(f"{prefix}_context", "matmul", [shares, v], {"requant": {"scale": 0.009}})
        if tokens > 1:
            context = self.add(f"{prefix}_turned", "transpose", [context], {"perm": [0, 2, 1, 3]})
        merged = self.add(f"{prefix}_merged", "reshape", [context], {"shape": [1, 1, tokens, self.width]})
        return self.project(f"{prefix}_attended", merged, self.width, self.width, seed + 3)

    def block(self, prefix, x, tokens, seed, cache=None):
        attended = self.attention(prefix, self.norm(f"{prefix}_norm1", x), tokens, seed, cache)
        x = self.residual(f"{prefix}_sum1", x, attended)
        up = self.project(f"{prefix}_up", self.norm(f"{prefix}_norm2", x), self.hidden, self.width, seed + 4)
        active = self.add(f"{prefix}_gelu", "gelu", [up], {"input_scale": 0.03125, "requant": {"scale": STEPS}})
        down = self.project(f"{prefix}_down", active, self.width, self.hidden // 2, seed + 5)
        return self.residual(f"{prefix}_sum2", x, down)

    def file(self, outputs, steps=None):
        lines = ["{", *comment_lines(self.comment), f' "name": "{self.name}",', ' "inputs": [']
        lines.append(",\n".join(f"  {text(x)}" for x in self.inputs) + "\n ],\n \"layers\": [")
        lines.append(",\n".join(f"  {text(layer)}" for layer in self.layers) + "\n ],")
        if steps:
            lines.append(' "steps": {' + ", ".join(f'"{key}": {text(value)}' for key, value in steps.items() if key != "layers") + ',\n  "layers": [')
            lines.append(",\n".join(f"   {text(layer)}" for layer in steps["layers"]) + "\n  ]\n },")
        return "\n".join(lines) + f'\n "outputs": {text(outputs)}\n}}\n'


def encoder(name, comment, tokens, width, heads, hidden, blocks):
    net = Transformer(name, comment, width, heads, hidden)
    x = net.input("tokens", [1, 1, tokens, width], {"random": {"seed": 1, "min": -55, "max": 55}})
    for block in range(blocks):
        x = net.block(f"b{block}", x, tokens, 10 * block + 2)
    return net.file([net.norm("encoded", x)])


def decoder(name, comment, vocabulary, width, heads, hidden, blocks, steps):
    """Each step reads the token of the one before: its embedding, the blocks, the scores of all tokens, the greatest of them."""
    net = Transformer(name, comment, width, heads, hidden)
    prompt = net.input("prompt", [1, 1, 1, vocabulary], {"random": {"seed": 1}})
    token = net.add("token0", "argmax", [prompt], {"result": "one_hot"})
    caches = [{} for _ in range(blocks)]
    outputs = []
    for step in range(steps):
        x = net.add(f"s{step}_embedding", "matmul", [token], {
            "out_features": width, "weights": {"random": {"seed": 100}},
            "bias": {"random": {"seed": 200 + step, "min": -40, "max": 40}}, "requant": {"scale": 0.42}})
        for block in range(blocks):
            x = net.block(f"s{step}_b{block}", x, 1, 10 * block + 2, caches[block])
        x = net.norm(f"s{step}_norm", x)
        scores = net.project(f"s{step}_scores", x, vocabulary, width, 101)
        token = net.add(f"token{step + 1}", "argmax", [scores], {"result": "one_hot"})
        outputs.append(net.add(f"id{step + 1}", "argmax", [scores], {}))
    return net.file(outputs)


def files():
    """The text of each file, by name."""
    return {
        "encoder_block": encoder("encoder_block", [
            "One block of a transformer encoder on 64 tokens of 128 features: attention of four heads and a feed-forward network of",
            "512, each behind a layer normalisation and added to its input. Written by scripts/make-networks."],
            64, 128, 4, 512, 1),
        "encoder": encoder("encoder", [
            "A transformer encoder of four blocks on 32 tokens of 64 features, four heads, 256 hidden features. Written by",
            "scripts/make-networks."], 32, 64, 4, 256, 4),
        "decoder": decoder("decoder", [
            "A transformer decoder of two blocks that makes eight tokens of 96, one after the other: keys and values of earlier tokens",
            "are kept, the token with the greatest score is the next one's input. Weights are random. Written by scripts/make-networks."],
            96, 64, 4, 128, 2, 8),
    }
