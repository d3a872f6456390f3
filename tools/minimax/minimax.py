#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Derives the polynomial coefficients of compiler/lower/decompose_*.cpp (needs mpmath).

Each fit is a weighted minimax polynomial (Lawson's iteration in 50-digit arithmetic). The first three
coefficients are rounded to the working precision one at a time, lowest power first, and the rest
fitted again after each; the printed error includes the rounding of every coefficient. Usage:
minimax.py > compiler/lower/decompose_tables.h; clang-format does the rest.
"""
import sys

from mpmath import cos, erf, erfc, exp, expm1, fabs, inf, log, lu_solve, matrix, mp, mpf, pi, sin, sqrt, tanh

mp.dps = 50


def round_to(x, bits):
    """Nearest number with `bits` significant bits."""
    if x == 0:
        return mpf(0)
    scale = mpf(2) ** (bits - 1 - int(mp.floor(log(fabs(x), 2))))
    return mp.nint(x * scale) / scale


def minimax(f, weight, powers, lo, hi):
    """Coefficients c minimising max |weight(x) * (sum c_i x^powers_i - f(x))| over [lo, hi].

    Lawson's iteration: least squares, each point's weight multiplied by its error until all peaks
    agree. Unlike Remez exchange it does not mind that most weights vanish inside the interval.
    """
    n = len(powers)
    count = 12 * n + 20
    xs = [(lo + hi) / 2 - (hi - lo) / 2 * cos(pi * (k + mpf(1) / 2) / count) for k in range(count)]
    rows = []
    for x in xs:
        w = weight(x)
        rows.append(([w * x**p for p in powers], w * f(x)))
    lawson = [mpf(1) / count] * count
    best, best_worst = None, inf
    for _ in range(60):
        a, b = matrix(n, n), matrix(n, 1)
        for l, (row, y) in zip(lawson, rows):
            for i in range(n):
                t = l * row[i]
                b[i] += t * y
                for j in range(i, n):
                    a[i, j] += t * row[j]
        for i in range(n):
            for j in range(i):
                a[i, j] = a[j, i]
        c = lu_solve(a, b)
        errors = [fabs(sum(c[i] * row[i] for i in range(n)) - y) for row, y in rows]
        worst = max(errors)
        if worst < best_worst:
            best, best_worst = [c[i] for i in range(n)], worst
        total = sum(l * e for l, e in zip(lawson, errors))
        if worst == 0 or worst < total * mpf("1.02"):
            break
        lawson = [l * e / total for l, e in zip(lawson, errors)]
    return best


def fit(name, formula, f, weight, powers, lo, hi, bits, stages=3):
    """Prints the rounded coefficients (lowest power first) and the error they leave."""
    lo, hi = mpf(lo), mpf(hi)
    fixed, rest = [], list(powers)
    while rest:
        def residual(x):
            return f(x) - sum(c * x**p for c, p in zip(fixed, powers))
        c = minimax(residual, weight, rest, lo, hi)
        take = 1 if len(fixed) < stages else len(rest)
        fixed += [round_to(v, bits) for v in c[:take]]
        rest = rest[take:]
    xs = [lo + (hi - lo) * k / 1000 for k in range(1001)]
    worst = max(fabs(weight(x) * (sum(c * x**p for c, p in zip(fixed, powers)) - f(x))) for x in xs if weight(x))
    comment = f"{formula} on [{mp.nstr(lo, 6)}, {mp.nstr(hi, 6)}], error 2^{mp.nstr(log(worst, 2), 5)}"
    table(name, comment, fixed)


def table(name, comment, values):
    """One C++ array."""
    print(f"/// {comment}.")
    print(f"inline constexpr double {name}[] = {{")
    for v in values:
        print(f"    {hexadecimal(v)},")
    print("};")
    sys.stdout.flush()


def hexadecimal(v):
    digits, exponent = float(v).hex().split("p")
    digits = digits.rstrip("0").rstrip(".")
    return f"{digits}p{exponent}"


def series(f, at_zero, below=mpf("1e-12")):
    """f, with its limit at 0."""
    return lambda x: at_zero if fabs(x) < below else f(x)


def exp_fits():
    half = mpf("0.3466")  # ln 2 / 2, and a little for the rounding of the multiple
    q = series(lambda r: (exp(r) - 1 - r) / r**2, mpf(1) / 2)
    fit("kExpSingle", "(e^r - 1 - r) / r^2", q, lambda r: r**2 / exp(r), range(5), -half, half, 24)
    fit("kExpDouble", "(e^r - 1 - r) / r^2", q, lambda r: r**2 / exp(r), range(10), -half, half, 53)
    p = series(lambda r: expm1(r * log(2)) / r, log(2))
    fit("kExp2Single", "(2^r - 1) / r", p, lambda r: r / 2**r, range(6), "-0.5001", "0.5001", 24)
    fit("kExp2Double", "(2^r - 1) / r", p, lambda r: r / 2**r, range(12), "-0.5001", "0.5001", 53)


def log_fits():
    lo, hi = sqrt(mpf(1) / 2) - 1, sqrt(mpf(2)) - 1
    p = series(lambda f: (log(1 + f) - f + f**2 / 2) / f**3, mpf(1) / 3, mpf("1e-10"))
    w = series(lambda f: f**3 / log(1 + f), mpf(0))
    fit("kLogSingle", "(log(1+f) - f + f^2/2) / f^3", p, w, range(9), lo, hi, 24)
    s1 = (sqrt(mpf(2)) - 1) / (sqrt(mpf(2)) + 1)
    z1 = s1**2 * mpf("1.0001")
    # log((1+s)/(1-s)) = 2s + s R(s^2); R(z) / z is fitted.
    atanh = lambda z: (log((1 + sqrt(z)) / (1 - sqrt(z))) / sqrt(z) - 2) / z
    r = series(atanh, mpf(2) / 3, mpf("1e-14"))
    fit("kLogDouble", "(log((1+s)/(1-s))/s - 2) / s^2 in z = s^2", r, lambda z: z / 2, range(7), 0, z1, 53)
    tail = series(lambda z: (atanh(z) - mpf(2) / 3) / z, mpf(2) / 5, mpf("1e-10"))
    fit("kPowLogDouble", "((log((1+s)/(1-s))/s - 2) / s^2 - 2/3) / s^2", tail, lambda z: z**2 / 2, range(9), 0, z1, 53)


def pow_single_fit():
    z1 = (((sqrt(mpf(2)) - 1) / (sqrt(mpf(2)) + 1)) ** 2) * mpf("1.0001")
    atanh = lambda z: (log((1 + sqrt(z)) / (1 - sqrt(z))) / sqrt(z) - 2) / z
    tail = series(lambda z: (atanh(z) - mpf(2) / 3) / z, mpf(2) / 5, mpf("1e-10"))
    fit("kPowLogSingle", "((log((1+s)/(1-s))/s - 2) / s^2 - 2/3) / s^2", tail, lambda z: z**2 / 2, range(4), 0, z1, 24)


def splits():
    """Constants as a part short enough for exact products with small integers, and the rest."""
    for name, x in (("ln 2", log(2)), ("log2 e", 1 / log(2)), ("2/3", mpf(2) / 3), ("pi", pi)):
        for bits, short in ((24, 12), (53, 32), (24, 24), (53, 53), (53, 21)):
            hi = round_to(x, short)
            print(f"{name}, {short} bits and the rest to {bits}: {float(hi).hex()}, {float(round_to(x - hi, bits)).hex()}")


def trig_fits():
    # sin(pi f) / f in z = f^2; |f| <= 1/2 + 2^-4 (see decompose_trig.cpp)
    z1 = mpf("0.5625") ** 2
    f = series(lambda z: sin(pi * sqrt(z)) / sqrt(z), pi, mpf("1e-20"))
    fit("kSinSingle", "sin(pi f) / f in z = f^2", f, lambda z: 1 / pi, range(6), 0, z1, 53)
    r1 = (pi * mpf("0.5001")) ** 2
    g = series(lambda z: (sin(sqrt(z)) / sqrt(z) - 1) / z, -mpf(1) / 6, mpf("1e-14"))
    fit("kSinDouble", "(sin(r)/r - 1) / r^2 in z = r^2", g, lambda z: z * sqrt(z) / sin(sqrt(z)) if z else mpf(0), range(10), 0, r1, 53)
    w = lambda z: z * sqrt(z) / sin(sqrt(z)) if z else mpf(0)
    fit("kSinRadiansSingle", "(sin(r)/r - 1) / r^2 in z = r^2", g, w, range(5), 0, r1, 24)
    h = series(lambda z: (cos(sqrt(z)) - 1) / z, -mpf(1) / 2, mpf("1e-14"))
    fit("kCosRough", "(cos(r) - 1) / r^2 in z = r^2", h, lambda z: mpf(1), range(3), 0, r1, 53)


def erf_fits():
    c = 2 / sqrt(pi)
    f = series(lambda z: erf(sqrt(z)) / sqrt(z) - 1, c - 1, mpf("1e-20"))
    w = lambda z: sqrt(z) / erf(sqrt(z)) if z else 1 / c
    fit("kErfNearSingle", "erf(x)/x - 1 in z = x^2", f, w, range(6), 0, mpf("0.93") ** 2, 24)
    fit("kErfNearDouble", "erf(x)/x - 1 in z = x^2", f, w, range(12), 0, mpf("0.93") ** 2, 53)
    g = lambda t: log(erfc(t)) / t
    v = lambda t: t * erfc(t) / erf(t)
    fit("kErfFarSingle", "log(erfc(t)) / t", g, v, range(8), "0.919", "4", 24)
    for name, lo, hi, n in (("kErfMiddleDouble", "0.919", "2", 15), ("kErfFarDouble", "2", "6", 15)):
        # centred on the interval's first point, where the weight is
        a = mpf(lo)
        g2 = lambda u: log(erfc(u + a))
        v2 = lambda u: erfc(u + a) / erf(u + a)
        fit(name, f"log(erfc(t)) in t - {lo}", g2, v2, range(n), 0, mpf(hi) - a, 53)


def tanh_fits():
    h = series(lambda z: (tanh(sqrt(z)) / sqrt(z) - 1) / z, -mpf(1) / 3, mpf("1e-14"))
    w = lambda z: z * sqrt(z) / tanh(sqrt(z)) if z else mpf(0)
    z1 = mpf("0.5501") ** 2
    fit("kTanhSingle", "(tanh(x)/x - 1) / x^2 in z = x^2", h, w, range(5), 0, z1, 24)
    fit("kTanhDouble", "(tanh(x)/x - 1) / x^2 in z = x^2", h, w, range(10), 0, z1, 53)


def pi_tables():
    """1/pi as the reductions of decompose_trig.cpp use it."""
    mp.prec = 1400
    inv = 1 / pi
    pairs = []
    for a in (None, 50, 76, 102):
        # A float in [2^a, 2^(a+26)) is a multiple of 2^(a-23); 2^(24-a) times that is even.
        p = inv if a is None else inv - mp.nint(inv / mpf(2) ** (24 - a)) * mpf(2) ** (24 - a)
        hi = round_to(p, 53)
        pairs += [hi, round_to(p - hi, 53)]
    table("kInversePiSingle", "1/pi modulo 2^(24-a) for a = none, 50, 76, 102, each as two f64", pairs)
    rest, chunks = inv, []
    for j in range(24):
        unit = mpf(2) ** (-53 * (j + 1))
        c = mp.nint(rest / unit)
        rest -= c * unit
        chunks.append(c * mpf(2) ** -53)
    table("kInversePiDouble", "1/pi is the sum of [j] * 2^(-53 j)", chunks)
    print("/// 1/pi in words of 32 bits after the binary point.")
    print("inline constexpr uint32_t kInversePiWords[] = {")
    for j in range(7):
        print(f"    {int(mp.floor(inv * mpf(2) ** (32 * (j + 1)))) % 2**32:#010x},")
    print("};")
    mp.dps = 50


def splits():
    """Constants as a part short enough for exact products with small integers, and the rest."""
    ln2, log2e = log(2), 1 / log(2)
    for name, what, x, short, bits in (
        ("kLn2Single", "ln 2", ln2, 12, 24),
        ("kLn2Double", "ln 2", ln2, 32, 53),
        ("kLog2eSingle", "log2 e", log2e, 24, 24),
        ("kLog2eDouble", "log2 e", log2e, 53, 53),
        ("kLog2eShortDouble", "log2 e", log2e, 21, 53),
        ("kTwoThirdsSingle", "2/3", mpf(2) / 3, 24, 24),
        ("kTwoThirdsDouble", "2/3", mpf(2) / 3, 53, 53),
        ("kPiSingle", "pi", pi, 24, 24),
        ("kPiDouble", "pi", pi, 53, 53),
    ):
        hi = round_to(x, short)
        table(name, f"{what}: {short} bits, and the rest to {bits}", [hi, round_to(x - hi, bits)])


TABLES = [exp_fits, log_fits, pow_single_fit, trig_fits, erf_fits, tanh_fits, pi_tables, splits]
if __name__ == "__main__":
    print("// SPDX-License-Identifier: MIT")
    print("// Coefficients of the float functions: the output of tools/minimax/minimax.py.")
    print("#pragma once\n\n#include <cstdint>\n\nnamespace tiny::lower {\n")
    for part in TABLES:
        part()
    print("\n}  // namespace tiny::lower")
