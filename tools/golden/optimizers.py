# SPDX-License-Identifier: MIT
"""Optimizer steps: parameters after each of five steps with given gradients."""
import torch

from golden_case import SUMS, Suite, values

STEPS = 5
SGD = {"plain": {}, "momentum": {"momentum": 0.9}, "nesterov": {"momentum": 0.9, "nesterov": True},
       "dampening": {"momentum": 0.8, "dampening": 0.3}, "weight_decay": {"weight_decay": 0.1},
       "all": {"momentum": 0.9, "nesterov": True, "weight_decay": 0.05}}
ADAM = {"plain": {}, "betas": {"betas": (0.8, 0.99)}, "eps": {"eps": 1e-2},
        "weight_decay": {"weight_decay": 0.1}, "large_lr": {"lr": 0.5}}


def run(kind, options, parameters, gradients):
    """Returns each parameter after each step, stacked along a new first axis."""
    leaves = [p.clone().requires_grad_() for p in parameters]
    optimizer = kind(leaves, **options)
    history = [[] for _ in leaves]
    for step in range(STEPS):
        for leaf, gradient in zip(leaves, gradients):
            leaf.grad = gradient[step].clone()
        optimizer.step()
        for past, leaf in zip(history, leaves):
            past.append(leaf.detach().clone())
    return [torch.stack(past) for past in history]


def family(s, op, kind, variants, lr):
    defaults = {"sgd": {"lr": lr, "momentum": 0.0, "dampening": 0.0, "weight_decay": 0.0, "nesterov": False},
                "adam": {"lr": lr, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0},
                "adamw": {"lr": lr, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01}}[op]
    for name, changes in variants.items():
        for dtype in ("f32", "f64"):
            options = {**defaults, **changes}
            xs = [values(f"{op}{name}{i}", shape, dtype) for i, shape in enumerate([(3, 2), (4,), ()])]
            gs = [values(f"{op}{name}g{i}", (STEPS, *x.shape), dtype) for i, x in enumerate(xs)]
            s.case(f"{op}/{name}_{dtype}", op, lambda *a: run(kind, options, a[:3], a[3:]), xs + gs,
                   {**options, "parameters": len(xs), "steps": STEPS}, grad=False, tol=SUMS)
    options = dict(defaults)
    s.case(f"{op}/zero_gradient", op, lambda p, g: run(kind, options, [p], [g]),
           [values(op, (3,)), torch.zeros(STEPS, 3)], {**options, "parameters": 1, "steps": STEPS},
           grad=False, tol=SUMS)


def suites():
    s = Suite("optimizers")
    family(s, "sgd", torch.optim.SGD, SGD, 0.1)
    family(s, "adam", torch.optim.Adam, ADAM, 0.01)
    family(s, "adamw", torch.optim.AdamW, ADAM, 0.01)
    return [s]
