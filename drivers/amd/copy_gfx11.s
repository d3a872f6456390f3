// SPDX-License-Identifier: MIT
// Copies bytes where there is no copy engine: kernargs dst, src, size; group of 256, 16 bytes a
// thread. Wave32. s[0:1] kernargs, s2 group, v0 thread. The words in copy_shader.cpp are this text
// in machine code; a test assembles it again.
  s_load_b128 s[4:7], s[0:1], 0x0
  s_load_b64 s[8:9], s[0:1], 0x10
  v_lshl_add_u32 v1, s2, 8, v0
  v_mov_b32 v2, 0
  v_lshlrev_b64 v[1:2], 4, v[1:2]
  s_waitcnt lgkmcnt(0)
  v_sub_co_u32 v3, vcc_lo, s8, v1
  v_sub_co_ci_u32 v4, vcc_lo, s9, v2, vcc_lo
  v_add_co_u32 v5, vcc_lo, s6, v1
  v_add_co_ci_u32 v6, vcc_lo, s7, v2, vcc_lo
  v_add_co_u32 v7, vcc_lo, s4, v1
  v_add_co_ci_u32 v8, vcc_lo, s5, v2, vcc_lo
  v_cmp_lt_i64 vcc_lo, 15, v[3:4]
  s_and_saveexec_b32 s10, vcc_lo
  s_cbranch_execz whole_done
  global_load_b128 v[10:13], v[5:6], off
  s_waitcnt vmcnt(0)
  global_store_b128 v[7:8], v[10:13], off
whole_done:
  s_and_not1_b32 exec_lo, s10, exec_lo
bytes:
  v_cmp_lt_i64 vcc_lo, 0, v[3:4]
  s_and_b32 exec_lo, exec_lo, vcc_lo
  s_cbranch_execz done
  global_load_u8 v10, v[5:6], off
  s_waitcnt vmcnt(0)
  global_store_b8 v[7:8], v10, off
  v_add_co_u32 v5, vcc_lo, v5, 1
  v_add_co_ci_u32 v6, vcc_lo, 0, v6, vcc_lo
  v_add_co_u32 v7, vcc_lo, v7, 1
  v_add_co_ci_u32 v8, vcc_lo, 0, v8, vcc_lo
  v_sub_co_u32 v3, vcc_lo, v3, 1
  v_subrev_co_ci_u32 v4, vcc_lo, 0, v4, vcc_lo
  s_branch bytes
done:
  s_endpgm
