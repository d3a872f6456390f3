# SPDX-License-Identifier: MIT
"""Creation, movement, indexing: operations that move elements and compute none."""
import torch
import torch.nn.functional as F

from golden_case import DTYPES, EXACT, INF, In, Suite, distinct, slice_axis, strided, values

ALL = ("bool", "u8", "i32", "i64", "f16", "bf16", "f32", "f64")


def creation(s):
    for dtype in ALL:
        t = DTYPES[dtype]
        s.case(f"zeros/{dtype}", "zeros", lambda: torch.zeros(2, 3, dtype=t), [],
               {"shape": [2, 3], "dtype": dtype})
        s.case(f"ones/{dtype}", "ones", lambda: torch.ones(2, 3, dtype=t), [],
               {"shape": [2, 3], "dtype": dtype})
        value = {"bool": True, "u8": 200, "i32": -7, "i64": -(2**40)}.get(dtype, -1.5)
        s.case(f"full/{dtype}", "full", lambda: torch.full((2, 3), value, dtype=t), [],
               {"shape": [2, 3], "value": value, "dtype": dtype})
        if dtype != "bool":
            s.case(f"arange/{dtype}", "arange", lambda: torch.arange(1, 12, 3, dtype=t), [],
                   {"begin": 1, "end": 12, "step": 3, "dtype": dtype})
            s.case(f"eye/{dtype}", "eye", lambda: torch.eye(3, 4).to(t), [],
                   {"rows": 3, "columns": 4, "dtype": dtype})
    for name, value in (("infinity", INF), ("minus_zero", -0.0), ("nan", float("nan"))):
        s.case(f"full/{name}", "full", lambda: torch.full((3,), value), [],
               {"shape": [3], "value": value, "dtype": "f32"}, signed_zero=True)
    for shape in ([], [0], [0, 3], [1, 1, 1], [5]):
        tag = "x".join(map(str, shape)) or "0d"
        s.case(f"ones/shape_{tag}", "ones", lambda: torch.ones(shape), [],
               {"shape": shape, "dtype": "f32"})
    for tag, begin, end, step, dtype in (
            ("empty", 0, 0, 1, "i64"), ("one", 0, 1, 1, "i64"), ("negative_step", 5, -4, -2, "i64"),
            ("not_a_multiple", 0, 10, 4, "i32"), ("real", 0.0, 1.0, 0.25, "f32"),
            ("real_down", 1.0, -1.1, -0.5, "f32"), ("real_f64", 0.5, 3.0, 0.5, "f64"),
            ("long", 0, 300, 1, "i64")):
        s.case(f"arange/{tag}", "arange", lambda: torch.arange(begin, end, step, dtype=DTYPES[dtype]),
               [], {"begin": begin, "end": end, "step": step, "dtype": dtype}, tol=EXACT)
    for tag, begin, end, count in (("five", 0.0, 1.0, 5), ("one", 3.0, 7.0, 1), ("none", 0.0, 1.0, 0),
                                   ("down", 1.0, -1.0, 9), ("seven", -2.0, 5.0, 7), ("two", 0.0, 9.0, 2)):
        for dtype in ("f32", "f64"):
            s.case(f"linspace/{tag}_{dtype}", "linspace",
                   lambda: torch.linspace(begin, end, count, dtype=DTYPES[dtype]), [],
                   {"begin": begin, "end": end, "count": count, "dtype": dtype})
    for n, m in ((0, 0), (1, 1), (4, 2), (2, 5)):
        s.case(f"eye/{n}x{m}", "eye", lambda: torch.eye(n, m), [],
               {"rows": n, "columns": m, "dtype": "f32"})


def move(s, name, op, fn, shape, params, dtype="f32", **more):
    s.case(f"{op}/{name}", op, fn, [values(op + name, shape, dtype)], params, tol=EXACT, **more)


def movement(s):
    for name, shape, to in (("merge", (2, 3, 4), [6, 4]), ("split", (6, 4), [2, 3, 2, 2]),
                            ("minus_one", (2, 3, 4), [4, -1]), ("to_0d", (1, 1), []),
                            ("from_0d", (), [1, 1, 1]), ("empty", (0, 3), [3, 0, 2]),
                            ("same", (2, 3), [2, 3]), ("ones", (2, 3), [1, 2, 1, 3, 1]),
                            ("regroup", (4, 6), [3, 8])):
        move(s, name, "reshape", lambda x: x.reshape(to), shape, {"shape": to})
    s.case("reshape/strided", "reshape", lambda x: x.reshape(2, 6), [strided("reshape")],
           {"shape": [2, 6]}, tol=EXACT)
    s.case("reshape/expanded", "reshape", lambda x: x.reshape(6, 2),
           [In(values("r", (3, 1)), ("expand", [3, 4]))], {"shape": [6, 2]}, tol=EXACT)
    for name, shape, axes in (("3d", (2, 3, 4), [2, 0, 1]), ("negative", (2, 3, 4), [-1, 0, -2]),
                              ("identity", (2, 3), [0, 1]), ("0d", (), []), ("empty", (0, 2), [1, 0]),
                              ("5d", (2, 1, 3, 2, 2), [4, 2, 0, 3, 1])):
        move(s, name, "permute", lambda x: x.permute(axes), shape, {"axes": axes})
    for a, b in ((0, 1), (-1, -2), (0, 2), (1, 1)):
        move(s, f"{a}_{b}", "transpose", lambda x: x.transpose(a, b), (2, 3, 4), {"a": a, "b": b})
    for name, shape, to in (("column", (3, 1), [3, 4]), ("lead", (3,), [2, 3]), ("0d", (), [2, 2]),
                            ("keep", (3, 1), [2, -1, 4]), ("to_empty", (1, 3), [0, 3]),
                            ("same", (2, 3), [2, 3]), ("both", (1, 2, 1), [3, 2, 4])):
        move(s, name, "expand", lambda x: x.expand(to), shape, {"shape": to})
    for name, shape, amounts, value in (
            ("one_axis", (3,), [[1, 2]], 0.0), ("two_axes", (2, 3), [[1, 0], [0, 2]], -1.5),
            ("nothing", (2, 3), [[0, 0], [0, 0]], 0.0), ("empty_grows", (0, 2), [[1, 1], [0, 0]], 7.0),
            ("minus_infinity", (2, 2), [[1, 1], [1, 1]], -INF), ("3d", (2, 1, 2), [[0, 1], [2, 0], [1, 1]], 0.0)):
        flat = [n for pair in reversed(amounts) for n in pair]
        move(s, name, "pad", lambda x: F.pad(x, flat, value=value), shape,
             {"padding": amounts, "value": value})
    s.case("pad/i64", "pad", lambda x: F.pad(x, (1, 2), value=-3), [values("padi", (2, 2), "i64")],
           {"padding": [[0, 0], [1, 2]], "value": -3}, tol=EXACT)
    s.case("pad/strided", "pad", lambda x: F.pad(x, (1, 0, 0, 1)), [strided("pads")],
           {"padding": [[0, 1], [1, 0]], "value": 0}, tol=EXACT)
    for name, shape, ranges in (("2d", (4, 5), [[1, 3], [0, 4]]), ("to_empty", (3, 2), [[2, 2], [0, 2]]),
                                ("all", (3,), [[0, 3]]), ("one", (3, 3), [[1, 2], [2, 3]])):
        move(s, name, "shrink", lambda x: x[tuple(slice(*r) for r in ranges)], shape,
             {"ranges": ranges})
    for name, shape, axes in (("0", (3, 2), [0]), ("both", (3, 2), [0, 1]), ("negative", (2, 3, 2), [-1]),
                              ("empty", (0, 2), [0]), ("0d", (), [])):
        move(s, name, "flip", lambda x: x.flip(axes), shape, {"axes": axes})
    for axis, begin, end, step in ((0, 1, 3, 1), (1, None, None, 2), (1, -3, None, 1), (0, None, -1, 1),
                                   (1, 4, 1, -1), (1, None, None, -1), (1, None, None, -2),
                                   (0, 3, 1, 1), (0, -100, 100, 1), (1, 1, None, 3), (-1, 0, 5, 2),
                                   (0, 100, -100, -3)):
        name = f"axis{axis}_{begin}_{end}_{step}".replace("None", "open")
        move(s, name, "slice", lambda x: slice_axis(x, axis, begin, end, step), (4, 5),
             {"axis": axis, "begin": begin, "end": end, "step": step})
    for axis, index in ((0, 1), (1, -1), (-1, 0), (2, 3)):
        move(s, f"axis{axis}_{index}", "select", lambda x: x.select(axis, index), (2, 3, 4),
             {"axis": axis, "index": index})
    squeeze_and_friends(s)
    joins(s)
    triangles(s)


def squeeze_and_friends(s):
    move(s, "all", "squeeze", lambda x: x.squeeze(), (1, 3, 1, 2), {})
    move(s, "all_to_0d", "squeeze", lambda x: x.squeeze(), (1, 1), {})
    for axis in (0, 2, -2, 1):
        move(s, f"axis{axis}", "squeeze", lambda x: x.squeeze(axis), (1, 3, 1, 2), {"axis": axis})
    for axis in (0, 1, 2, -1, -3):
        move(s, f"axis{axis}", "unsqueeze", lambda x: x.unsqueeze(axis), (2, 3), {"axis": axis})
    move(s, "0d", "unsqueeze", lambda x: x.unsqueeze(0), (), {"axis": 0})
    for first, last in ((0, -1), (1, -1), (0, 1), (1, 2), (2, 2)):
        move(s, f"{first}_{last}", "flatten", lambda x: x.flatten(first, last), (2, 3, 2, 2),
             {"first": first, "last": last})
    move(s, "0d", "flatten", lambda x: x.flatten(), (), {"first": 0, "last": -1})
    move(s, "empty", "flatten", lambda x: x.flatten(), (2, 0, 3), {"first": 0, "last": -1})
    move(s, "axis1", "unflatten", lambda x: x.unflatten(1, (2, 3)), (2, 6, 2),
         {"axis": 1, "shape": [2, 3]})
    move(s, "axis-1", "unflatten", lambda x: x.unflatten(-1, (2, 1, 2)), (3, 4),
         {"axis": -1, "shape": [2, 1, 2]})
    for name, shape, times in (("1d", (3,), [2]), ("2d", (2, 3), [2, 3]), ("lead", (3,), [2, 1, 2]),
                               ("zero", (2, 3), [0, 1]), ("0d", (), [3]), ("ones", (2, 3), [1, 1])):
        move(s, name, "repeat", lambda x: x.repeat(times), shape, {"times": times})
    for axis in (0, 1, -1):
        move(s, f"axis{axis}", "repeat_interleave", lambda x: x.repeat_interleave(3, axis), (2, 3),
             {"times": 3, "axis": axis})
    for shift, axis in ((1, 0), (-2, 1), (7, 1), (0, 0)):
        move(s, f"{shift}_axis{axis}", "roll", lambda x: x.roll(shift, axis), (3, 4),
             {"shift": shift, "axis": axis})
    for axis, size, step in ((0, 3, 1), (0, 2, 2), (1, 3, 2), (-1, 4, 1)):
        move(s, f"axis{axis}_{size}_{step}", "unfold", lambda x: x.unfold(axis, size, step), (5, 4),
             {"axis": axis, "size": size, "step": step})
    for shape in ((3, 3), (2, 4), (4, 2)):
        move(s, "x".join(map(str, shape)), "diagonal", lambda x: x.diagonal(), shape, {})
    move(s, "batch", "diagonal", lambda x: x.diagonal(dim1=-2, dim2=-1), (2, 3, 3), {})


def joins(s):
    def join(name, op, fn, shapes, params, dtypes=None):
        dtypes = dtypes or ["f32"] * len(shapes)
        xs = [values(f"{op}{name}{i}", sh, d) for i, (sh, d) in enumerate(zip(shapes, dtypes))]
        s.case(f"{op}/{name}", op, lambda *a: fn(a), xs, params, tol=EXACT)

    for name, shapes, axis in (("rows", [(2, 3), (1, 3), (3, 3)], 0), ("columns", [(2, 3), (2, 1)], 1),
                               ("negative_axis", [(2, 3), (2, 2)], -1), ("one", [(2, 3)], 0),
                               ("with_empty", [(2, 3), (0, 3)], 0), ("all_empty", [(0, 3), (0, 3)], 0),
                               ("1d", [(3,), (2,)], 0)):
        join(name, "cat", lambda a: torch.cat(a, axis), shapes, {"axis": axis})
    join("promotes", "cat", lambda a: torch.cat(a), [(2,), (3,)], {"axis": 0}, ["i32", "f32"])
    join("bools", "cat", lambda a: torch.cat(a), [(2,), (3,)], {"axis": 0}, ["bool", "bool"])
    s.case("cat/strided", "cat", lambda a, b: torch.cat((a, b), 1), [strided("c1"), strided("c2")],
           {"axis": 1}, tol=EXACT)
    s.case("cat/same_operand", "cat", lambda a: torch.cat((a, a)), [values("cs", (2, 2))],
           {"axis": 0, "same_operand": True}, tol=EXACT)
    for name, shapes, axis in (("0", [(2, 3), (2, 3)], 0), ("last", [(2, 3), (2, 3)], -1),
                               ("middle", [(2, 3)] * 3, 1), ("0d", [(), ()], 0), ("empty", [(0,), (0,)], 0)):
        join(name, "stack", lambda a: torch.stack(a, axis), shapes, {"axis": axis})
    for name, sizes, axis in (("even", 2, 0), ("rest", 3, 0), ("axis1", 2, 1), ("larger", 9, 0),
                              ("sizes", [1, 3, 0], 0)):
        move(s, name, "split", lambda x: torch.split(x, sizes, axis), (4, 4),
             {"sizes": sizes, "axis": axis} if isinstance(sizes, list) else {"size": sizes, "axis": axis})
    for name, count, axis in (("even", 2, 0), ("uneven", 3, 1), ("more_than_there_are", 7, 0)):
        move(s, name, "chunk", lambda x: torch.chunk(x, count, axis), (4, 5),
             {"count": count, "axis": axis})


def triangles(s):
    for op, fn in (("tril", torch.tril), ("triu", torch.triu)):
        for shape in ((3, 3), (2, 4), (4, 2), (2, 3, 3), (0, 3)):
            for diagonal in (0, 1, -1):
                name = "x".join(map(str, shape)) + f"_{diagonal}"
                move(s, name, op, lambda x: fn(x, diagonal), shape, {"diagonal": diagonal})
        move(s, "i64", op, lambda x: fn(x), (3, 3), {"diagonal": 0}, "i64")
        s.case(f"{op}/infinities_vanish", op, lambda x: fn(x), [torch.full((3, 3), -INF)],
               {"diagonal": 0}, tol=EXACT)


def picks(name, shape, limit, dtype=torch.int64):
    return values(name, shape, "f64", 0, limit - 0.01).floor().to(dtype)


def indexing(s):
    x = values("index", (5, 4, 3))
    for axis in (0, 1, 2, -1):
        i = picks(f"take{axis}", (6,), x.shape[axis])
        s.case(f"take/axis{axis}", "take", lambda a, i: a.index_select(axis, i), [x, i],
               {"axis": axis}, tol=EXACT)
    i2 = picks("take2d", (2, 3), 5)
    s.case("take/index_2d", "take", lambda a, i: a[i], [x, i2], {"axis": 0}, tol=EXACT)
    s.case("take/index_i32", "take", lambda a, i: a.index_select(0, i), [x, picks("t", (3,), 5, torch.int32)],
           {"axis": 0}, tol=EXACT)
    s.case("take/index_empty", "take", lambda a, i: a[i], [x, torch.zeros(0, dtype=torch.int64)],
           {"axis": 0}, tol=EXACT)
    s.case("take/index_0d", "take", lambda a, i: a[i], [x, torch.tensor(3)], {"axis": 0}, tol=EXACT)
    s.case("take/repeats_add_gradients", "take", lambda a, i: a[i],
           [values("rep", (3, 2)), torch.tensor([1, 1, 1, 0])], {"axis": 0}, tol=EXACT)
    s.case("take/strided", "take", lambda a, i: a[i], [strided("take"), torch.tensor([2, 0])],
           {"axis": 0}, tol=EXACT)
    for dtype in ("bool", "u8", "i64", "f16", "bf16", "f64"):
        s.case(f"take/{dtype}", "take", lambda a, i: a[i], [values("td", (5, 2), dtype), i2],
               {"axis": 0}, tol=EXACT)
    for axis in (0, 1, -1):
        n = x.shape[axis]
        shape = [3, 4, 3] if axis == 0 else [5, 2, 3] if axis == 1 else [5, 4, 5]
        s.case(f"gather/axis{axis}", "gather", lambda a, i: a.gather(axis, i),
               [x, picks(f"g{axis}", shape, n)], {"axis": axis}, tol=EXACT)
    s.case("gather/smaller_index", "gather", lambda a, i: a.gather(1, i),
           [values("gs", (4, 5)), picks("gsi", (2, 3), 5)], {"axis": 1}, tol=EXACT)
    s.case("gather/empty", "gather", lambda a, i: a.gather(0, i),
           [values("ge", (4,)), torch.zeros(0, dtype=torch.int64)], {"axis": 0}, tol=EXACT)
    s.case("gather/strided", "gather", lambda a, i: a.gather(1, i),
           [strided("gst"), picks("gsti", (3, 2), 4)], {"axis": 1}, tol=EXACT)
    numpy_like(s)
    scatters(s)
    for dtype in ("i64",):
        for name, i in (("1d", torch.tensor([2, 0, 1, 1])), ("2d", torch.tensor([[0, 3], [3, 1]])),
                        ("0d", torch.tensor(2)), ("empty", torch.zeros(0, dtype=torch.int64))):
            s.case(f"one_hot/{name}", "one_hot", lambda a: F.one_hot(a, 4), [i], {"classes": 4})
    table = values("embedding", (7, 3))
    for name, i in (("1d", picks("e1", (4,), 7)), ("2d", picks("e2", (2, 3), 7)),
                    ("0d", torch.tensor(6)), ("empty", torch.zeros((0, 2), dtype=torch.int64)),
                    ("repeats", torch.tensor([3, 3, 3]))):
        s.case(f"embedding/{name}", "embedding", lambda i, w: F.embedding(i, w), [i, table], tol=EXACT)
    for dtype in ("f16", "bf16", "f64"):
        s.case(f"embedding/{dtype}", "embedding", lambda i, w: F.embedding(i, w),
               [torch.tensor([1, 0, 2]), values("e", (3, 2), dtype)], tol=EXACT)


def numpy_like(s):
    """x.at({...}): an index list of numbers, slices, new axes, one ellipsis, index tensors."""
    x = values("at", (4, 5, 6))
    i, j = torch.tensor([0, 3, -1]), torch.tensor([[1], [2], [0]])
    mask_free = [
        ("int", [1], lambda a: a[1]), ("negative_int", [-1, 2], lambda a: a[-1, 2]),
        ("slice", [["slice", 1, 3, 1]], lambda a: a[1:3]),
        ("ellipsis_int", [["ellipsis"], 0], lambda a: a[..., 0]),
        ("newaxis", [["newaxis"], 1, ["newaxis"]], lambda a: a[None, 1, None]),
        ("mixed", [["slice", None, None, 2], 3, ["slice", -2, None, 1]], lambda a: a[::2, 3, -2:]),
        ("middle_ellipsis", [2, ["ellipsis"], ["slice", None, -1, 1]], lambda a: a[2, ..., :-1]),
        ("all_ints", [1, 2, 3], lambda a: a[1, 2, 3]), ("empty_slice", [["slice", 2, 2, 1]], lambda a: a[2:2]),
    ]
    for name, index, fn in mask_free:
        s.case(f"at/{name}", "at", fn, [x], {"index": index}, tol=EXACT)
    s.case("at/tensor", "at", lambda a, i: a[i], [x, i], {"index": [["tensor", 1]]}, tol=EXACT)
    s.case("at/two_tensors", "at", lambda a, i, j: a[i, j], [x, i, j],
           {"index": [["tensor", 1], ["tensor", 2]]}, tol=EXACT)
    s.case("at/tensor_on_axis_1", "at", lambda a, i: a[:, i], [x, i],
           {"index": [["slice", None, None, 1], ["tensor", 1]]}, tol=EXACT)
    s.case("at/tensors_around_a_slice", "at", lambda a, i, j: a[i, :, j], [x, i, i.clone()],
           {"index": [["tensor", 1], ["slice", None, None, 1], ["tensor", 2]]}, tol=EXACT)
    s.case("at/tensor_and_int", "at", lambda a, i: a[i, 2], [x, i], {"index": [["tensor", 1], 2]},
           tol=EXACT)


def scatters(s):
    x = values("scatter", (4, 3))
    for axis in (0, 1):
        index = torch.stack([torch.randperm(4, generator=torch.Generator().manual_seed(k))[:2]
                             for k in range(3)], 1) if axis == 0 else torch.tensor(
                                 [[2, 0], [0, 1], [1, 2], [2, 1]])
        source = values(f"source{axis}", tuple(index.shape))
        s.case(f"scatter/axis{axis}", "scatter", lambda a, i, b: a.scatter(axis, i, b),
               [x, index, source], {"axis": axis}, tol=EXACT)
        s.case(f"scatter/value_axis{axis}", "scatter", lambda a, i: a.scatter(axis, i, 9.5),
               [x, index], {"axis": axis, "value": 9.5}, tol=EXACT)
        s.case(f"scatter_add/axis{axis}", "scatter_add", lambda a, i, b: a.scatter_add(axis, i, b),
               [x, index, source], {"axis": axis}, tol="composite")
    repeats = torch.tensor([[0, 0, 1], [0, 2, 1]])
    for dtype in ("f32", "f64", "i32", "i64"):
        s.case(f"scatter_add/repeats_{dtype}", "scatter_add", lambda a, i, b: a.scatter_add(0, i, b),
               [values("sr", (4, 3), dtype), repeats, values("srs", (2, 3), dtype)], {"axis": 0})
    s.case("scatter_add/empty", "scatter_add", lambda a, i, b: a.scatter_add(0, i, b),
           [values("se", (3,)), torch.zeros(0, dtype=torch.int64), values("ses", (0,))], {"axis": 0})
    s.case("scatter_add/larger_source", "scatter_add", lambda a, i, b: a.scatter_add(0, i, b),
           [values("sl", (3,)), torch.tensor([2, 2]), values("sls", (4,))], {"axis": 0},
           grad=False)  # PyTorch has no gradient here


def suites():
    first, second, third = Suite("creation"), Suite("movement"), Suite("indexing")
    creation(first)
    movement(second)
    indexing(third)
    return [first, second, third]
