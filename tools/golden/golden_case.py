# SPDX-License-Identifier: MIT
"""Cases of the golden set: how one is computed with PyTorch, and the file they are written to.

File format (little-endian throughout), gzipped as a whole:
    8 bytes   magic "TGOLDEN1"
    u32       size of the index in bytes
    index     JSON array of cases, UTF-8
    blob      the elements of every tensor, row-major, bool as one byte; each begins at a multiple
              of 8 from the start of the blob, and equal ones are stored once

A case is {"name", "op", "params", "inputs", "outputs", "upstream", "grads", "tol"}:
    inputs    tensors as stored; a tensor is {"d": dtype, "s": shape, "o": byte offset in the blob}
              and, where the operand is a view of it, "m": movement ops to apply first, in order
    outputs   expected results
    upstream  one gradient per output (null for outputs without one); absent: forward only
    grads     expected d/d stored input, null where the input has no gradient
    tol       [rtol, atol, grad rtol, grad atol]; two results are equal when they are both NaN, the
              same infinity, or |a-b| <= atol + rtol*|b|. Integers and bools are always exact
    "signed_zero": true   -0 and +0 must be told apart in the outputs

f16 and bf16 operands are computed in f32 and rounded once to their type.
"""
import gzip
import json
import struct
import zlib

import torch

DTYPES = {
    "bool": torch.bool, "u8": torch.uint8, "i32": torch.int32, "i64": torch.int64,
    "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
FLOATS = ("f16", "bf16", "f32", "f64")
ALIGN_B = 8  # of every tensor in the blob
HALVES = (torch.float16, torch.bfloat16)

EXACT = "exact"        # one correctly rounded operation
LIBM = "libm"          # one transcendental function
COMPOSITE = "composite"  # several operations
SUMS = "sums"          # long sums: the order of additions differs
# rtol, atol of the forward result by kind and dtype; gradients are always at least COMPOSITE.
TOLERANCES = {
    EXACT: {"f16": (0, 0), "bf16": (0, 0), "f32": (0, 0), "f64": (0, 0)},
    LIBM: {"f16": (1.5e-3, 1e-6), "bf16": (1.2e-2, 1e-6), "f32": (2e-6, 1e-7), "f64": (1e-13, 1e-15)},
    COMPOSITE: {"f16": (6e-3, 2e-3), "bf16": (4e-2, 2e-2), "f32": (2e-5, 2e-6), "f64": (1e-11, 1e-12)},
    SUMS: {"f16": (6e-3, 6e-3), "bf16": (4e-2, 4e-2), "f32": (1e-4, 2e-5), "f64": (1e-11, 1e-11)},
}


def for_json(value):
    """JSON has no infinities and no NaN: they are written as strings."""
    if isinstance(value, dict):
        return {key: for_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [for_json(item) for item in value]
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return str(value)
    return value


class In:
    """An operand: a stored tensor and the movement ops that make a view of it."""

    def __init__(self, tensor, *moves):
        self.tensor = tensor
        self.moves = moves

    def view(self, x):
        for move in self.moves:
            x = apply_move(x, move)
        return x


def slice_axis(x, axis, begin, end, step):
    """Python's begin:end:step, negative steps too (PyTorch has none)."""
    rows = list(range(x.shape[axis]))[begin:end:step]
    return x.index_select(axis, torch.tensor(rows, dtype=torch.int64))


def apply_move(x, move):
    kind, args = move[0], move[1:]
    if kind == "reshape":
        return x.reshape(args[0])
    if kind == "permute":
        return x.permute(args[0])
    if kind == "expand":
        return x.expand(args[0])
    if kind == "flip":
        return x.flip(args[0])
    if kind == "slice":
        return slice_axis(x, *args)
    raise ValueError(kind)


class Suite:
    """The cases of one file."""

    def __init__(self, name):
        self.name = name
        self.cases = []
        self.names = set()
        self.blob = bytearray()
        self.offsets = {}

    def case(self, name, op, fn, inputs=(), params=None, grad=True, tol=COMPOSITE,
             signed_zero=False, native=False):
        """Computes `fn(*operands)` and its gradients and records them.

        `native` leaves half-precision operands to PyTorch: for casts and mixed types.
        """
        assert name not in self.names, name
        self.names.add(name)
        inputs = [x if isinstance(x, In) else In(x) for x in inputs]
        leaves = [i.tensor.clone() for i in inputs]
        for leaf in leaves:
            if grad and leaf.is_floating_point():
                leaf.requires_grad_()
        outputs = self._forward(fn, [i.view(leaf) for i, leaf in zip(inputs, leaves)], native)
        record = {"name": name, "op": op, "params": for_json(params or {})}
        record["inputs"] = [self._store(i.tensor, i.moves) for i in inputs]
        record["outputs"] = [self._store(o.detach()) for o in outputs]
        if grad and any(o.requires_grad for o in outputs):
            self._backward(record, name, outputs, leaves)
        record["tol"] = self._tolerance(outputs, leaves, tol)
        if signed_zero:
            record["signed_zero"] = True
        self.cases.append(record)

    @staticmethod
    def _forward(fn, operands, native):
        """Half-precision operands are computed in f32 and the result rounded to their type."""
        halves = {x.dtype for x in operands if x.dtype in HALVES}
        others = {x.dtype for x in operands if x.is_floating_point()} - halves
        if len(halves) == 1 and not others and not native:
            half = halves.pop()
            outputs = fn(*[x.float() if x.dtype in HALVES else x for x in operands])
            outputs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
            return [o.to(half) if o.dtype == torch.float32 else o for o in outputs]
        outputs = fn(*operands)
        return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]

    def _backward(self, record, name, outputs, leaves):
        generator = torch.Generator().manual_seed(zlib.crc32(name.encode()) ^ 0x5eed)
        roots, upstream = [], []
        for o in outputs:
            if not o.requires_grad:
                upstream.append(None)
                continue
            g = torch.randn(o.shape, generator=generator, dtype=torch.float64)
            g = (g * 16).round().div(16)
            g = torch.where(g == 0, torch.ones_like(g), g).to(o.dtype)  # every element counts
            roots.append((o, g))
            upstream.append(self._store(g))
        wanted = [leaf for leaf in leaves if leaf.requires_grad]
        grads = iter(torch.autograd.grad([o for o, _ in roots], wanted, [g for _, g in roots],
                                         allow_unused=True))
        record["upstream"] = upstream
        record["grads"] = [self._store_or_none(next(grads)) if leaf.requires_grad else None
                           for leaf in leaves]

    def _store_or_none(self, tensor):
        return None if tensor is None else self._store(tensor)

    def _store(self, tensor, moves=()):
        data = self._bytes(tensor)
        if data not in self.offsets:
            self.blob += bytes(-len(self.blob) % ALIGN_B)
            self.offsets[data] = len(self.blob)
            self.blob += data
        ref = {"d": NAMES[tensor.dtype], "s": list(tensor.shape), "o": self.offsets[data]}
        if moves:
            ref["m"] = [list(m) for m in moves]
        return ref

    @staticmethod
    def _bytes(tensor):
        tensor = tensor.detach().contiguous()
        if tensor.dtype == torch.bfloat16:
            tensor = tensor.view(torch.int16)
        return tensor.numpy().tobytes()

    @staticmethod
    def _tolerance(outputs, leaves, kind):
        rank = {"bf16": 0, "f16": 1, "f32": 2, "f64": 3}
        used = [NAMES[t.dtype] for t in outputs + leaves if t.is_floating_point()] or ["f64"]
        loosest = min(used, key=rank.get)
        forward = TOLERANCES[kind][min([NAMES[o.dtype] for o in outputs if o.is_floating_point()]
                                       or [loosest], key=rank.get)]
        backward = TOLERANCES[SUMS if kind == SUMS else COMPOSITE][loosest]
        return [*forward, *backward]

    def write(self, folder):
        """Writes the file; the same cases always give the same bytes."""
        index = json.dumps(self.cases, separators=(",", ":"), allow_nan=False).encode()
        raw = b"TGOLDEN1" + struct.pack("<I", len(index)) + index + bytes(self.blob)
        path = f"{folder}/{self.name}.golden.gz"
        with open(path, "wb") as file:
            with gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
                packed.write(raw)
        return path, len(self.cases)


def values(name, shape, dtype="f32", low=-3.0, high=3.0):
    """Pseudo-random elements that depend on `name` only: adding a case changes no other."""
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    x = torch.rand(shape, generator=generator, dtype=torch.float64) * (high - low) + low
    if dtype == "bool":
        return x > (low + high) / 2
    if dtype in FLOATS:
        return (x * 64).round().div(64).to(DTYPES[dtype])
    return (x.abs() if dtype == "u8" else x).mul(7).round().to(DTYPES[dtype])


def distinct(name, shape, dtype="f32"):
    """Elements without ties, for operations that pick one."""
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    count = 1
    for extent in shape:
        count *= extent
    order = torch.randperm(count, generator=generator)
    return (order - count // 2).to(torch.float64).div(4).reshape(shape).to(DTYPES[dtype])


INF, NAN = float("inf"), float("nan")
EDGES = {
    "f32": [0.0, -0.0, INF, -INF, NAN, 1e-45, -1e-45, 1.1754944e-38, 3.4028235e38, -3.4028235e38,
            1e-7, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 3.0, -3.0, 8388609.0, -1e10, 20.5, -20.5],
    "f64": [0.0, -0.0, INF, -INF, NAN, 5e-324, -5e-324, 2.2250738585072014e-308,
            1.7976931348623157e308, -1.7976931348623157e308, 1e-16, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5,
            -2.5, 3.0, -3.0, 4503599627370497.0, -1e10, 20.5, -20.5],
    "f16": [0.0, -0.0, INF, -INF, NAN, 6e-8, -6e-8, 6.104e-5, 65504.0, -65504.0, 1e-3, 0.5, -0.5,
            1.0, -1.0, 1.5, 2.5, -2.5, 3.0, -3.0, 2049.0, 20.5, -20.5],
    "bf16": [0.0, -0.0, INF, -INF, NAN, 1e-40, -1e-40, 1.1754944e-38, 3.38e38, -3.38e38, 1e-3, 0.5,
             -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 3.0, -3.0, 257.0, 20.5, -20.5],
    "i32": [0, 1, -1, 2, -2, 3, -3, 7, -7, 2147483647, -2147483648, 65536],
    "i64": [0, 1, -1, 2, -2, 3, -3, 7, -7, 9223372036854775807, -9223372036854775808, 4294967296],
    "u8": [0, 1, 2, 3, 7, 127, 128, 254, 255],
    "bool": [False, True],
}


def edges(dtype):
    return torch.tensor(EDGES[dtype], dtype=DTYPES[dtype])


def strided(name, dtype="f32", low=-3.0, high=3.0):
    """A (3, 4) operand that is no plain buffer: transposed, every second row, backwards."""
    return In(values(name, (4, 6), dtype, low, high), ("permute", [1, 0]), ("slice", 0, 1, 6, 2),
              ("flip", [1]))
