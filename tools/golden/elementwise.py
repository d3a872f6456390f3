# SPDX-License-Identifier: MIT
"""Functions of one element, operators of two, comparisons, logic, where."""
import torch
import torch.nn.functional as F

from golden_case import (COMPOSITE, EXACT, FLOATS, INF, LIBM, NAN, In, Suite, edges, strided, values)

# op: (function, tolerance kind, domain)
UNARY = {
    "neg": (torch.neg, EXACT, (-3, 3)),
    "abs": (torch.abs, EXACT, (-3, 3)),
    "sign": (torch.sign, EXACT, (-3, 3)),
    "floor": (torch.floor, EXACT, (-3, 3)),
    "ceil": (torch.ceil, EXACT, (-3, 3)),
    "trunc": (torch.trunc, EXACT, (-3, 3)),
    "round": (torch.round, EXACT, (-3, 3)),
    "frac": (torch.frac, EXACT, (-3, 3)),
    "square": (torch.square, EXACT, (-3, 3)),
    "relu": (torch.relu, EXACT, (-3, 3)),
    "relu6": (F.relu6, EXACT, (-3, 9)),
    "sqrt": (torch.sqrt, EXACT, (0.25, 6)),
    "reciprocal": (torch.reciprocal, EXACT, (0.25, 3)),
    "rsqrt": (torch.rsqrt, LIBM, (0.25, 6)),
    "exp": (torch.exp, LIBM, (-3, 3)),
    "exp2": (torch.exp2, LIBM, (-3, 3)),
    "expm1": (torch.expm1, LIBM, (-3, 3)),
    "log": (torch.log, LIBM, (0.1, 6)),
    "log2": (torch.log2, LIBM, (0.1, 6)),
    "log10": (torch.log10, LIBM, (0.1, 6)),
    "log1p": (torch.log1p, LIBM, (-0.9, 4)),
    "sin": (torch.sin, LIBM, (-6, 6)),
    "cos": (torch.cos, LIBM, (-6, 6)),
    "tan": (torch.tan, LIBM, (-1.2, 1.2)),
    "sinh": (torch.sinh, LIBM, (-3, 3)),
    "cosh": (torch.cosh, LIBM, (-3, 3)),
    "tanh": (torch.tanh, LIBM, (-3, 3)),
    "erf": (torch.erf, LIBM, (-3, 3)),
    "sigmoid": (torch.sigmoid, LIBM, (-6, 6)),
    "logsigmoid": (F.logsigmoid, COMPOSITE, (-6, 6)),
    "silu": (F.silu, COMPOSITE, (-6, 6)),
    "mish": (F.mish, COMPOSITE, (-6, 6)),
    "selu": (F.selu, COMPOSITE, (-3, 3)),
    "softsign": (F.softsign, COMPOSITE, (-3, 3)),
    # Written out: PyTorch's own kernels divide by six in f32, in f64 too.
    "hardsigmoid": (lambda x: F.relu6(x + 3) / 6, COMPOSITE, (-5, 5)),
    "hardswish": (lambda x: x * F.relu6(x + 3) / 6, COMPOSITE, (-5, 5)),
}
# PyTorch defines these on integers and gives integers back.
KEEPS_INTEGERS = ("neg", "abs", "sign", "square", "floor", "ceil", "trunc", "round", "relu")
GIVES_FLOATS = ("sqrt", "rsqrt", "reciprocal", "exp", "exp2", "expm1", "log", "log2", "log10",
                "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh", "erf", "sigmoid")
# Functions whose limits PyTorch's own vector code gets wrong or leaves open, or that are finite
# only by a particular way of computing them.
NO_EDGES = ("tan", "frac")
SIGNED_ZERO = ("neg", "abs", "floor", "ceil", "trunc", "round", "sqrt", "sin", "tanh")


def unary_shapes(suite, op, fn, kind, domain, params=None, tag=""):
    p = params or {}
    for dtype in FLOATS:
        suite.case(f"{op}/{tag}{dtype}", op, fn, [values(op + tag, (3, 5), dtype, *domain)], p,
                   tol=kind)
    suite.case(f"{op}/{tag}0d", op, fn, [values(op + tag + "0", (), "f32", *domain)], p, tol=kind)
    suite.case(f"{op}/{tag}empty", op, fn, [values(op, (0, 3))], p, tol=kind)
    suite.case(f"{op}/{tag}strided", op, fn, [strided(op + tag + "s", "f32", *domain)], p, tol=kind)
    suite.case(f"{op}/{tag}expanded", op, fn,
               [In(values(op + tag + "e", (2, 1, 3), "f32", *domain), ("expand", [2, 4, 3]))], p,
               tol=kind)


def unary(suite):
    for op, (fn, kind, domain) in UNARY.items():
        unary_shapes(suite, op, fn, kind, domain)
        if op not in NO_EDGES:
            for dtype in FLOATS:
                x = edges(dtype)
                if op in ("sin", "cos"):  # huge arguments have their own cases
                    x = x[(x.abs() < 100) | ~x.isfinite()]
                if op in ("sinh", "cosh", "hardswish"):  # PyTorch is off by 1e-7 at -20.5 in f64;
                    x = x[(x.abs() < 20) | ~x.isfinite()]  # 6x overflows or not
                suite.case(f"{op}/edge_{dtype}", op, fn, [x], grad=False, tol=kind,
                           signed_zero=op in SIGNED_ZERO)
        for dtype in ("i32", "i64", "u8"):
            if op in KEEPS_INTEGERS and not (op == "neg" and dtype == "bool"):
                suite.case(f"{op}/edge_{dtype}", op, fn, [edges(dtype)])
        for dtype in ("bool", "u8", "i32", "i64"):
            if op in GIVES_FLOATS:
                x = values(op, (6,), dtype, max(domain[0], 0), domain[1])
                suite.case(f"{op}/{dtype}", op, fn, [x], tol=kind)
    for op in ("sin", "cos"):
        x = torch.tensor([100.0, -1000.0, 1e5, 1e6, -12345678.0])
        suite.case(f"{op}/large_f32", op, UNARY[op][0], [x], grad=False, tol=LIBM)
        suite.case(f"{op}/large_f64", op, UNARY[op][0], [x.double()], grad=False, tol=LIBM)
        suite.case(f"{op}/huge_f32", op, UNARY[op][0], [torch.tensor([1e10, -1e20, 3.4e38])],
                   grad=False, tol=LIBM)


def unary_with_parameters(suite):
    for tanh in (False, True):
        name = "tanh" if tanh else "none"
        fn = lambda x, a=name: F.gelu(x, approximate=a)
        unary_shapes(suite, "gelu", fn, COMPOSITE, (-4, 4), {"tanh_approximation": tanh},
                     "tanh_" if tanh else "exact_")
    for slope in (0.01, 0.5):
        unary_shapes(suite, "leaky_relu", lambda x, s=slope: F.leaky_relu(x, s), COMPOSITE, (-3, 3),
                     {"slope": slope}, f"{slope}_")
    for alpha in (1.0, 0.5):
        unary_shapes(suite, "elu", lambda x, a=alpha: F.elu(x, a), COMPOSITE, (-3, 3),
                     {"alpha": alpha}, f"{alpha}_")
        unary_shapes(suite, "celu", lambda x, a=alpha: F.celu(x, a), COMPOSITE, (-3, 3),
                     {"alpha": alpha}, f"{alpha}_")
    for beta, threshold in ((1.0, 20.0), (2.0, 3.0)):
        unary_shapes(suite, "softplus", lambda x, b=beta, t=threshold: F.softplus(x, b, t),
                     COMPOSITE, (-4, 4), {"beta": beta, "threshold": threshold}, f"b{beta}_")
    suite.case("softplus/large", "softplus", F.softplus,
               [torch.tensor([-200.0, -50.0, 19.0, 21.0, 200.0, INF, -INF, NAN])],
               {"beta": 1.0, "threshold": 20.0})
    unary_shapes(suite, "hardtanh", F.hardtanh, COMPOSITE, (-3, 3), {"low": -1.0, "high": 1.0})
    for tag, low, high in (("both_", -1.0, 1.5), ("low_", -0.5, None), ("high_", None, 0.5)):
        fn = lambda x, a=low, b=high: torch.clamp(x, a, b)
        unary_shapes(suite, "clamp", fn, EXACT, (-3, 3), {"low": low, "high": high}, tag)
    suite.case("clamp/at_the_bounds", "clamp", lambda x: torch.clamp(x, -1.0, 1.0),
               [torch.tensor([-1.0, 1.0, 0.0, INF, -INF, NAN])], {"low": -1.0, "high": 1.0},
               tol=EXACT)
    for op, fn, params in (
            ("gelu", lambda x: F.gelu(x), {"tanh_approximation": False}),
            ("gelu", lambda x: F.gelu(x, approximate="tanh"), {"tanh_approximation": True}),
            ("leaky_relu", lambda x: F.leaky_relu(x, 0.01), {"slope": 0.01}),
            ("elu", F.elu, {"alpha": 1.0}), ("celu", F.celu, {"alpha": 1.0}),
            ("softplus", F.softplus, {"beta": 1.0, "threshold": 20.0}),
            ("hardtanh", F.hardtanh, {"low": -1.0, "high": 1.0})):
        tag = "tanh_" if params.get("tanh_approximation") else ""
        for dtype in FLOATS:
            x = edges(dtype)  # cubes of extremes overflow on the way in one formula, not in another
            x = x[(x.abs() < 1e4) | ~x.isfinite()]
            suite.case(f"{op}/{tag}edge_{dtype}", op, fn, [x], params, grad=False)
    for dtype in ("i32", "i64", "u8"):
        suite.case(f"clamp/{dtype}", "clamp", lambda x: torch.clamp(x, 2, 9),
                   [values("clamp", (8,), dtype)], {"low": 2, "high": 9})


def gradients_at_kinks(suite):
    """Where a derivative jumps or is infinite, PyTorch's choice is the reference."""
    zero = torch.tensor([0.0, -0.0, 1.0, -1.0])
    for op in ("abs", "relu", "sign", "relu6"):
        suite.case(f"{op}/gradient_at_kink", op, UNARY[op][0], [zero], tol=EXACT)
    suite.case("sqrt/gradient_at_zero", "sqrt", torch.sqrt, [torch.tensor([0.0, 4.0])], tol=EXACT)
    suite.case("log/gradient_at_zero", "log", torch.log, [torch.tensor([0.0, 1.0])], tol=LIBM)
    suite.case("relu/gradient_of_nan", "relu", torch.relu, [torch.tensor([NAN, INF, -INF])],
               tol=EXACT)
    suite.case("sigmoid/gradient_far_out", "sigmoid", torch.sigmoid,
               [torch.tensor([100.0, -100.0, 30.0, -30.0])], tol=LIBM)
    suite.case("tanh/gradient_far_out", "tanh", torch.tanh, [torch.tensor([100.0, -100.0, 20.0])],
               tol=LIBM)
    suite.case("logsigmoid/far_out", "logsigmoid", F.logsigmoid,
               [torch.tensor([100.0, -100.0, 1000.0, -1000.0])])
    suite.case("silu/far_out", "silu", F.silu, [torch.tensor([100.0, -100.0, 1000.0, -1000.0])])


def floordiv(a, b):
    return torch.div(a, b, rounding_mode="floor")


BINARY = {
    "add": (torch.add, EXACT), "sub": (torch.sub, EXACT), "mul": (torch.mul, EXACT),
    "div": (torch.true_divide, EXACT), "floordiv": (floordiv, EXACT),
    "mod": (torch.remainder, COMPOSITE), "fmod": (torch.fmod, COMPOSITE), "pow": (torch.pow, LIBM),
    "maximum": (torch.maximum, EXACT), "minimum": (torch.minimum, EXACT),
}
COMPARE = {"eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le, "gt": torch.gt,
           "ge": torch.ge}
LOGICAL = {"logical_and": torch.logical_and, "logical_or": torch.logical_or,
           "logical_xor": torch.logical_xor}
BITWISE = {"bitwise_and": torch.bitwise_and, "bitwise_or": torch.bitwise_or,
           "bitwise_xor": torch.bitwise_xor}
BROADCASTS = {"same": ((3, 4), (3, 4)), "row": ((3, 4), (4,)), "column": ((3, 4), (3, 1)),
              "outer": ((3, 1), (1, 4)), "0d": ((), ()), "0d_left": ((), (3,)),
              "0d_right": ((3,), ()), "rank3": ((2, 1, 4), (3, 1)), "empty": ((0, 3), (3,)),
              "empty_outer": ((0, 1), (1, 3))}


def binary_domain(op):
    """Operand ranges without ties, without zero divisors and where powers are real."""
    if op == "pow":
        return (0.25, 3), (-2, 2)
    if op in ("div", "floordiv", "mod", "fmod"):
        return (-9, 9), (0.5, 3)
    return (-3, 3), (-3, 3)


def binary(suite):
    for op, (fn, kind) in BINARY.items():
        da, db = binary_domain(op)
        for tag, (sa, sb) in BROADCASTS.items():
            suite.case(f"{op}/{tag}", op, fn,
                       [values(op + "a", sa, "f32", *da), values(op + "b", sb, "f32", *db)],
                       tol=kind)
        for dtype in ("f64", "f16", "bf16"):
            suite.case(f"{op}/{dtype}", op, fn,
                       [values(op + "a", (3, 4), dtype, *da), values(op + "b", (4,), dtype, *db)],
                       tol=kind)
        suite.case(f"{op}/strided", op, fn,
                   [strided(op + "sa", "f32", *da), strided(op + "sb", "f32", *db)], tol=kind)
        suite.case(f"{op}/same_operand", op, lambda a, f=fn: f(a, a),
                   [values(op, (5,), "f32", 0.5, 3)], {"same_operand": True}, tol=kind)


def binary_edges(suite):
    for op, (fn, kind) in BINARY.items():
        for dtype in FLOATS:
            e = edges(dtype)
            if op in ("mod", "fmod", "floordiv") and dtype in ("f16", "bf16"):
                continue  # quotients of very different sizes: any rounding of the steps differs
            if op == "pow":  # PyTorch's vector code overflows at the largest number to the 1
                e = e[(e.abs() < 1e30) | ~e.isfinite()]
            if op in ("mod", "fmod", "floordiv"):
                e = e[(e.abs() < 100) & (e.abs() > 1e-3) | ~e.isfinite() | (e == 0)]
            suite.case(f"{op}/edge_{dtype}", op, fn, [e.reshape(-1, 1), e.reshape(1, -1)],
                       grad=False, tol=kind, signed_zero=op in ("add", "sub", "mul", "div"))
        for dtype in ("i32", "i64", "u8"):
            e = edges(dtype)
            right = e
            if op in ("floordiv", "mod", "fmod"):
                right = e[(e != 0) & (e != -1)]  # x/0 throws, INT_MIN/-1 traps
            if op == "pow":
                e, right = torch.tensor([0, 1, 2, 3, 7], dtype=e.dtype), torch.tensor(
                    [0, 1, 2, 3, 5], dtype=e.dtype)
            suite.case(f"{op}/edge_{dtype}", op, fn, [e.reshape(-1, 1), right.reshape(1, -1)],
                       tol=kind)
    for dtype in ("i32", "i64"):
        a = torch.tensor([7, -7, 7, -7, 6, -6, 0, 0], dtype=edges(dtype).dtype)
        b = torch.tensor([2, 2, -2, -2, 3, -3, 5, -1], dtype=edges(dtype).dtype)
        for op in ("floordiv", "mod", "fmod", "div"):
            suite.case(f"{op}/signs_{dtype}", op, BINARY[op][0], [a, b], tol=EXACT)
    a = torch.tensor([7.5, -7.5, 7.5, -7.5, 6.0, -6.0, 0.0, -0.0])
    b = torch.tensor([2.0, 2.0, -2.0, -2.0, 3.0, -3.0, 5.0, 5.0])
    for op in ("floordiv", "mod", "fmod"):
        suite.case(f"{op}/signs_f32", op, BINARY[op][0], [a, b])
    suite.case("pow/negative_integer_base", "pow", torch.pow,
               [torch.tensor([-3, -2, -1, 0, 2]), torch.tensor([3, 2, 5, 0, 10])])
    suite.case("pow/negative_base", "pow", torch.pow,
               [torch.tensor([-2.0, -2.0, -2.0, -0.5]), torch.tensor([2.0, 3.0, 0.5, -3.0])],
               grad=False, tol=LIBM)
    suite.case("pow/gradient_at_zero", "pow", torch.pow,
               [torch.tensor([0.0, 0.0, 0.0, 2.0]), torch.tensor([2.0, 1.0, 0.0, 0.0])], tol=LIBM)
    for op in ("maximum", "minimum"):
        suite.case(f"{op}/ties_share_the_gradient", op, BINARY[op][0],
                   [torch.tensor([1.0, 2.0, 0.0]), torch.tensor([1.0, 1.0, -0.0])], tol=EXACT)


def scalars(suite):
    """One operand is a C++ number: weaker than any tensor of its kind or above."""
    for op, (fn, kind) in BINARY.items():
        if op in ("maximum", "minimum"):
            continue
        for dtype in ("bool", "u8", "i32", "i64", "f16", "bf16", "f32", "f64"):
            low = 0 if op == "pow" else -9
            x = values(op + "scalar", (5,), dtype, low + 0.5, 9) if dtype in FLOATS else values(
                op + "scalar", (5,), dtype, 0.2, 0.9)
            for tag, s in (("int", 2), ("real", 2.5)):
                if op == "sub" and dtype == "bool":
                    continue
                if op in ("floordiv", "mod", "fmod") and dtype in ("bool", "f16", "bf16"):
                    continue
                suite.case(f"{op}/scalar_{tag}_{dtype}", op, lambda a, f=fn, s=s: f(a, s), [x],
                           {"scalar": s}, tol=kind)
    x = values("left", (5,), "f32", 0.5, 3)
    for op, fn in (("add", lambda a: 2 + a), ("sub", lambda a: 2 - a), ("mul", lambda a: 2 * a),
                   ("div", lambda a: 2 / a), ("pow", lambda a: 2**a)):
        suite.case(f"{op}/scalar_left", op, fn, [x], {"scalar": 2, "scalar_left": True},
                   tol=BINARY[op][1])
    for exponent in (0, 1, 2, 3, -1, 0.5, -0.5):
        suite.case(f"pow/exponent_{exponent}", "pow", lambda a, e=exponent: torch.pow(a, e),
                   [values("exponent", (6,), "f32", 0.25, 3)], {"scalar": exponent}, tol=LIBM)
    suite.case("pow/exponent_0_at_zero", "pow", lambda a: torch.pow(a, 0),
               [torch.tensor([0.0, -0.0, INF, NAN])], {"scalar": 0}, tol=LIBM)
    suite.case("pow/exponent_2_edges", "pow", lambda a: torch.pow(a, 2), [edges("f32")],
               {"scalar": 2}, grad=False, tol=LIBM)
    suite.case("pow/exponent_3_negative", "pow", lambda a: torch.pow(a, 3),
               [torch.tensor([-2.0, -0.5, 0.0, 3.0])], {"scalar": 3}, tol=LIBM)


def comparisons_and_logic(suite):
    for op, fn in COMPARE.items():
        for dtype in ("bool", "u8", "i32", "i64", "f16", "bf16", "f32", "f64"):
            e = edges(dtype)
            suite.case(f"{op}/edge_{dtype}", op, fn, [e.reshape(-1, 1), e.reshape(1, -1)])
        for tag, (sa, sb) in BROADCASTS.items():
            suite.case(f"{op}/{tag}", op, fn, [values(op + "a", sa, "i32", -0.3, 0.3),
                                               values(op + "b", sb, "i32", -0.3, 0.3)])
        suite.case(f"{op}/strided", op, fn, [strided(op + "a"), strided(op + "b")])
        suite.case(f"{op}/scalar", op, lambda a, f=fn: f(a, 1), [edges("f32")], {"scalar": 1})
        for dtype in ("bool", "u8", "i32", "i64"):  # a real meets an integer in f32
            suite.case(f"{op}/scalar_real_{dtype}", op, lambda a, f=fn: f(a, 1.5), [edges(dtype)],
                       {"scalar": 1.5})
    for op, fn in LOGICAL.items():
        for dtype in ("bool", "i32", "f32"):
            e = edges(dtype)
            suite.case(f"{op}/edge_{dtype}", op, fn, [e.reshape(-1, 1), e.reshape(1, -1)])
    for dtype in ("bool", "u8", "i64", "f32", "f16"):
        suite.case(f"logical_not/{dtype}", "logical_not", torch.logical_not, [edges(dtype)])
    for op, fn in BITWISE.items():
        for dtype in ("bool", "u8", "i32", "i64"):
            e = edges(dtype)
            suite.case(f"{op}/edge_{dtype}", op, fn, [e.reshape(-1, 1), e.reshape(1, -1)])
        suite.case(f"{op}/strided", op, fn, [strided(op, "i32"), strided(op + "b", "i32")])
    for dtype in ("bool", "u8", "i32", "i64"):
        suite.case(f"bitwise_not/{dtype}", "bitwise_not", torch.bitwise_not, [edges(dtype)])
    for dtype, bits in (("u8", 8), ("i32", 32), ("i64", 64)):
        amount = torch.tensor([0, 1, 2, 5, bits - 2, bits - 1], dtype=edges(dtype).dtype)
        for op, fn in (("shift_left", torch.bitwise_left_shift),
                       ("shift_right", torch.bitwise_right_shift)):
            suite.case(f"{op}/edge_{dtype}", op, fn, [edges(dtype).reshape(-1, 1), amount])
    for op, fn in (("isnan", torch.isnan), ("isinf", torch.isinf), ("isfinite", torch.isfinite)):
        for dtype in FLOATS + ("i32",):
            suite.case(f"{op}/{dtype}", op, fn, [edges(dtype)])


def where(suite):
    condition = values("where", (3, 4), "bool")
    a, b = values("where_a", (3, 4)), values("where_b", (3, 4))
    suite.case("where/f32", "where", torch.where, [condition, a, b], tol=EXACT)
    for dtype in ("bool", "u8", "i32", "i64", "f16", "bf16", "f64"):
        suite.case(f"where/{dtype}", "where", torch.where,
                   [condition, values("a", (3, 4), dtype), values("b", (3, 4), dtype)], tol=EXACT)
    suite.case("where/broadcast", "where", torch.where,
               [values("c", (3, 1), "bool"), values("a", (4,)), values("b", (2, 1, 1))], tol=EXACT)
    suite.case("where/0d", "where", torch.where,
               [torch.tensor(True), torch.tensor(2.0), torch.tensor(3.0)], tol=EXACT)
    suite.case("where/empty", "where", torch.where,
               [values("c", (0, 2), "bool"), values("a", (0, 2)), values("b", (0, 2))], tol=EXACT)
    suite.case("where/strided", "where", torch.where,
               [strided("c", "bool"), strided("wa"), strided("wb")], tol=EXACT)
    suite.case("where/nan_not_taken", "where", torch.where,
               [torch.tensor([True, False]), torch.tensor([1.0, NAN]), torch.tensor([NAN, 2.0])],
               tol=EXACT)
    suite.case("masked_fill/f32", "masked_fill", lambda x, m: x.masked_fill(m, -7.5),
               [a, condition], {"value": -7.5}, tol=EXACT)
    suite.case("masked_fill/minus_infinity", "masked_fill",
               lambda x, m: x.masked_fill(m, -INF), [a, values("c", (4,), "bool")],
               {"value": "-inf"}, tol=EXACT)


def suites():
    one, two, logic = Suite("unary"), Suite("binary"), Suite("logic")
    unary(one)
    unary_with_parameters(one)
    gradients_at_kinks(one)
    binary(two)
    binary_edges(two)
    scalars(two)
    comparisons_and_logic(logic)
    where(logic)
    return [one, two, logic]
