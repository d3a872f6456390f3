; SPDX-License-Identifier: MIT
; Kernels that make LLVM emit what compute kernels use. Compiled for gfx1100 and gfx1030 by the tests.
target triple = "amdgcn-amd-amdhsa"

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workitem.id.y()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workgroup.id.y()
declare void @llvm.amdgcn.s.barrier()
declare float @llvm.exp2.f32(float)
declare float @llvm.log2.f32(float)
declare float @llvm.exp.f32(float)
declare float @llvm.sin.f32(float)
declare float @llvm.sqrt.f32(float)
declare float @llvm.floor.f32(float)
declare float @llvm.trunc.f32(float)
declare float @llvm.rint.f32(float)
declare float @llvm.fma.f32(float, float, float)
declare half @llvm.exp2.f16(half)
declare double @llvm.sqrt.f64(double)
declare double @llvm.floor.f64(double)
declare float @llvm.maxnum.f32(float, float)
declare float @llvm.minnum.f32(float, float)
declare i32 @llvm.umax.i32(i32, i32)
declare i32 @llvm.smin.i32(i32, i32)
declare i32 @llvm.ctpop.i32(i32)
declare i32 @llvm.ctlz.i32(i32, i1)
declare i32 @llvm.bitreverse.i32(i32)
declare i32 @llvm.fshl.i32(i32, i32, i32)
declare i32 @llvm.amdgcn.update.dpp.i32(i32, i32, i32, i32, i32, i1)
declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)
declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)

@shared = internal addrspace(3) global [256 x float] undef, align 16
@table = internal addrspace(4) constant [8 x i32] [i32 3, i32 1, i32 4, i32 1, i32 5, i32 9, i32 2, i32 6]

define internal i64 @index() alwaysinline {
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %b = mul i32 %g, 64
  %i = add i32 %b, %t
  %w = zext i32 %i to i64
  ret i64 %w
}

define amdgpu_kernel void @axpy(ptr addrspace(1) %out, ptr addrspace(1) %x, ptr addrspace(1) %y, float %a) #0 {
  %i = call i64 @index()
  %px = getelementptr float, ptr addrspace(1) %x, i64 %i
  %py = getelementptr float, ptr addrspace(1) %y, i64 %i
  %po = getelementptr float, ptr addrspace(1) %out, i64 %i
  %vx = load float, ptr addrspace(1) %px
  %vy = load float, ptr addrspace(1) %py
  %r = call float @llvm.fma.f32(float %a, float %vx, float %vy)
  store float %r, ptr addrspace(1) %po
  ret void
}

define amdgpu_kernel void @vector4(ptr addrspace(1) %out, ptr addrspace(1) %x) #0 {
  %i = call i64 @index()
  %px = getelementptr <4 x float>, ptr addrspace(1) %x, i64 %i
  %po = getelementptr <4 x float>, ptr addrspace(1) %out, i64 %i
  %v = load <4 x float>, ptr addrspace(1) %px, align 16
  %s = fmul <4 x float> %v, <float 2.0, float 3.0, float -1.0, float 0.5>
  %r = fadd <4 x float> %s, %v
  store <4 x float> %r, ptr addrspace(1) %po, align 16
  ret void
}

define amdgpu_kernel void @half_ops(ptr addrspace(1) %out, ptr addrspace(1) %x, ptr addrspace(1) %y) #0 {
  %i = call i64 @index()
  %px = getelementptr half, ptr addrspace(1) %x, i64 %i
  %py = getelementptr half, ptr addrspace(1) %y, i64 %i
  %po = getelementptr half, ptr addrspace(1) %out, i64 %i
  %a = load half, ptr addrspace(1) %px
  %b = load half, ptr addrspace(1) %py
  %m = fmul half %a, %b
  %s = fadd half %m, %a
  %d = fdiv half %s, %b
  store half %d, ptr addrspace(1) %po
  ret void
}

define amdgpu_kernel void @half2(ptr addrspace(1) %out, ptr addrspace(1) %x, ptr addrspace(1) %y) #0 {
  %i = call i64 @index()
  %px = getelementptr <2 x half>, ptr addrspace(1) %x, i64 %i
  %py = getelementptr <2 x half>, ptr addrspace(1) %y, i64 %i
  %po = getelementptr <2 x half>, ptr addrspace(1) %out, i64 %i
  %a = load <2 x half>, ptr addrspace(1) %px
  %b = load <2 x half>, ptr addrspace(1) %py
  %m = fmul <2 x half> %a, %b
  %s = fadd <2 x half> %m, %a
  store <2 x half> %s, ptr addrspace(1) %po
  ret void
}

define amdgpu_kernel void @bf16_add(ptr addrspace(1) %out, ptr addrspace(1) %x, ptr addrspace(1) %y) #0 {
  %i = call i64 @index()
  %px = getelementptr bfloat, ptr addrspace(1) %x, i64 %i
  %py = getelementptr bfloat, ptr addrspace(1) %y, i64 %i
  %po = getelementptr bfloat, ptr addrspace(1) %out, i64 %i
  %a = load bfloat, ptr addrspace(1) %px
  %b = load bfloat, ptr addrspace(1) %py
  %s = fadd bfloat %a, %b
  store bfloat %s, ptr addrspace(1) %po
  ret void
}

; out: 8 dwords a thread
define amdgpu_kernel void @casts(ptr addrspace(1) %out, ptr addrspace(1) %x, ptr addrspace(1) %n) #0 {
  %i = call i64 @index()
  %px = getelementptr float, ptr addrspace(1) %x, i64 %i
  %pn = getelementptr i64, ptr addrspace(1) %n, i64 %i
  %po = getelementptr [6 x i64], ptr addrspace(1) %out, i64 %i
  %f = load float, ptr addrspace(1) %px
  %l = load i64, ptr addrspace(1) %pn
  %d = fpext float %f to double
  %fi = fptosi float %f to i64
  %lf = sitofp i64 %l to float
  %ld = sitofp i64 %l to double
  %uf = uitofp i64 %l to float
  %h = fptrunc float %f to half
  %hb = bitcast half %h to i16
  %h64 = zext i16 %hb to i64
  %db = bitcast double %d to i64
  %ldb = bitcast double %ld to i64
  %lfb = bitcast float %lf to i32
  %ufb = bitcast float %uf to i32
  %lf64 = zext i32 %lfb to i64
  %uf64 = zext i32 %ufb to i64
  %p1 = getelementptr i64, ptr addrspace(1) %po, i64 1
  %p2 = getelementptr i64, ptr addrspace(1) %po, i64 2
  %p3 = getelementptr i64, ptr addrspace(1) %po, i64 3
  %p4 = getelementptr i64, ptr addrspace(1) %po, i64 4
  %p5 = getelementptr i64, ptr addrspace(1) %po, i64 5
  store i64 %db, ptr addrspace(1) %po
  store i64 %fi, ptr addrspace(1) %p1
  store i64 %ldb, ptr addrspace(1) %p2
  store i64 %lf64, ptr addrspace(1) %p3
  store i64 %uf64, ptr addrspace(1) %p4
  store i64 %h64, ptr addrspace(1) %p5
  ret void
}

define amdgpu_kernel void @bytes(ptr addrspace(1) %out, ptr addrspace(1) %x) #0 {
  %i = call i64 @index()
  %px = getelementptr i8, ptr addrspace(1) %x, i64 %i
  %po = getelementptr i8, ptr addrspace(1) %out, i64 %i
  %v = load i8, ptr addrspace(1) %px
  %s = sext i8 %v to i32
  %m = mul i32 %s, 3
  %a = ashr i32 %m, 1
  %t = trunc i32 %a to i8
  store i8 %t, ptr addrspace(1) %po
  ret void
}

; 256 threads sum their values through LDS
define amdgpu_kernel void @lds_sum(ptr addrspace(1) %out, ptr addrspace(1) %x) #1 {
entry:
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %b = mul i32 %g, 256
  %i = add i32 %b, %t
  %w = zext i32 %i to i64
  %px = getelementptr float, ptr addrspace(1) %x, i64 %w
  %v = load float, ptr addrspace(1) %px
  %ps = getelementptr [256 x float], ptr addrspace(3) @shared, i32 0, i32 %t
  store float %v, ptr addrspace(3) %ps
  br label %loop
loop:
  %half = phi i32 [ 128, %entry ], [ %next, %join ]
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %active = icmp ult i32 %t, %half
  br i1 %active, label %add, label %join
add:
  %o = add i32 %t, %half
  %po = getelementptr [256 x float], ptr addrspace(3) @shared, i32 0, i32 %o
  %vo = load float, ptr addrspace(3) %po
  %vs = load float, ptr addrspace(3) %ps
  %sum = fadd float %vo, %vs
  store float %sum, ptr addrspace(3) %ps
  br label %join
join:
  %next = lshr i32 %half, 1
  %more = icmp ne i32 %next, 0
  br i1 %more, label %loop, label %done
done:
  %first = icmp eq i32 %t, 0
  br i1 %first, label %write, label %exit
write:
  %r = load float, ptr addrspace(3) @shared
  %gw = zext i32 %g to i64
  %pr = getelementptr float, ptr addrspace(1) %out, i64 %gw
  store float %r, ptr addrspace(1) %pr
  br label %exit
exit:
  ret void
}

; index (i64) of the largest of n values, per thread a row
define amdgpu_kernel void @argmax(ptr addrspace(1) %out, ptr addrspace(1) %x, i32 %n) #0 {
entry:
  %i = call i64 @index()
  %nw = zext i32 %n to i64
  %base = mul i64 %i, %nw
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k1, %loop ]
  %best = phi float [ 0xFFF0000000000000, %entry ], [ %best1, %loop ]
  %at = phi i64 [ 0, %entry ], [ %at1, %loop ]
  %o = add i64 %base, %k
  %p = getelementptr float, ptr addrspace(1) %x, i64 %o
  %v = load float, ptr addrspace(1) %p
  %g = fcmp ogt float %v, %best
  %best1 = select i1 %g, float %v, float %best
  %at1 = select i1 %g, i64 %k, i64 %at
  %k1 = add i64 %k, 1
  %c = icmp slt i64 %k1, %nw
  br i1 %c, label %loop, label %done
done:
  %po = getelementptr i64, ptr addrspace(1) %out, i64 %i
  store i64 %at1, ptr addrspace(1) %po
  ret void
}

; out: 8 floats a thread
define amdgpu_kernel void @math(ptr addrspace(1) %out, ptr addrspace(1) %x) #0 {
  %i = call i64 @index()
  %px = getelementptr float, ptr addrspace(1) %x, i64 %i
  %po = getelementptr [8 x float], ptr addrspace(1) %out, i64 %i
  %v = load float, ptr addrspace(1) %px
  %r0 = call float @llvm.exp2.f32(float %v)
  %r1 = call float @llvm.log2.f32(float %v)
  %r2 = call float @llvm.sin.f32(float %v)
  %r3 = call float @llvm.sqrt.f32(float %v)
  %r4 = call float @llvm.floor.f32(float %v)
  %r5 = call float @llvm.rint.f32(float %v)
  %r6 = call float @llvm.exp.f32(float %v)
  %r7 = fdiv float %r4, %v
  %p1 = getelementptr float, ptr addrspace(1) %po, i64 1
  %p2 = getelementptr float, ptr addrspace(1) %po, i64 2
  %p3 = getelementptr float, ptr addrspace(1) %po, i64 3
  %p4 = getelementptr float, ptr addrspace(1) %po, i64 4
  %p5 = getelementptr float, ptr addrspace(1) %po, i64 5
  %p6 = getelementptr float, ptr addrspace(1) %po, i64 6
  %p7 = getelementptr float, ptr addrspace(1) %po, i64 7
  store float %r0, ptr addrspace(1) %po
  store float %r1, ptr addrspace(1) %p1
  store float %r2, ptr addrspace(1) %p2
  store float %r3, ptr addrspace(1) %p3
  store float %r4, ptr addrspace(1) %p4
  store float %r5, ptr addrspace(1) %p5
  store float %r6, ptr addrspace(1) %p6
  store float %r7, ptr addrspace(1) %p7
  ret void
}

define amdgpu_kernel void @double_ops(ptr addrspace(1) %out, ptr addrspace(1) %x, ptr addrspace(1) %y) #0 {
  %i = call i64 @index()
  %px = getelementptr double, ptr addrspace(1) %x, i64 %i
  %py = getelementptr double, ptr addrspace(1) %y, i64 %i
  %po = getelementptr [2 x double], ptr addrspace(1) %out, i64 %i
  %a = load double, ptr addrspace(1) %px
  %b = load double, ptr addrspace(1) %py
  %d = fdiv double %a, %b
  %s = call double @llvm.sqrt.f64(double %b)
  %p1 = getelementptr double, ptr addrspace(1) %po, i64 1
  store double %d, ptr addrspace(1) %po
  store double %s, ptr addrspace(1) %p1
  ret void
}

; out: 8 i64 a thread
define amdgpu_kernel void @divide(ptr addrspace(1) %out, ptr addrspace(1) %x, ptr addrspace(1) %y) #0 {
  %i = call i64 @index()
  %px = getelementptr i64, ptr addrspace(1) %x, i64 %i
  %py = getelementptr i64, ptr addrspace(1) %y, i64 %i
  %po = getelementptr [8 x i64], ptr addrspace(1) %out, i64 %i
  %a = load i64, ptr addrspace(1) %px
  %b = load i64, ptr addrspace(1) %py
  %a32 = trunc i64 %a to i32
  %b32t = trunc i64 %b to i32
  %b32 = or i32 %b32t, 2
  %q0 = sdiv i32 %a32, %b32
  %q1 = srem i32 %a32, %b32
  %q2 = udiv i32 %a32, %b32
  %q3 = urem i32 %a32, %b32
  %q4 = sdiv i64 %a, %b
  %q5 = srem i64 %a, %b
  %q6 = udiv i64 %a, %b
  %q7 = urem i64 %a, %b
  %e0 = sext i32 %q0 to i64
  %e1 = sext i32 %q1 to i64
  %e2 = zext i32 %q2 to i64
  %e3 = zext i32 %q3 to i64
  %p1 = getelementptr i64, ptr addrspace(1) %po, i64 1
  %p2 = getelementptr i64, ptr addrspace(1) %po, i64 2
  %p3 = getelementptr i64, ptr addrspace(1) %po, i64 3
  %p4 = getelementptr i64, ptr addrspace(1) %po, i64 4
  %p5 = getelementptr i64, ptr addrspace(1) %po, i64 5
  %p6 = getelementptr i64, ptr addrspace(1) %po, i64 6
  %p7 = getelementptr i64, ptr addrspace(1) %po, i64 7
  store i64 %e0, ptr addrspace(1) %po
  store i64 %e1, ptr addrspace(1) %p1
  store i64 %e2, ptr addrspace(1) %p2
  store i64 %e3, ptr addrspace(1) %p3
  store i64 %q4, ptr addrspace(1) %p4
  store i64 %q5, ptr addrspace(1) %p5
  store i64 %q6, ptr addrspace(1) %p6
  store i64 %q7, ptr addrspace(1) %p7
  ret void
}

; counters: add, max, min, or, xchg result, cmpxchg, fadd, u64 add
define amdgpu_kernel void @atomics(ptr addrspace(1) %c, ptr addrspace(1) %old) #0 {
  %i = call i64 @index()
  %i32 = trunc i64 %i to i32
  %p1 = getelementptr i64, ptr addrspace(1) %c, i64 1
  %p2 = getelementptr i64, ptr addrspace(1) %c, i64 2
  %p3 = getelementptr i64, ptr addrspace(1) %c, i64 3
  %p4 = getelementptr i64, ptr addrspace(1) %c, i64 4
  %p5 = getelementptr i64, ptr addrspace(1) %c, i64 5
  %p6 = getelementptr i64, ptr addrspace(1) %c, i64 6
  %a = atomicrmw add ptr addrspace(1) %c, i32 1 syncscope("agent") monotonic
  %m = atomicrmw max ptr addrspace(1) %p1, i32 %i32 syncscope("agent") monotonic
  %n = atomicrmw umin ptr addrspace(1) %p2, i32 %i32 syncscope("agent") monotonic
  %sh = and i32 %i32, 31
  %bit = shl i32 1, %sh
  %o = atomicrmw or ptr addrspace(1) %p3, i32 %bit syncscope("agent") monotonic
  %x = cmpxchg ptr addrspace(1) %p4, i32 0, i32 7 syncscope("agent") monotonic monotonic
  %f = atomicrmw fadd ptr addrspace(1) %p5, float 1.0 syncscope("agent") monotonic
  %l = atomicrmw add ptr addrspace(1) %p6, i64 %i syncscope("agent") monotonic
  %po = getelementptr i32, ptr addrspace(1) %old, i64 %i
  store i32 %a, ptr addrspace(1) %po
  ret void
}

define amdgpu_kernel void @gated(ptr addrspace(1) %out, ptr addrspace(1) %x, i32 %w, i32 %h) #0 {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %j = call i32 @llvm.amdgcn.workgroup.id.x()
  %i1 = add i32 %i, -1
  %j1 = add i32 %j, -1
  %ci = icmp ult i32 %i1, %w
  %cj = icmp ult i32 %j1, %h
  %in = and i1 %ci, %cj
  br i1 %in, label %load, label %join
load:
  %r = mul i32 %j1, %w
  %o = add i32 %r, %i1
  %ow = sext i32 %o to i64
  %p = getelementptr float, ptr addrspace(1) %x, i64 %ow
  %v = load float, ptr addrspace(1) %p
  br label %join
join:
  %g = phi float [ %v, %load ], [ -1.0, %0 ]
  %q = mul i32 %j, 64
  %qo = add i32 %q, %i
  %qw = zext i32 %qo to i64
  %po = getelementptr float, ptr addrspace(1) %out, i64 %qw
  store float %g, ptr addrspace(1) %po
  ret void
}

; steps of the Collatz sequence, nested in a loop over four starts
define amdgpu_kernel void @collatz(ptr addrspace(1) %out) #0 {
entry:
  %i = call i64 @index()
  br label %outer
outer:
  %k = phi i64 [ 0, %entry ], [ %k1, %next ]
  %sum = phi i64 [ 0, %entry ], [ %steps, %next ]
  %s4 = mul i64 %i, 4
  %s = add i64 %s4, %k
  %start = add i64 %s, 1
  br label %inner
inner:
  %v = phi i64 [ %start, %outer ], [ %v1, %step ]
  %steps = phi i64 [ %sum, %outer ], [ %steps1, %step ]
  %one = icmp eq i64 %v, 1
  br i1 %one, label %next, label %step
step:
  %odd = and i64 %v, 1
  %isodd = icmp ne i64 %odd, 0
  %t = mul i64 %v, 3
  %t1 = add i64 %t, 1
  %hf = lshr i64 %v, 1
  %v1 = select i1 %isodd, i64 %t1, i64 %hf
  %steps1 = add i64 %steps, 1
  br label %inner
next:
  %k1 = add i64 %k, 1
  %c = icmp ult i64 %k1, 4
  br i1 %c, label %outer, label %done
done:
  %po = getelementptr i64, ptr addrspace(1) %out, i64 %i
  store i64 %steps, ptr addrspace(1) %po
  ret void
}

; a histogram in private memory, indexed by data
define amdgpu_kernel void @private_array(ptr addrspace(1) %out, ptr addrspace(1) %x) #0 {
entry:
  %a = alloca [80 x i32], align 4, addrspace(5)
  %i = call i64 @index()
  br label %clear
clear:
  %z = phi i32 [ 0, %entry ], [ %z1, %clear ]
  %pz = getelementptr [80 x i32], ptr addrspace(5) %a, i32 0, i32 %z
  store i32 %z, ptr addrspace(5) %pz
  %z1 = add i32 %z, 1
  %cz = icmp ult i32 %z1, 80
  br i1 %cz, label %clear, label %body
body:
  %px = getelementptr i32, ptr addrspace(1) %x, i64 %i
  %v = load i32, ptr addrspace(1) %px
  %m = urem i32 %v, 80
  %pm = getelementptr [80 x i32], ptr addrspace(5) %a, i32 0, i32 %m
  %old = load i32, ptr addrspace(5) %pm
  %new = add i32 %old, 1000
  store i32 %new, ptr addrspace(5) %pm
  %n = urem i32 %v, 79
  %pn = getelementptr [80 x i32], ptr addrspace(5) %a, i32 0, i32 %n
  %r = load i32, ptr addrspace(5) %pn
  %sum = add i32 %r, %new
  %po = getelementptr i32, ptr addrspace(1) %out, i64 %i
  store i32 %sum, ptr addrspace(1) %po
  ret void
}

; rotations, adds and xors as in a counter-based generator, and bit counts
define amdgpu_kernel void @bit_ops(ptr addrspace(1) %out, ptr addrspace(1) %x) #0 {
  %i = call i64 @index()
  %px = getelementptr i32, ptr addrspace(1) %x, i64 %i
  %po = getelementptr [4 x i32], ptr addrspace(1) %out, i64 %i
  %v = load i32, ptr addrspace(1) %px
  %i32 = trunc i64 %i to i32
  %s = add i32 %v, %i32
  %r = call i32 @llvm.fshl.i32(i32 %s, i32 %s, i32 13)
  %e = xor i32 %r, %v
  %pc = call i32 @llvm.ctpop.i32(i32 %e)
  %lz = call i32 @llvm.ctlz.i32(i32 %e, i1 false)
  %br = call i32 @llvm.bitreverse.i32(i32 %e)
  %mask = and i32 %br, 255
  %sh = lshr i32 %br, 8
  %mix = or i32 %sh, %pc
  %p1 = getelementptr i32, ptr addrspace(1) %po, i64 1
  %p2 = getelementptr i32, ptr addrspace(1) %po, i64 2
  %p3 = getelementptr i32, ptr addrspace(1) %po, i64 3
  store i32 %e, ptr addrspace(1) %po
  store i32 %lz, ptr addrspace(1) %p1
  store i32 %mix, ptr addrspace(1) %p2
  store i32 %mask, ptr addrspace(1) %p3
  ret void
}

; sum over rows of 16 lanes with DPP, then the value of lane 5 with ds_bpermute
define amdgpu_kernel void @lane_ops(ptr addrspace(1) %out, ptr addrspace(1) %x) #0 {
  %i = call i64 @index()
  %px = getelementptr i32, ptr addrspace(1) %x, i64 %i
  %po = getelementptr [2 x i32], ptr addrspace(1) %out, i64 %i
  %v = load i32, ptr addrspace(1) %px
  %d1 = call i32 @llvm.amdgcn.update.dpp.i32(i32 0, i32 %v, i32 353, i32 15, i32 15, i1 true)
  %s1 = add i32 %v, %d1
  %d2 = call i32 @llvm.amdgcn.update.dpp.i32(i32 0, i32 %s1, i32 354, i32 15, i32 15, i1 true)
  %s2 = add i32 %s1, %d2
  %d3 = call i32 @llvm.amdgcn.update.dpp.i32(i32 0, i32 %s2, i32 356, i32 15, i32 15, i1 true)
  %s3 = add i32 %s2, %d3
  %d4 = call i32 @llvm.amdgcn.update.dpp.i32(i32 0, i32 %s3, i32 360, i32 15, i32 15, i1 true)
  %s4 = add i32 %s3, %d4
  %b = call i32 @llvm.amdgcn.ds.bpermute(i32 20, i32 %v)
  %p1 = getelementptr i32, ptr addrspace(1) %po, i64 1
  store i32 %s4, ptr addrspace(1) %po
  store i32 %b, ptr addrspace(1) %p1
  ret void
}

; a generic pointer that is global for even threads and LDS for odd ones
define amdgpu_kernel void @generic(ptr addrspace(1) %out, ptr addrspace(1) %x) #0 {
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %i = call i64 @index()
  %ps = getelementptr [256 x float], ptr addrspace(3) @shared, i32 0, i32 %t
  store float 42.0, ptr addrspace(3) %ps
  %px = getelementptr float, ptr addrspace(1) %x, i64 %i
  %gs = addrspacecast ptr addrspace(3) %ps to ptr
  %gx = addrspacecast ptr addrspace(1) %px to ptr
  %o = and i32 %t, 1
  %odd = icmp ne i32 %o, 0
  %p = select i1 %odd, ptr %gs, ptr %gx
  %v = load float, ptr %p
  %po = getelementptr float, ptr addrspace(1) %out, i64 %i
  store float %v, ptr addrspace(1) %po
  ret void
}

; a constant table, indexed uniformly and by lane
define amdgpu_kernel void @lookup(ptr addrspace(1) %out) #0 {
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %i = call i64 @index()
  %tm = and i32 %t, 7
  %gm = and i32 %g, 7
  %pt = getelementptr [8 x i32], ptr addrspace(4) @table, i32 0, i32 %tm
  %pg = getelementptr [8 x i32], ptr addrspace(4) @table, i32 0, i32 %gm
  %a = load i32, ptr addrspace(4) %pt
  %b = load i32, ptr addrspace(4) %pg
  %b100 = mul i32 %b, 100
  %r = add i32 %a, %b100
  %po = getelementptr i32, ptr addrspace(1) %out, i64 %i
  store i32 %r, ptr addrspace(1) %po
  ret void
}

attributes #0 = { "amdgpu-flat-work-group-size"="1,64" "amdgpu-no-implicitarg-ptr" "amdgpu-no-dispatch-ptr" "amdgpu-no-dispatch-id" "amdgpu-no-queue-ptr" "amdgpu-unsafe-fp-atomics"="true" "uniform-work-group-size"="true" }
attributes #1 = { "amdgpu-flat-work-group-size"="256,256" "amdgpu-no-implicitarg-ptr" "amdgpu-no-dispatch-ptr" "amdgpu-no-dispatch-id" "amdgpu-no-queue-ptr" "uniform-work-group-size"="true" }
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
