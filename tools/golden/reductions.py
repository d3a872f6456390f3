# SPDX-License-Identifier: MIT
"""Reductions over all axis choices, and the scans and softmaxes that contain one."""
import torch

from golden_case import (COMPOSITE, EXACT, FLOATS, INF, NAN, SUMS, In, Suite, distinct, edges, strided,
                         values)

AXES = {"all": None, "axis0": [0], "axis1": [1], "last": [-1], "outer": [0, 2], "inner": [1, 2],
        "every": [0, 1, 2]}


def over(fn):
    """fn(x, axes, keepdim) with None for all axes."""
    def run(x, axes, keepdim):
        return fn(x, list(range(x.ndim)) if axes is None else axes, keepdim)
    return run


def one_by_one(fn):
    """For functions that PyTorch offers over one axis only: apply it from the last axis on."""
    def run(x, axes, keepdim):
        for axis in sorted((a % x.ndim for a in axes), reverse=True):
            x = fn(x, axis, keepdim)
        return x
    return over(run)


def total(x, axes, keepdim):
    return torch.sum(x, axes, keepdim)


REDUCTIONS = {
    "sum": (over(total), SUMS), "mean": (over(lambda x, a, k: torch.mean(x, a, k)), SUMS),
    "prod": (one_by_one(torch.prod), COMPOSITE),
    "amax": (over(lambda x, a, k: torch.amax(x, a, k)), EXACT),
    "amin": (over(lambda x, a, k: torch.amin(x, a, k)), EXACT),
    "any": (one_by_one(torch.any), EXACT), "all": (one_by_one(torch.all), EXACT),
    "logsumexp": (over(lambda x, a, k: torch.logsumexp(x, a, k)), COMPOSITE),
}
NO_EMPTY = ("amax", "amin")  # PyTorch refuses: there is no element to name


def p(axes, keepdim=False, **more):
    return {"axes": axes, "keepdim": keepdim, **more}


def source(op, name, shape, dtype="f32"):
    if op in ("any", "all"):
        return values(op + name, shape, "bool", -1 if op == "any" else -9, 9 if op == "any" else 1)
    if op in ("amax", "amin"):
        return distinct(op + name, shape, dtype)
    return values(op + name, shape, dtype, -1.5, 1.5)


def reductions(s):
    for op, (fn, kind) in REDUCTIONS.items():
        def case(name, x, axes, keepdim=False, **more):
            s.case(f"{op}/{name}", op, lambda a: fn(a, axes, keepdim), [x], p(axes, keepdim),
                   tol=kind, **more)

        for tag, axes in AXES.items():
            case(tag, source(op, tag, (3, 4, 5)), axes)
            case(f"{tag}_keepdim", source(op, tag, (3, 4, 5)), axes, True)
        for dtype in ("f64", "f16", "bf16"):
            if op not in ("any", "all"):
                case(dtype, source(op, dtype, (4, 6), dtype), [1])
        case("strided", strided(op, "bool" if op in ("any", "all") else "f32", -1.5, 1.5)
             if op not in NO_EMPTY else In(distinct(op, (4, 6)), ("permute", [1, 0]), ("flip", [0])), [0])
        case("expanded", In(source(op, "e", (3, 1)), ("expand", [3, 4])), [1])
        case("one_element", source(op, "one", (1, 1)), [0])
        case("0d", source(op, "0d", ()), None) if op != "logsumexp" else None
        case("long", source(op, "long", (1000,)), None) if op != "prod" else None
        case("wide", source(op, "wide", (2, 257)), [1]) if op != "prod" else None
        case("tall", source(op, "tall", (129, 3)), [0]) if op != "prod" else None
        if op not in NO_EMPTY:
            case("empty_axis", source(op, "", (3, 0)), [1])
            case("empty_to_0d", source(op, "", (0,)), None)
        case("empty_result", source(op, "", (0, 3)), [1])
    integers(s)
    specials(s)


def integers(s):
    for dtype in ("bool", "u8", "i32", "i64"):
        x = values("int", (3, 4), dtype)
        s.case(f"sum/{dtype}", "sum", lambda a: a.sum([1]), [x], p([1]))
        s.case(f"prod/{dtype}", "prod", lambda a: a.prod(1), [x], p([1]))
        s.case(f"cumsum/{dtype}", "cumsum", lambda a: a.cumsum(1), [x], {"axis": 1})
        if dtype != "bool":
            s.case(f"amax/{dtype}", "amax", lambda a: a.amax([0]), [x], p([0]))
            s.case(f"amin/{dtype}", "amin", lambda a: a.amin([0]), [x], p([0]))
    s.case("sum/u8_does_not_wrap", "sum", lambda a: a.sum(), [torch.full((300,), 255, dtype=torch.uint8)],
           p(None))
    s.case("sum/i32_widens", "sum", lambda a: a.sum(),
           [torch.full((5,), 2**31 - 1, dtype=torch.int32)], p(None))
    for dtype in ("i32", "i64"):
        s.case(f"amax/edge_{dtype}", "amax", lambda a: a.amax([0]), [edges(dtype)], p([0]))
        s.case(f"amin/edge_{dtype}", "amin", lambda a: a.amin([0]), [edges(dtype)], p([0]))
    for op in ("any", "all"):
        fn = REDUCTIONS[op][0]
        for name, x in (("f32", torch.tensor([[0.0, -0.0], [NAN, 0.0], [1e-45, 2.0]])),
                        ("i32", torch.tensor([[0, 0], [0, -1], [256, 1]], dtype=torch.int32))):
            s.case(f"{op}/{name}", op, lambda a: fn(a, [1], False), [x], p([1]))


def specials(s):
    rows = torch.tensor([[1.0, INF, 2.0], [1.0, -INF, 2.0], [INF, -INF, 0.0], [NAN, 1.0, 2.0],
                         [-INF, -INF, -INF], [INF, INF, 1.0], [-0.0, 0.0, -0.0], [3e38, 3e38, 3e38]])
    for op in ("sum", "mean", "prod", "amax", "amin", "logsumexp"):
        fn, kind = REDUCTIONS[op]
        s.case(f"{op}/special_rows", op, lambda a: fn(a, [1], False), [rows], p([1]), grad=False, tol=kind)
    for op, fn in (("softmax", torch.softmax), ("log_softmax", torch.log_softmax),
                   ("cumsum", torch.cumsum)):
        s.case(f"{op}/special_rows", op, lambda a: fn(a, 1), [rows], {"axis": 1}, grad=False)
    s.case("logsumexp/large", "logsumexp", lambda a: a.logsumexp([1]),
           [torch.tensor([[1000.0, 1000.0], [-1000.0, -1001.0]], dtype=torch.float64)], p([1]))
    ties = torch.tensor([[2.0, 2.0, 1.0], [0.0, 0.0, 0.0], [-0.0, 0.0, -1.0]])
    for op, fn in (("amax", torch.amax), ("amin", torch.amin)):
        s.case(f"{op}/ties_share_the_gradient", op, lambda a: fn(a, [1]), [ties], p([1]), tol=EXACT)
    zeros = torch.tensor([[2.0, 3.0, 4.0], [0.0, 3.0, 4.0], [0.0, 0.0, 4.0], [0.0, 0.0, 0.0]])
    s.case("prod/gradient_with_zeros", "prod", lambda a: a.prod(1), [zeros], p([1]))
    s.case("prod/gradient_with_zeros_all", "prod", lambda a: a.prod(), [zeros[:2]], p(None))
    many = torch.arange(4096).remainder(7).sub(2).to(torch.float16)
    s.case("sum/f16_accumulates_in_f32", "sum", lambda a: a.sum(), [many], p(None), tol=SUMS)
    s.case("mean/f16_sum_beyond_its_range", "mean", lambda a: a.mean(),
           [torch.full((64,), 4096.0, dtype=torch.float16)], p(None), tol=SUMS)
    s.case("sum/bf16_accumulates_in_f32", "sum", lambda a: a.sum(),
           [torch.ones(1000, dtype=torch.bfloat16)], p(None), tol=SUMS)


def with_indices(s):
    for op in ("max", "min"):
        fn = getattr(torch, op)
        for axis in (0, 1, -1):
            for keepdim in (False, True):
                name = f"{op}/axis{axis}{'_keepdim' if keepdim else ''}"
                s.case(name, op, lambda a: tuple(fn(a, axis, keepdim)), [distinct(name, (3, 4, 2))],
                       {"axis": axis, "keepdim": keepdim}, tol=EXACT)
        s.case(f"{op}/ties_name_the_first", op, lambda a: tuple(fn(a, 1)),
               [torch.tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0], [0.0, 0.0, 1.0]])],
               {"axis": 1, "keepdim": False}, tol=EXACT)
        s.case(f"{op}/nan_wins", op, lambda a: tuple(fn(a, 1)),
               [torch.tensor([[1.0, NAN, 3.0], [INF, NAN, -INF]])], {"axis": 1, "keepdim": False},
               grad=False)
        s.case(f"{op}/strided", op, lambda a: tuple(fn(a, 0)),
               [In(distinct(op, (4, 6)), ("permute", [1, 0]), ("slice", 0, 1, 6, 2))],
               {"axis": 0, "keepdim": False}, tol=EXACT)
        for dtype in ("i32", "i64", "u8", "f64", "f16", "bf16"):
            x = distinct(op, (3, 5), dtype) if dtype in FLOATS else values(op, (3, 5), dtype)
            s.case(f"{op}/{dtype}", op, lambda a: tuple(fn(a, 1)), [x], {"axis": 1, "keepdim": False},
                   tol=EXACT)
    for op, fn in (("argmax", torch.argmax), ("argmin", torch.argmin)):
        x = distinct(op, (3, 4, 2))
        for axis in (None, 0, 1, -1):
            s.case(f"{op}/axis{axis}".replace("axisNone", "all"), op, lambda a: fn(a, axis), [x],
                   {"axis": axis, "keepdim": False})
        s.case(f"{op}/keepdim", op, lambda a: fn(a, 1, True), [x], {"axis": 1, "keepdim": True})
        s.case(f"{op}/ties_name_the_first", op, lambda a: fn(a, 1),
               [torch.tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0], [0.0, 0.0, 1.0]])],
               {"axis": 1, "keepdim": False})
        s.case(f"{op}/nan_wins", op, lambda a: fn(a, 1),
               [torch.tensor([[1.0, NAN, 3.0], [INF, NAN, -INF]])], {"axis": 1, "keepdim": False})
        s.case(f"{op}/0d", op, lambda a: fn(a), [torch.tensor(5.0)], {"axis": None, "keepdim": False})
        s.case(f"{op}/i64", op, lambda a: fn(a, 0), [edges("i64").reshape(3, 4)],
               {"axis": 0, "keepdim": False})
        s.case(f"{op}/wide", op, lambda a: fn(a, 1), [distinct(op + "w", (2, 300))],
               {"axis": 1, "keepdim": False})
        s.case(f"{op}/empty_result", op, lambda a: fn(a, 1), [torch.zeros(0, 3)],
               {"axis": 1, "keepdim": False})


def variances(s):
    for op, fn in (("var", torch.var), ("std", torch.std)):
        def case(name, x, axes, correction=1, keepdim=False, **more):
            s.case(f"{op}/{name}", op,
                   lambda a: fn(a, list(range(a.ndim)) if axes is None else axes, correction=correction,
                                keepdim=keepdim), [x], p(axes, keepdim, correction=correction), **more)
        for tag, axes in AXES.items():
            for correction in (0, 1):
                case(f"{tag}_correction{correction}", values(op + tag, (3, 4, 5)), axes, correction)
        case("keepdim", values(op, (3, 4)), [1], 1, True)
        for dtype in ("f64", "f16", "bf16"):
            case(dtype, values(op, (3, 6), dtype), [1])
        case("strided", strided(op), [0])
        case("one_element_is_nan", values(op, (3, 1)), [1], grad=False)
        case("one_element_correction0", values(op, (3, 1)), [1], 0, grad=False)
        case("far_from_zero", values(op, (2, 50)) + 1000, [1])
        case("empty_result", values(op, (0, 3)), [1])


def scans_and_softmax(s):
    for axis in (0, 1, 2, -2):
        s.case(f"cumsum/axis{axis}", "cumsum", lambda a: a.cumsum(axis), [values("cs", (3, 4, 2))],
               {"axis": axis}, tol=SUMS)
    for op, fn, kind in (("cumsum", torch.cumsum, SUMS), ("softmax", torch.softmax, COMPOSITE),
                         ("log_softmax", torch.log_softmax, COMPOSITE)):
        for dtype in ("f64", "f16", "bf16"):
            s.case(f"{op}/{dtype}", op, lambda a: fn(a, 1), [values(op, (3, 5), dtype)], {"axis": 1},
                   tol=kind)
        s.case(f"{op}/0d", op, lambda a: fn(a, 0), [torch.tensor(2.5)], {"axis": 0}, tol=kind)
        s.case(f"{op}/empty", op, lambda a: fn(a, 1), [torch.zeros(0, 3)], {"axis": 1}, tol=kind)
        s.case(f"{op}/strided", op, lambda a: fn(a, 1), [strided(op)], {"axis": 1}, tol=kind)
        s.case(f"{op}/wide", op, lambda a: fn(a, 1), [values(op + "w", (2, 300))], {"axis": 1}, tol=kind)
        s.case(f"{op}/one_element", op, lambda a: fn(a, 1), [values(op + "1", (2, 1))], {"axis": 1},
               tol=kind)
    for op, fn in (("softmax", torch.softmax), ("log_softmax", torch.log_softmax)):
        for axis in (0, 1, -1):
            s.case(f"{op}/axis{axis}", op, lambda a: fn(a, axis), [values(op, (3, 4, 5))], {"axis": axis})
        s.case(f"{op}/large_inputs", op, lambda a: fn(a, 1),
               [torch.tensor([[1000.0, 999.0, -1000.0], [-1000.0, -1001.0, -1002.0]])], {"axis": 1})
        s.case(f"{op}/masked", op, lambda a: fn(a, 1), [torch.tensor([[1.0, -INF, 2.0]])], {"axis": 1},
               grad=False)


def suites():
    s = Suite("reductions")
    reductions(s)
    with_indices(s)
    variances(s)
    scans_and_softmax(s)
    return [s]
