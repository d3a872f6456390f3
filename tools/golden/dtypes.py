# SPDX-License-Identifier: MIT
"""Casts between all element types and promotion of all pairs."""
import torch

from golden_case import DTYPES, EXACT, FLOATS, INF, NAN, Suite, strided

ALL = tuple(DTYPES)
# Elements that every conversion from the type defines; what is out of range for an integer target
# is left to EXTRA, as C++ leaves float to integer conversions out of range undefined.
CAST_VALUES = {
    "bool": [0, 1], "u8": [0, 1, 2, 127, 128, 200, 255],
    "i32": [0, 1, -1, 127, -128, 255, 256, 65504, 16777217, 2147483647, -2147483648],
    "i64": [0, 1, -1, 255, 256, 65504, 16777217, 9007199254740993, 4294967297,
            9223372036854775807, -9223372036854775808],
    "floats": [0.0, -0.0, 0.5, 0.99, 1.0, 1.5, 2.5, 100.7, 127.0],
}
FLOAT_TO_FLOAT = {
    "f16": [6e-8, -6e-8, 65504.0, INF, -INF, NAN, 6.1e-5],
    "bf16": [1e-40, 3.3e38, -3.3e38, INF, -INF, NAN],
    "f32": [1e-45, 1.1754944e-38, 3.4028235e38, 65519.0, 65520.0, 1e-8, 6e-8, 1.00048828125,
            1.0014648, 1.00390625, 1.01171875, INF, -INF, NAN, 3.3961775e38],
    "f64": [1e-310, 1e300, -1e300, 0.1, 1.0000000596046448, 3.4e38, 65520.0, INF, -INF, NAN],
}


def cast(s):
    for source in ALL:
        for target in ALL:
            kind = "floats" if source in FLOATS else source
            numbers = list(CAST_VALUES[kind])
            if source in FLOATS and target in ("i32", "i64"):
                numbers += [-0.5, -1.5, -100.7, 1000.0]
            x = torch.tensor(numbers, dtype=DTYPES[source])
            s.case(f"cast/{source}_to_{target}", "cast", lambda a: a.to(DTYPES[target]), [x],
                   {"dtype": target}, tol=EXACT, signed_zero=target in FLOATS, native=True)
    for source in FLOATS:
        x = torch.tensor(FLOAT_TO_FLOAT[source], dtype=DTYPES[source])
        for target in FLOATS + ("bool",):
            s.case(f"cast/edge_{source}_to_{target}", "cast", lambda a: a.to(DTYPES[target]), [x],
                   {"dtype": target}, grad=False, tol=EXACT, signed_zero=target in FLOATS,
                   native=True)
    for shape in ((), (0, 2)):
        s.case(f"cast/{'0d' if not shape else 'empty'}", "cast", lambda a: a.to(torch.int64),
               [torch.full(shape, 2.75)], {"dtype": "i64"})
    s.case("cast/strided", "cast", lambda a: a.to(torch.float64), [strided("cast")],
           {"dtype": "f64"}, tol=EXACT)


OPS = {"add": torch.add, "mul": torch.mul, "div": torch.true_divide, "lt": torch.lt, "eq": torch.eq,
       "maximum": torch.maximum}


def promotion(s):
    """Every pair, tensors with tensors and tensors with 0-d tensors, which are weaker."""
    for op, fn in OPS.items():
        for a in ALL:
            for b in ALL:
                x = torch.tensor([1, 0, 3, 2]).to(DTYPES[a])
                y = torch.tensor([2, 1, 1, 3]).to(DTYPES[b])
                if op in ("add", "mul", "div", "lt"):
                    s.case(f"{op}/promote_{a}_{b}", op, fn, [x, y], tol=EXACT, grad=op != "lt")
                s.case(f"{op}/promote_{a}_0d_{b}", op, fn, [x, y[0]], tol=EXACT, grad=op != "lt")
    for a in ALL:
        for b in ALL:
            condition = torch.tensor([True, False])
            s.case(f"where/promote_{a}_{b}", "where", torch.where,
                   [condition, torch.tensor([1, 0]).to(DTYPES[a]), torch.tensor([0, 1]).to(DTYPES[b])],
                   tol=EXACT)


def suites():
    first, second = Suite("cast"), Suite("promotion")
    cast(first)
    promotion(second)
    return [first, second]
