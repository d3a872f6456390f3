# SPDX-License-Identifier: MIT
"""Matrix products, convolutions, pools, normalisations, losses."""
import torch
import torch.nn.functional as F

from golden_case import COMPOSITE, EXACT, INF, NAN, SUMS, In, Suite, distinct, strided, values


def matmul(s):
    shapes = {"dot": ((3,), (3,)), "matrix_vector": ((2, 3), (3,)), "vector_matrix": ((3,), (3, 4)),
              "2d": ((2, 3), (3, 4)), "batched": ((5, 2, 3), (5, 3, 4)),
              "broadcast": ((5, 1, 2, 3), (4, 3, 2)), "left_2d": ((2, 3), (5, 3, 4)),
              "right_2d": ((5, 2, 3), (3, 4)), "batch_vector": ((5, 2, 3), (3,)),
              "vector_batch": ((3,), (5, 3, 2)), "one": ((1, 1), (1, 1)), "inner_1": ((3, 1), (1, 4)),
              "inner_0": ((2, 0), (0, 3)), "rows_0": ((0, 3), (3, 2)), "batch_0": ((0, 2, 3), (0, 3, 2)),
              "dot_0": ((0,), (0,)), "odd": ((33, 47), (47, 29)), "tile": ((32, 64), (64, 16)),
              "thin": ((1, 100), (100, 3)), "deep": ((3, 500), (500, 2))}
    for name, (a, b) in shapes.items():
        s.case(f"matmul/{name}", "matmul", torch.matmul, [values(name + "a", a), values(name + "b", b)],
               tol=SUMS)
    for dtype in ("f64", "f16", "bf16"):
        s.case(f"matmul/{dtype}", "matmul", torch.matmul,
               [values("a", (5, 7), dtype), values("b", (7, 4), dtype)], tol=SUMS)
    for dtype in ("u8", "i32", "i64"):
        s.case(f"matmul/{dtype}", "matmul", torch.matmul,
               [values("a", (5, 7), dtype, -1, 1), values("b", (7, 4), dtype, -1, 1)])
    s.case("matmul/transposed_left", "matmul", torch.matmul,
           [In(values("tl", (3, 4)), ("permute", [1, 0])), values("tlb", (3, 2))], tol=SUMS)
    s.case("matmul/transposed_right", "matmul", torch.matmul,
           [values("tr", (4, 3)), In(values("trb", (2, 3)), ("permute", [1, 0]))], tol=SUMS)
    s.case("matmul/strided", "matmul", torch.matmul,
           [strided("ms"), In(values("msb", (4, 5)), ("flip", [0]))], tol=SUMS)
    s.case("matmul/itself", "matmul", lambda a: a @ a, [values("self", (4, 4))],
           {"same_operand": True}, tol=SUMS)
    s.case("matmul/special", "matmul", torch.matmul,
           [torch.tensor([[1.0, INF], [0.0, NAN], [-INF, 1.0]]), torch.tensor([[1.0, 0.0], [2.0, 1.0]])],
           grad=False)
    for name, x, w, bias in (("bias", (3, 4), (5, 4), True), ("no_bias", (3, 4), (5, 4), False),
                             ("3d", (2, 3, 4), (5, 4), True), ("1d", (4,), (5, 4), True),
                             ("empty", (0, 4), (5, 4), True), ("digits", (8, 64), (10, 64), True)):
        xs = [values(name + "x", x), values(name + "w", w)] + ([values(name + "b", w[:1])] if bias else [])
        s.case(f"linear/{name}", "linear", F.linear, xs, tol=SUMS)
    for dtype in ("f64", "f16", "bf16"):
        s.case(f"linear/{dtype}", "linear", F.linear,
               [values("x", (3, 4), dtype), values("w", (5, 4), dtype), values("b", (5,), dtype)], tol=SUMS)


def conv(s):
    def case(name, x, w, bias=True, dtype="f32", stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1,
             view=None):
        operand = values(name + "x", x, dtype) if view is None else view
        xs = [operand, values(name + "w", w, dtype, -1, 1)]
        if bias:
            xs.append(values(name + "b", w[:1], dtype))
        s.case(f"conv2d/{name}", "conv2d",
               lambda *a: F.conv2d(*a, stride=stride, padding=padding, dilation=dilation, groups=groups)
               if bias else F.conv2d(*a, None, stride, padding, dilation, groups), xs,
               {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}, tol=SUMS)

    case("plain", (2, 3, 6, 5), (4, 3, 3, 3))
    case("no_bias", (2, 3, 6, 5), (4, 3, 3, 3), bias=False)
    case("1x1", (2, 3, 4, 4), (5, 3, 1, 1))
    case("stride2", (1, 2, 7, 7), (3, 2, 3, 3), stride=(2, 2))
    case("stride2_pad1", (1, 2, 8, 7), (3, 2, 3, 3), stride=(2, 2), padding=(1, 1))
    case("pad1", (2, 2, 5, 5), (3, 2, 3, 3), padding=(1, 1))
    case("pad_beyond_kernel", (1, 1, 3, 3), (1, 1, 2, 2), padding=(3, 2))
    case("dilation2", (1, 2, 8, 8), (2, 2, 3, 3), dilation=(2, 2))
    case("dilation_pad_stride", (1, 2, 9, 8), (2, 2, 3, 2), stride=(2, 1), padding=(2, 1), dilation=(2, 3))
    case("not_square", (1, 2, 6, 9), (2, 2, 2, 4), stride=(1, 3), padding=(1, 0))
    case("groups2", (2, 4, 5, 5), (6, 2, 3, 3), groups=2)
    case("depthwise", (1, 4, 5, 5), (4, 1, 3, 3), groups=4, padding=(1, 1))
    case("depthwise_times_2", (1, 3, 5, 5), (6, 1, 2, 2), groups=3)
    case("kernel_is_image", (2, 3, 4, 4), (5, 3, 4, 4))
    case("one_pixel", (1, 1, 1, 1), (1, 1, 1, 1))
    case("5x5", (1, 1, 12, 12), (4, 1, 5, 5))
    case("digits", (4, 1, 8, 8), (8, 1, 3, 3), padding=(1, 1))
    case("wide_channels", (1, 16, 6, 6), (16, 16, 3, 3))
    case("batch_0", (0, 2, 4, 4), (3, 2, 3, 3))
    case("rows_skipped_by_stride", (1, 1, 6, 6), (1, 1, 3, 3), stride=(2, 2))
    case("stride_beyond_kernel", (1, 1, 9, 9), (1, 1, 2, 2), stride=(3, 4))
    for dtype in ("f64", "f16", "bf16"):
        case(dtype, (1, 2, 5, 5), (3, 2, 3, 3), dtype=dtype, padding=(1, 1))
    case("strided", None, (3, 2, 2, 2),
         view=In(values("cv", (2, 5, 6, 2)), ("permute", [0, 3, 1, 2]), ("flip", [3])))


def pools(s):
    def case(op, fn, name, x, params, kind):
        s.case(f"{op}/{name}", op, fn, [x], params, tol=kind)

    for name, shape, kernel, stride, padding in (
            ("2x2", (2, 3, 6, 6), (2, 2), (2, 2), (0, 0)), ("3x3_stride1", (1, 2, 5, 5), (3, 3), (1, 1), (0, 0)),
            ("overlap", (1, 1, 7, 7), (3, 3), (2, 2), (0, 0)), ("pad1", (1, 2, 5, 6), (3, 3), (2, 2), (1, 1)),
            ("not_square", (1, 2, 6, 5), (3, 2), (2, 1), (1, 0)), ("rest_dropped", (1, 1, 5, 5), (2, 2), (2, 2), (0, 0)),
            ("whole_image", (2, 2, 3, 4), (3, 4), (3, 4), (0, 0)), ("gaps", (1, 1, 7, 7), (2, 2), (3, 3), (0, 0)),
            ("batch_0", (0, 2, 4, 4), (2, 2), (2, 2), (0, 0)), ("1x1", (1, 1, 3, 3), (1, 1), (1, 1), (0, 0))):
        p = {"kernel": kernel, "stride": stride, "padding": padding}
        case("max_pool2d", lambda x: F.max_pool2d(x, kernel, stride, padding), name,
             distinct(name, shape), {**p, "dilation": (1, 1)}, EXACT)
        for include in (True, False):
            tag = "" if include else "_without_pad"
            case("avg_pool2d", lambda x: F.avg_pool2d(x, kernel, stride, padding, count_include_pad=include),
                 name + tag, values(name, shape), {**p, "count_include_pad": include}, COMPOSITE)
    case("max_pool2d", lambda x: F.max_pool2d(x, 2, 1, 0, (2, 3)), "dilation", distinct("d", (1, 1, 6, 7)),
         {"kernel": (2, 2), "stride": (1, 1), "padding": (0, 0), "dilation": (2, 3)}, EXACT)
    p = {"kernel": (2, 2), "stride": (2, 2), "padding": (0, 0)}
    view = In(distinct("pv", (1, 6, 4, 2)), ("permute", [0, 3, 1, 2]), ("flip", [2]))
    case("max_pool2d", lambda x: F.max_pool2d(x, 2), "strided", view, {**p, "dilation": (1, 1)}, EXACT)
    case("avg_pool2d", lambda x: F.avg_pool2d(x, 2), "strided", view, {**p, "count_include_pad": True}, COMPOSITE)
    case("max_pool2d", lambda x: F.max_pool2d(x, 2), "ties_go_to_the_first", torch.zeros(1, 1, 4, 4),
         {**p, "dilation": (1, 1)}, EXACT)
    case("max_pool2d", lambda x: F.max_pool2d(x, 2, 2, 1), "pad_of_negatives", -distinct("n", (1, 1, 3, 3)).abs() - 1,
         {"kernel": (2, 2), "stride": (2, 2), "padding": (1, 1), "dilation": (1, 1)}, EXACT)
    case("max_pool2d", lambda x: F.max_pool2d(x, 2), "all_minus_infinity", torch.full((1, 1, 2, 2), -INF),
         {**p, "dilation": (1, 1)}, EXACT)
    for dtype in ("f64", "f16", "bf16"):
        case("max_pool2d", lambda x: F.max_pool2d(x, 2), dtype, distinct("t", (1, 2, 4, 4), dtype),
             {**p, "dilation": (1, 1)}, EXACT)
        case("avg_pool2d", lambda x: F.avg_pool2d(x, 2), dtype, values("t", (1, 2, 4, 4), dtype),
             {**p, "count_include_pad": True}, COMPOSITE)


def norms(s):
    def batch(name, shape, training, affine=True, dtype="f32", momentum=0.1, epsilon=1e-5):
        c = shape[1]
        xs = [values(name + "x", shape, dtype), values(name + "m", (c,), dtype, -0.5, 0.5),
              values(name + "v", (c,), dtype, 0.5, 2)]
        if affine:
            xs += [values(name + "w", (c,), dtype, 0.5, 2), values(name + "b", (c,), dtype)]

        def fn(x, mean, variance, weight=None, bias=None):
            mean, variance = mean.detach().clone(), variance.detach().clone()
            y = F.batch_norm(x, mean, variance, weight, bias, training, momentum, epsilon)
            return (y, mean, variance) if training else y

        s.case(f"batch_norm/{name}", "batch_norm", fn, xs,
               {"training": training, "momentum": momentum, "epsilon": epsilon, "affine": affine}, tol=SUMS)

    batch("train", (4, 3, 2, 2), True)
    batch("train_2d", (6, 3), True)
    batch("train_not_affine", (4, 3, 2, 2), True, False)
    batch("train_momentum", (4, 2, 3), True, momentum=0.3, epsilon=1e-3)
    batch("train_one_image", (1, 3, 4, 4), True)
    batch("train_f64", (4, 3, 2, 2), True, dtype="f64")
    batch("eval", (4, 3, 2, 2), False)
    batch("eval_2d", (5, 3), False)
    batch("eval_not_affine", (2, 3, 2, 2), False, False)
    batch("eval_f64", (4, 3, 2, 2), False, dtype="f64")
    batch("eval_bf16", (4, 3, 2, 2), False, dtype="bf16")
    batch("eval_batch_0", (0, 3, 2, 2), False)

    def layer(name, shape, axes, affine=True, dtype="f32", epsilon=1e-5, view=None):
        normalized = list(shape[-axes:])
        xs = [values(name + "x", shape, dtype) if view is None else view]
        if affine:
            xs += [values(name + "w", normalized, dtype, 0.5, 2), values(name + "b", normalized, dtype)]
        s.case(f"layer_norm/{name}", "layer_norm",
               lambda x, w=None, b=None: F.layer_norm(x, normalized, w, b, epsilon), xs,
               {"shape": normalized, "epsilon": epsilon}, tol=SUMS)

    layer("last", (4, 6), 1)
    layer("last_two", (2, 3, 4), 2)
    layer("not_affine", (3, 5), 1, False)
    layer("epsilon", (3, 5), 1, epsilon=0.1)
    layer("1d", (7,), 1)
    layer("wide", (2, 130), 1)
    layer("empty", (0, 4), 1)
    layer("constant_row", (2, 4), 1, view=torch.full((2, 4), 3.0))
    layer("strided", (3, 4), 1, view=strided("ln"))
    for dtype in ("f64", "f16", "bf16"):
        layer(dtype, (3, 6), 1, dtype=dtype)


REDUCE = ("mean", "sum", "none")


def losses(s):
    logits, target = values("logits", (6, 5)), torch.tensor([0, 4, 2, 2, 1, 3])
    for reduction in REDUCE:
        for smoothing in (0.0, 0.1):
            s.case(f"cross_entropy/{reduction}_{smoothing}", "cross_entropy",
                   lambda x, t: F.cross_entropy(x, t, reduction=reduction, label_smoothing=smoothing),
                   [logits, target],
                   {"reduction": reduction, "label_smoothing": smoothing, "ignore_index": -100})
        ignoring = torch.tensor([0, -100, 2, -100, 1, 3])
        for smoothing in (0.0, 0.2):
            s.case(f"cross_entropy/ignore_{reduction}_{smoothing}", "cross_entropy",
                   lambda x, t: F.cross_entropy(x, t, reduction=reduction, label_smoothing=smoothing),
                   [logits, ignoring],
                   {"reduction": reduction, "label_smoothing": smoothing, "ignore_index": -100})
        s.case(f"cross_entropy/ignore_class_2_{reduction}", "cross_entropy",
               lambda x, t: F.cross_entropy(x, t, reduction=reduction, ignore_index=2), [logits, target],
               {"reduction": reduction, "label_smoothing": 0.0, "ignore_index": 2})
        s.case(f"nll_loss/{reduction}", "nll_loss",
               lambda x, t: F.nll_loss(x, t, reduction=reduction), [logits, target],
               {"reduction": reduction, "ignore_index": -100})
        s.case(f"nll_loss/ignore_{reduction}", "nll_loss",
               lambda x, t: F.nll_loss(x, t, reduction=reduction), [logits, ignoring],
               {"reduction": reduction, "ignore_index": -100})
        for op, fn in (("mse_loss", F.mse_loss), ("l1_loss", F.l1_loss)):
            s.case(f"{op}/{reduction}", op, lambda x, t: fn(x, t, reduction=reduction),
                   [values(op, (3, 4)), values(op + "t", (3, 4))], {"reduction": reduction})
            s.case(f"{op}/empty_{reduction}", op, lambda x, t: fn(x, t, reduction=reduction),
                   [torch.zeros(0, 2), torch.zeros(0, 2)], {"reduction": reduction}, grad=False)
        s.case(f"bce_with_logits/{reduction}", "bce_with_logits",
               lambda x, t: F.binary_cross_entropy_with_logits(x, t, reduction=reduction),
               [values("bce", (3, 4)), values("bcet", (3, 4), "f32", 0, 1)], {"reduction": reduction})
    plain = {"reduction": "mean", "label_smoothing": 0.0, "ignore_index": -100}
    s.case("cross_entropy/large_logits", "cross_entropy", F.cross_entropy,
           [torch.tensor([[1000.0, -1000.0, 0.0], [-500.0, 500.0, 499.0]]), torch.tensor([1, 2])], plain)
    s.case("cross_entropy/images", "cross_entropy", F.cross_entropy,
           [values("img", (2, 3, 2, 2)), torch.tensor([[[0, 1], [2, 1]], [[2, 2], [0, 1]]])], plain)
    s.case("cross_entropy/one_row_without_batch", "cross_entropy", F.cross_entropy,
           [values("1row", (5,)), torch.tensor(3)], plain)
    s.case("cross_entropy/strided", "cross_entropy", F.cross_entropy,
           [strided("ces"), torch.tensor([3, 0, 1])], plain)
    s.case("cross_entropy/all_ignored_is_nan", "cross_entropy", F.cross_entropy,
           [values("ign", (2, 3)), torch.tensor([-100, -100])], plain, grad=False)
    for dtype in ("f64", "f16", "bf16"):
        s.case(f"cross_entropy/{dtype}", "cross_entropy", F.cross_entropy,
               [values("ce", (4, 5), dtype), torch.tensor([0, 4, 2, 1])], plain)
    s.case("bce_with_logits/far_out", "bce_with_logits", F.binary_cross_entropy_with_logits,
           [torch.tensor([100.0, -100.0, 50.0, -1000.0]), torch.tensor([1.0, 0.0, 0.0, 1.0])],
           {"reduction": "mean"})
    s.case("l1_loss/gradient_where_equal", "l1_loss", F.l1_loss,
           [torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0])], {"reduction": "mean"})


def suites():
    linear, images, rest = Suite("matmul"), Suite("images"), Suite("losses_norms")
    matmul(linear)
    conv(images)
    pools(images)
    norms(rest)
    losses(rest)
    return [linear, images, rest]
