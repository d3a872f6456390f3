#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes the golden set: what PyTorch computes for every operation of the front end.

Run with Debian's python3-torch (1.13) from anywhere: tools/golden/generate.py [OUTPUT FOLDER].
README.md beside this file lists every operation and its parameters, golden_case.py has the format.
The same PyTorch on the same kind of CPU gives the same bytes.
"""
import os
import sys

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

import dtypes  # noqa: E402
import elementwise  # noqa: E402
import layers  # noqa: E402
import optimizers  # noqa: E402
import reductions  # noqa: E402
import shapes  # noqa: E402

FAMILIES = [shapes, elementwise, dtypes, reductions, layers, optimizers]


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "../../tests/data/golden")
    os.makedirs(folder, exist_ok=True)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    total_B = total = 0
    for family in FAMILIES:
        for suite in family.suites():
            path, count = suite.write(folder)
            size_B = os.path.getsize(path)
            print(f"{os.path.basename(path):24} {count:5} cases {size_B:8} B")
            total, total_B = total + count, total_B + size_B
    print(f"{'total':24} {total:5} cases {total_B:8} B")


main()
