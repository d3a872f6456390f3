#!/bin/sh
# SPDX-License-Identifier: MIT
# Compiles kernels.cl with clang 19 (-cc1: no device libraries) to the objects beside it.
set -e
cd "$(dirname "$0")"
for chip in gfx1100 gfx1030; do
  ${CLANG:-clang-19} -x cl -cl-std=CL2.0 -Xclang -finclude-default-header -O2 -nogpulib \
    -target amdgcn-amd-amdhsa -mcpu=$chip -mcode-object-version=5 -fno-ident -c kernels.cl \
    -o kernels_$chip.o
done
${LLVM_MC:-llvm-mc-19} -triple=amdgcn-amd-amdhsa -mcpu=gfx1100 --amdhsa-code-object-version=5 \
  -filetype=obj relocations.s -o relocations.o
