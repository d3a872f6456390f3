// SPDX-License-Identifier: MIT
// Every relocation the loader knows, against `target` (in .rodata) with addend 8; make_objects.sh.
  .amdgcn_target "amdgcn-amd-amdhsa--gfx1100"
  .text
  .p2align 8
  .globl k
  .type k,@function
k:
  s_endpgm
  .long target@rel32@lo+8
  .long target@rel32@hi+8
  .long target@gotpcrel32@lo+8
  .long target@gotpcrel32@hi+8
  .long target@abs32@lo+8
  .long target@abs32@hi+8
  .quad target+8
  .quad target+8-.
  .long target+8-.
  .section .rodata,"a"
  .p2align 6
  .amdhsa_kernel k
    .amdhsa_next_free_vgpr 1
    .amdhsa_next_free_sgpr 1
  .end_amdhsa_kernel
  .globl target
target:
  .quad 0x1122334455667788
  .quad 0x99aabbccddeeff00
