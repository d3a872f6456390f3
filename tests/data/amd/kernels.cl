// SPDX-License-Identifier: MIT
// The test kernels of tests/drivers/kernels/kernels.cpp for AMD chips, and a few that ask the loader
// for more. A group takes 256 elements, whatever its size. make_objects.sh compiles them.
#define KERNEL __attribute__((amdgpu_flat_work_group_size(1, 256))) kernel void
#define GROUP_X ((long)__builtin_amdgcn_workgroup_id_x())
#define THREAD ((long)__builtin_amdgcn_workitem_id_x())
/// From the hidden arguments (code object 5).
#define SIZE ((long)__builtin_amdgcn_workgroup_size_x())
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define EACH(i, n) (long i = GROUP_X * 256 + THREAD; i < LEAST((long)(n), (GROUP_X + 1) * 256); i += SIZE)

KERNEL saxpy(global const float* x, global float* y, float a, uint n) {
  for EACH(i, n) y[i] = a * x[i] + y[i];
}
KERNEL scale(global int* out, global const int* in, long factor, long n) {
  for EACH(i, n) out[i] = (int)(in[i] * factor + i);
}
KERNEL increment(global int* data, long n) {
  for EACH(i, n) data[i] += 1;
}
KERNEL mark_group(global int* counts, long nx, long ny) {
  global int* at = &counts[((long)__builtin_amdgcn_workgroup_id_z() * ny +
                            (long)__builtin_amdgcn_workgroup_id_y()) * nx + GROUP_X];
  if (THREAD == 0) __opencl_atomic_fetch_add((global volatile atomic_int*)at, 1,
                                             memory_order_relaxed, memory_scope_device);
}
KERNEL use_scratch(global long* out) {
  volatile long s[512];
  for (long i = 0; i < 512; ++i) s[i] = i + GROUP_X;
  long sum = 0;
  for (long i = 0; i < 512; ++i) sum += s[i];
  if (THREAD == 0) out[GROUP_X] = sum;
}
KERNEL wild_store(global char* data, long offset) {
  *(volatile global int*)(data + offset) = 1;
}
/// Reverses each group's 256 elements through local memory: 256 threads.
KERNEL reverse(global int* out, global const int* in) {
  local int stage[256];
  stage[THREAD] = in[GROUP_X * 256 + THREAD];
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  out[GROUP_X * 256 + THREAD] = stage[255 - THREAD];
}
/// Refused: needs a dispatch packet.
KERNEL wants_dispatch_packet(global int* out) {
  out[0] = ((constant int*)__builtin_amdgcn_dispatch_ptr())[0];
}
/// Reads its factor through the scalar cache.
KERNEL add_first(global int* restrict out, global const int* restrict in, long n) {
  for EACH(i, n) out[i] += in[0];
}
