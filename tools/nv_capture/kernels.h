// SPDX-License-Identifier: MIT
// The kernels of nv_probe as PTX text. The version and target are the oldest that every driver of
// sm_75 to sm_100 takes; a kernel is compiled for the GPU at hand when its module is loaded.
#pragma once

namespace tiny::nv_capture {

/// One module with one entry of the same name.
struct Kernel {
  const char* name;
  const char* ptx;
};

#define NV_PROBE_PTX_HEAD ".version 6.3\n.target sm_75\n.address_size 64\n"

/// c[i] = a[i] + b[i] for i < n, floats.
inline constexpr Kernel kVectorAdd{"vector_add", NV_PROBE_PTX_HEAD R"(
.visible .entry vector_add(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u32 pn)
{
  .reg .pred %p;
  .reg .b32 %r<5>;
  .reg .b64 %rd<8>;
  .reg .f32 %f<3>;
  ld.param.u64 %rd0, [pa];
  ld.param.u64 %rd1, [pb];
  ld.param.u64 %rd2, [pc];
  ld.param.u32 %r0, [pn];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  setp.ge.u32 %p, %r4, %r0;
  @%p ret;
  cvta.to.global.u64 %rd0, %rd0;
  cvta.to.global.u64 %rd1, %rd1;
  cvta.to.global.u64 %rd2, %rd2;
  mul.wide.u32 %rd3, %r4, 4;
  add.u64 %rd4, %rd0, %rd3;
  add.u64 %rd5, %rd1, %rd3;
  add.u64 %rd6, %rd2, %rd3;
  ld.global.f32 %f0, [%rd4];
  ld.global.f32 %f1, [%rd5];
  add.rn.f32 %f2, %f0, %f1;
  st.global.f32 [%rd6], %f2;
  ret;
}
)"};

/// 16 KiB of local memory a thread: v[j] = (i + 1) * (2j + 1), then
/// out[i] = sum over j of v[j ^ mask] * (j + 1), modulo 2^32. The mask, known at run time only,
/// keeps the array in memory.
inline constexpr Kernel kLocalMemory{"local_memory", NV_PROBE_PTX_HEAD R"(
.visible .entry local_memory(.param .u64 pout, .param .u32 pmask)
{
  .local .align 16 .b8 scratch[16384];
  .reg .pred %p;
  .reg .b32 %r<13>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd0, [pout];
  ld.param.u32 %r0, [pmask];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  add.u32 %r5, %r4, 1;
  mov.u64 %rd1, scratch;
  mov.u32 %r6, 0;
fill:
  shl.b32 %r7, %r6, 1;
  add.u32 %r7, %r7, 1;
  mul.lo.u32 %r8, %r5, %r7;
  mul.wide.u32 %rd2, %r6, 4;
  add.u64 %rd3, %rd1, %rd2;
  st.local.u32 [%rd3], %r8;
  add.u32 %r6, %r6, 1;
  setp.lt.u32 %p, %r6, 4096;
  @%p bra fill;
  mov.u32 %r6, 0;
  mov.u32 %r9, 0;
sum:
  xor.b32 %r10, %r6, %r0;
  and.b32 %r10, %r10, 4095;
  mul.wide.u32 %rd2, %r10, 4;
  add.u64 %rd3, %rd1, %rd2;
  ld.local.u32 %r11, [%rd3];
  add.u32 %r12, %r6, 1;
  mad.lo.u32 %r9, %r11, %r12, %r9;
  mov.u32 %r6, %r12;
  setp.lt.u32 %p, %r6, 4096;
  @%p bra sum;
  cvta.to.global.u64 %rd0, %rd0;
  mul.wide.u32 %rd4, %r4, 4;
  add.u64 %rd5, %rd0, %rd4;
  st.global.u32 [%rd5], %r9;
  ret;
}
)"};

/// `words` words of dynamic shared memory: s[i] = i * 2654435761 + block, then thread t of a block
/// sums s[words - 1 - i] for i = t, t + threads, … and stores it to out[block * threads + t].
inline constexpr Kernel kSharedMemory{"shared_memory", NV_PROBE_PTX_HEAD R"(
.extern .shared .align 16 .b8 dynamic_shared[];
.visible .entry shared_memory(.param .u64 pout, .param .u32 pwords)
{
  .reg .pred %p;
  .reg .b32 %r<16>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd0, [pout];
  ld.param.u32 %r0, [pwords];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, dynamic_shared;
  mov.u32 %r5, %r3;
  setp.ge.u32 %p, %r5, %r0;
  @%p bra filled;
fill:
  mul.lo.u32 %r6, %r5, 2654435761;
  add.u32 %r6, %r6, %r1;
  shl.b32 %r7, %r5, 2;
  add.u32 %r8, %r4, %r7;
  st.shared.u32 [%r8], %r6;
  add.u32 %r5, %r5, %r2;
  setp.lt.u32 %p, %r5, %r0;
  @%p bra fill;
filled:
  bar.sync 0;
  mov.u32 %r5, %r3;
  mov.u32 %r9, 0;
  setp.ge.u32 %p, %r5, %r0;
  @%p bra summed;
sum:
  sub.u32 %r10, %r0, %r5;
  sub.u32 %r10, %r10, 1;
  shl.b32 %r11, %r10, 2;
  add.u32 %r12, %r4, %r11;
  ld.shared.u32 %r13, [%r12];
  add.u32 %r9, %r9, %r13;
  add.u32 %r5, %r5, %r2;
  setp.lt.u32 %p, %r5, %r0;
  @%p bra sum;
summed:
  mad.lo.u32 %r14, %r1, %r2, %r3;
  cvta.to.global.u64 %rd0, %rd0;
  mul.wide.u32 %rd1, %r14, 4;
  add.u64 %rd2, %rd0, %rd1;
  st.global.u32 [%rd2], %r9;
  ret;
}
)"};

/// The first node of the graph: x[i] = 3 * x[i] + 1 for i < n.
inline constexpr Kernel kGraphFirst{"graph_first", NV_PROBE_PTX_HEAD R"(
.visible .entry graph_first(.param .u64 px, .param .u32 pn)
{
  .reg .pred %p;
  .reg .b32 %r<7>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd0, [px];
  ld.param.u32 %r0, [pn];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  setp.ge.u32 %p, %r4, %r0;
  @%p ret;
  cvta.to.global.u64 %rd0, %rd0;
  mul.wide.u32 %rd1, %r4, 4;
  add.u64 %rd2, %rd0, %rd1;
  ld.global.u32 %r5, [%rd2];
  mad.lo.u32 %r6, %r5, 3, 1;
  st.global.u32 [%rd2], %r6;
  ret;
}
)"};

/// The second one, which must see all of the first: y[i] = x[i] ^ x[n - 1 - i].
inline constexpr Kernel kGraphSecond{"graph_second", NV_PROBE_PTX_HEAD R"(
.visible .entry graph_second(.param .u64 px, .param .u64 py, .param .u32 pn)
{
  .reg .pred %p;
  .reg .b32 %r<9>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd0, [px];
  ld.param.u64 %rd1, [py];
  ld.param.u32 %r0, [pn];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  setp.ge.u32 %p, %r4, %r0;
  @%p ret;
  cvta.to.global.u64 %rd0, %rd0;
  cvta.to.global.u64 %rd1, %rd1;
  mul.wide.u32 %rd2, %r4, 4;
  add.u64 %rd3, %rd0, %rd2;
  add.u64 %rd4, %rd1, %rd2;
  sub.u32 %r5, %r0, %r4;
  sub.u32 %r5, %r5, 1;
  mul.wide.u32 %rd5, %r5, 4;
  add.u64 %rd6, %rd0, %rd5;
  ld.global.u32 %r6, [%rd3];
  ld.global.u32 %r7, [%rd6];
  xor.b32 %r8, %r6, %r7;
  st.global.u32 [%rd4], %r8;
  ret;
}
)"};

#undef NV_PROBE_PTX_HEAD

inline constexpr Kernel kKernels[] = {kVectorAdd, kLocalMemory, kSharedMemory, kGraphFirst,
                                      kGraphSecond};

}  // namespace tiny::nv_capture
