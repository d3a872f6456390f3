; SPDX-License-Identifier: MIT
; One 16×16×16 product a wave of 32: A by rows, B by columns, C and D by rows.
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half>, <16 x half>, <8 x float>)

define amdgpu_kernel void @wmma(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) #0 {
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %l = and i32 %t, 15
  %hi = lshr i32 %t, 4
  %lw = zext i32 %l to i64
  %pa = getelementptr <16 x half>, ptr addrspace(1) %a, i64 %lw
  %pb = getelementptr <16 x half>, ptr addrspace(1) %b, i64 %lw
  %va = load <16 x half>, ptr addrspace(1) %pa
  %vb = load <16 x half>, ptr addrspace(1) %pb
  %d = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %va, <16 x half> %vb, <8 x float> zeroinitializer)
  %row = zext i32 %hi to i64
  %base = mul i64 %row, 16
  %o = add i64 %base, %lw
  %p0 = getelementptr float, ptr addrspace(1) %out, i64 %o
  %e0 = extractelement <8 x float> %d, i32 0
  store float %e0, ptr addrspace(1) %p0
  %p1 = getelementptr float, ptr addrspace(1) %p0, i64 32
  %e1 = extractelement <8 x float> %d, i32 1
  store float %e1, ptr addrspace(1) %p1
  %p2 = getelementptr float, ptr addrspace(1) %p0, i64 64
  %e2 = extractelement <8 x float> %d, i32 2
  store float %e2, ptr addrspace(1) %p2
  %p3 = getelementptr float, ptr addrspace(1) %p0, i64 96
  %e3 = extractelement <8 x float> %d, i32 3
  store float %e3, ptr addrspace(1) %p3
  %p4 = getelementptr float, ptr addrspace(1) %p0, i64 128
  %e4 = extractelement <8 x float> %d, i32 4
  store float %e4, ptr addrspace(1) %p4
  %p5 = getelementptr float, ptr addrspace(1) %p0, i64 160
  %e5 = extractelement <8 x float> %d, i32 5
  store float %e5, ptr addrspace(1) %p5
  %p6 = getelementptr float, ptr addrspace(1) %p0, i64 192
  %e6 = extractelement <8 x float> %d, i32 6
  store float %e6, ptr addrspace(1) %p6
  %p7 = getelementptr float, ptr addrspace(1) %p0, i64 224
  %e7 = extractelement <8 x float> %d, i32 7
  store float %e7, ptr addrspace(1) %p7
  ret void
}
attributes #0 = { "amdgpu-flat-work-group-size"="32,32" "amdgpu-no-implicitarg-ptr" "amdgpu-no-dispatch-ptr" "amdgpu-no-dispatch-id" "amdgpu-no-queue-ptr" "uniform-work-group-size"="true" }
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
