	.text
	.amdgcn_target "amdgcn-amd-amdhsa--gfx1100"
	.amdhsa_code_object_version 5
	.globl	axpy
	.p2align	8
	.type	axpy,@function
axpy:
	s_clause 0x1
	s_load_b128 s[4:7], s[0:1], 0x0
	s_load_b64 s[8:9], s[0:1], 0x10
	v_and_b32_e32 v0, 0x3ff, v0
	v_mov_b32_e32 v1, 0
	s_load_b32 s0, s[0:1], 0x18
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_lshl_or_b32 v0, s2, 6, v0
	v_lshlrev_b64 v[0:1], 2, v[0:1]
	s_waitcnt lgkmcnt(0)
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_add_co_u32 v2, vcc, s6, v0
	v_add_co_ci_u32_e32 v3, vcc, s7, v1, vcc
	v_add_co_u32 v4, vcc, s8, v0
	v_add_co_ci_u32_e32 v5, vcc, s9, v1, vcc
	v_add_co_u32 v0, vcc, s4, v0
	global_load_b32 v2, v[2:3], off
	global_load_b32 v3, v[4:5], off
	v_add_co_ci_u32_e32 v1, vcc, s5, v1, vcc
	s_waitcnt vmcnt(0)
	v_fmac_f32_e32 v3, s0, v2
	global_store_b32 v[0:1], v3, off
	s_nop 0
	s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel axpy
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 28
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_wavefront_size32 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_sgpr_workgroup_id_z 1
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 2
		.amdhsa_next_free_vgpr 6
		.amdhsa_next_free_sgpr 10
		.amdhsa_reserve_vcc 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_workgroup_processor_mode 1
		.amdhsa_memory_ordered 1
		.amdhsa_forward_progress 0
		.amdhsa_shared_vgpr_count 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end0:
	.size	axpy, .Lfunc_end0-axpy
	.section	.AMDGPU.csdata,"",@progbits
	.text
	.globl	vector4
	.p2align	8
	.type	vector4,@function
vector4:
	s_load_b128 s[4:7], s[0:1], 0x0
	v_and_b32_e32 v0, 0x3ff, v0
	v_mov_b32_e32 v1, 0
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_lshl_or_b32 v0, s2, 6, v0
	v_lshlrev_b64 v[4:5], 4, v[0:1]
	s_waitcnt lgkmcnt(0)
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_add_co_u32 v0, vcc, s6, v4
	v_add_co_ci_u32_e32 v1, vcc, s7, v5, vcc
	v_add_co_u32 v4, vcc, s4, v4
	v_add_co_ci_u32_e32 v5, vcc, s5, v5, vcc
	global_load_b128 v[0:3], v[0:1], off
	s_waitcnt vmcnt(0)
	v_add_f32_e32 v6, v0, v0
	v_mul_f32_e32 v7, 0x40400000, v1
	v_mul_f32_e32 v8, 0.5, v3
	v_sub_f32_e32 v2, v2, v2
	s_delay_alu instid0(VALU_DEP_4) | instskip(NEXT) | instid1(VALU_DEP_4)
	v_add_f32_e32 v0, v6, v0
	v_add_f32_e32 v1, v7, v1
	s_delay_alu instid0(VALU_DEP_4)
	v_add_f32_e32 v3, v8, v3
	global_store_b128 v[4:5], v[0:3], off
	s_nop 0
	s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel vector4
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 16
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_wavefront_size32 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_sgpr_workgroup_id_z 1
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 2
		.amdhsa_next_free_vgpr 9
		.amdhsa_next_free_sgpr 8
		.amdhsa_reserve_vcc 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_workgroup_processor_mode 1
		.amdhsa_memory_ordered 1
		.amdhsa_forward_progress 0
		.amdhsa_shared_vgpr_count 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end1:
	.size	vector4, .Lfunc_end1-vector4
	.section	.AMDGPU.csdata,"",@progbits
	.text
	.globl	half_ops
	.p2align	8
	.type	half_ops,@function
half_ops:
	s_clause 0x1
	s_load_b64 s[8:9], s[0:1], 0x10
	s_load_b128 s[4:7], s[0:1], 0x0
	v_and_b32_e32 v0, 0x3ff, v0
	v_mov_b32_e32 v1, 0
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_lshl_or_b32 v0, s2, 6, v0
	v_lshlrev_b64 v[0:1], 1, v[0:1]
	s_waitcnt lgkmcnt(0)
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_add_co_u32 v2, vcc, s8, v0
	v_add_co_ci_u32_e32 v3, vcc, s9, v1, vcc
	v_add_co_u32 v4, vcc, s6, v0
	v_add_co_ci_u32_e32 v5, vcc, s7, v1, vcc
	v_add_co_u32 v0, vcc, s4, v0
	global_load_u16 v2, v[2:3], off
	global_load_u16 v3, v[4:5], off
	v_add_co_ci_u32_e32 v1, vcc, s5, v1, vcc
	s_waitcnt vmcnt(1)
	v_cvt_f32_f16_e32 v4, v2
	s_waitcnt vmcnt(0)
	v_mul_f16_e32 v5, v3, v2
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_rcp_f32_e32 v4, v4
	v_add_f16_e32 v3, v5, v3
	s_waitcnt_depctr 0xfff
	v_fma_mixlo_f16 v4, v3, v4, 0 op_sel_hi:[1,0,0]
	s_delay_alu instid0(VALU_DEP_1)
	v_div_fixup_f16 v2, v4, v2, v3
	global_store_b16 v[0:1], v2, off
	s_nop 0
	s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel half_ops
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 24
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_wavefront_size32 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_sgpr_workgroup_id_z 1
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 2
		.amdhsa_next_free_vgpr 6
		.amdhsa_next_free_sgpr 10
		.amdhsa_reserve_vcc 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_workgroup_processor_mode 1
		.amdhsa_memory_ordered 1
		.amdhsa_forward_progress 0
		.amdhsa_shared_vgpr_count 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end2:
	.size	half_ops, .Lfunc_end2-half_ops
	.section	.AMDGPU.csdata,"",@progbits
	.text
	.globl	half2
	.p2align	8
	.type	half2,@function
half2:
	s_clause 0x1
	s_load_b128 s[4:7], s[0:1], 0x0
	s_load_b64 s[0:1], s[0:1], 0x10
	v_and_b32_e32 v0, 0x3ff, v0
	v_mov_b32_e32 v1, 0
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_lshl_or_b32 v0, s2, 6, v0
	v_lshlrev_b64 v[0:1], 2, v[0:1]
	s_waitcnt lgkmcnt(0)
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_add_co_u32 v2, vcc, s6, v0
	v_add_co_ci_u32_e32 v3, vcc, s7, v1, vcc
	v_add_co_u32 v4, vcc, s0, v0
	v_add_co_ci_u32_e32 v5, vcc, s1, v1, vcc
	v_add_co_u32 v0, vcc, s4, v0
	global_load_b32 v2, v[2:3], off
	global_load_b32 v3, v[4:5], off
	v_add_co_ci_u32_e32 v1, vcc, s5, v1, vcc
	s_waitcnt vmcnt(0)
	v_pk_mul_f16 v3, v2, v3
	s_delay_alu instid0(VALU_DEP_1)
	v_pk_add_f16 v2, v3, v2
	global_store_b32 v[0:1], v2, off
	s_nop 0
	s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel half2
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 24
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_wavefront_size32 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_sgpr_workgroup_id_z 1
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 2
		.amdhsa_next_free_vgpr 6
		.amdhsa_next_free_sgpr 8
		.amdhsa_reserve_vcc 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_workgroup_processor_mode 1
		.amdhsa_memory_ordered 1
		.amdhsa_forward_progress 0
		.amdhsa_shared_vgpr_count 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end3:
	.size	half2, .Lfunc_end3-half2
	.section	.AMDGPU.csdata,"",@progbits
	.text
	.globl	bf16_add
	.p2align	8
	.type	bf16_add,@function
bf16_add:
	s_clause 0x1
	s_load_b128 s[4:7], s[0:1], 0x0
	s_load_b64 s[0:1], s[0:1], 0x10
	v_and_b32_e32 v0, 0x3ff, v0
	v_mov_b32_e32 v1, 0
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_lshl_or_b32 v0, s2, 6, v0
	v_lshlrev_b64 v[2:3], 1, v[0:1]
	v_mov_b32_e32 v0, v1
	s_waitcnt lgkmcnt(0)
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_3)
	v_add_co_u32 v4, vcc, s6, v2
	v_add_co_ci_u32_e32 v5, vcc, s7, v3, vcc
	v_add_co_u32 v6, vcc, s0, v2
	v_add_co_ci_u32_e32 v7, vcc, s1, v3, vcc
	global_load_d16_hi_b16 v0, v[4:5], off
	global_load_d16_hi_b16 v1, v[6:7], off
	s_waitcnt vmcnt(0)
	v_add_f32_e32 v4, v0, v1
	s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_1) | instid1(VALU_DEP_2)
	v_bfe_u32 v0, v4, 16, 1
	v_or_b32_e32 v5, 0x400000, v4
	v_add3_u32 v6, v0, v4, 0x7fff
	v_add_co_u32 v0, vcc, s4, v2
	v_add_co_ci_u32_e32 v1, vcc, s5, v3, vcc
	v_cmp_u_f32_e32 vcc, v4, v4
	s_delay_alu instid0(VALU_DEP_4)
	v_cndmask_b32_e32 v2, v6, v5, vcc
	global_store_d16_hi_b16 v[0:1], v2, off
	s_nop 0
	s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel bf16_add
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 24
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_wavefront_size32 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_sgpr_workgroup_id_z 1
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 2
		.amdhsa_next_free_vgpr 8
		.amdhsa_next_free_sgpr 8
		.amdhsa_reserve_vcc 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_workgroup_processor_mode 1
		.amdhsa_memory_ordered 1
		.amdhsa_forward_progress 0
		.amdhsa_shared_vgpr_count 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end4:
	.size	bf16_add, .Lfunc_end4-bf16_add
	.section	.AMDGPU.csdata,"",@progbits
	.text
	.globl	casts
	.p2align	8
	.type	casts,@function
casts:
	s_load_b64 s[4:5], s[0:1], 0x10
	v_and_b32_e32 v0, 0x3ff, v0
	v_mov_b32_e32 v3, 0
	s_delay_alu instid0(VALU_DEP_2) | instskip(SKIP_1) | instid1(VALU_DEP_1)
	v_lshl_or_b32 v2, s2, 6, v0
	s_load_b128 s[0:3], s[0:1], 0x0
	v_lshlrev_b64 v[0:1], 3, v[2:3]
	s_waitcnt lgkmcnt(0)
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_add_co_u32 v0, vcc, s4, v0
	v_add_co_ci_u32_e32 v1, vcc, s5, v1, vcc
	global_load_b64 v[6:7], v[0:1], off
	v_lshlrev_b64 v[0:1], 2, v[2:3]
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_add_co_u32 v0, vcc, s2, v0
	v_add_co_ci_u32_e32 v1, vcc, s3, v1, vcc
	global_load_b32 v10, v[0:1], off
	s_waitcnt vmcnt(1)
	v_cvt_f64_i32_e32 v[0:1], v7
	v_cvt_f64_u32_e32 v[8:9], v6
	v_xor_b32_e32 v11, v6, v7
	v_cls_i32_e32 v12, v7
	v_clz_i32_u32_e32 v13, v7
	s_delay_alu instid0(VALU_DEP_3) | instskip(NEXT) | instid1(VALU_DEP_3)
	v_ashrrev_i32_e32 v11, 31, v11
	v_add_nc_u32_e32 v12, -1, v12
	s_delay_alu instid0(VALU_DEP_3) | instskip(SKIP_4) | instid1(VALU_DEP_2)
	v_min_u32_e32 v17, 32, v13
	s_waitcnt vmcnt(0)
	v_cvt_f64_f32_e32 v[4:5], v10
	v_trunc_f32_e32 v16, v10
	v_cvt_f16_f32_e32 v10, v10
	v_mul_f32_e64 v14, 0x2f800000, |v16|
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_and_b32_e32 v10, 0xffff, v10
	v_floor_f32_e32 v18, v14
	v_mad_u64_u32 v[14:15], null, v2, 48, s[0:1]
	v_ashrrev_i32_e32 v2, 31, v16
	s_delay_alu instid0(VALU_DEP_3) | instskip(SKIP_1) | instid1(VALU_DEP_2)
	v_fma_f32 v16, 0xcf800000, v18, |v16|
	v_cvt_u32_f32_e32 v18, v18
	v_cvt_u32_f32_e32 v16, v16
	v_ldexp_f64 v[0:1], v[0:1], 32
	s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_3) | instid1(VALU_DEP_3)
	v_add_f64 v[0:1], v[0:1], v[8:9]
	v_add_nc_u32_e32 v8, 32, v11
	v_mov_b32_e32 v9, v3
	v_mov_b32_e32 v11, v3
	v_min_u32_e32 v8, v12, v8
	v_lshlrev_b64 v[12:13], v17, v[6:7]
	v_sub_nc_u32_e32 v17, 32, v17
	s_delay_alu instid0(VALU_DEP_3) | instskip(SKIP_1) | instid1(VALU_DEP_4)
	v_lshlrev_b64 v[6:7], v8, v[6:7]
	v_sub_nc_u32_e32 v8, 32, v8
	v_min_u32_e32 v12, 1, v12
	s_delay_alu instid0(VALU_DEP_3) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_min_u32_e32 v6, 1, v6
	v_or_b32_e32 v12, v13, v12
	v_xor_b32_e32 v13, v16, v2
	s_delay_alu instid0(VALU_DEP_3) | instskip(SKIP_1) | instid1(VALU_DEP_4)
	v_or_b32_e32 v6, v7, v6
	v_xor_b32_e32 v7, v18, v2
	v_cvt_f32_u32_e32 v12, v12
	s_delay_alu instid0(VALU_DEP_3) | instskip(SKIP_1) | instid1(VALU_DEP_4)
	v_cvt_f32_i32_e32 v16, v6
	v_sub_co_u32 v6, vcc, v13, v2
	v_sub_co_ci_u32_e32 v7, vcc, v7, v2, vcc
	s_delay_alu instid0(VALU_DEP_3)
	v_ldexp_f32 v2, v16, v8
	v_ldexp_f32 v8, v12, v17
	s_clause 0x2
	global_store_b128 v[14:15], v[4:7], off
	global_store_b128 v[14:15], v[0:3], off offset:16
	global_store_b128 v[14:15], v[8:11], off offset:32
	s_nop 0
	s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel casts
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 24
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_wavefront_size32 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_sgpr_workgroup_id_z 1
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 2
		.amdhsa_next_free_vgpr 19
		.amdhsa_next_free_sgpr 6
		.amdhsa_reserve_vcc 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_workgroup_processor_mode 1
		.amdhsa_memory_ordered 1
		.amdhsa_forward_progress 0
		.amdhsa_shared_vgpr_count 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end5:
	.size	casts, .Lfunc_end5-casts
	.section	.AMDGPU.csdata,"",@progbits
	.text
	.globl	bytes
	.p2align	8
	.type	bytes,@function
bytes:
	s_load_b128 s[4:7], s[0:1], 0x0
	v_and_b32_e32 v0, 0x3ff, v0
	s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_4) | instid1(VALU_DEP_1)
	v_lshl_or_b32 v0, s2, 6, v0
	s_waitcnt lgkmcnt(0)
	global_load_i8 v1, v0, s[6:7]
	s_waitcnt vmcnt(0)
	v_mul_i32_i24_e32 v1, 3, v1
	v_lshrrev_b32_e32 v1, 1, v1
	global_store_b8 v0, v1, s[4:5]
	s_nop 0
	s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel bytes
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 16
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_wavefront_size32 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_sgpr_workgroup_id_z 1
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 2
		.amdhsa_next_free_vgpr 2
		.amdhsa_next_free_sgpr 8
		.amdhsa_reserve_vcc 0
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_workgroup_processor_mode 1
		.amdhsa_memory_ordered 1
		.amdhsa_forward_progress 0
		.amdhsa_shared_vgpr_count 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end6:
	.size	bytes, .Lfunc_end6-bytes
	.section	.AMDGPU.csdata,"",@progbits
	.text
	.globl	lds_sum
	.p2align	8
	.type	lds_sum,@function
lds_sum:
	s_load_b128 s[4:7], s[0:1], 0x0
	v_and_b32_e32 v0, 0x3ff, v0
	v_mov_b32_e32 v2, 0
	s_movk_i32 s3, 0x80
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_lshl_or_b32 v1, s2, 8, v0
	v_lshlrev_b64 v[1:2], 2, v[1:2]
	s_waitcnt lgkmcnt(0)
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_add_co_u32 v1, vcc, s6, v1
	v_add_co_ci_u32_e32 v2, vcc, s7, v2, vcc
	global_load_b32 v2, v[1:2], off
	v_lshlrev_b32_e32 v1, 2, v0
	s_waitcnt vmcnt(0)
	ds_store_b32 v1, v2
	s_branch .LBB7_2
	.p2align	6
.LBB7_1:
	s_or_b64 exec, exec, s[0:1]
	s_lshr_b32 s3, s3, 1
	s_delay_alu instid0(SALU_CYCLE_1)
	s_cmp_lg_u32 s3, 0
	s_cbranch_scc0 .LBB7_4
.LBB7_2:
	s_mov_b64 s[0:1], exec
	s_waitcnt lgkmcnt(0)
	s_barrier
	buffer_gl0_inv
	v_cmpx_gt_u32_e64 s3, v0
	s_cbranch_execz .LBB7_1
	v_lshl_add_u32 v2, s3, 2, v1
	ds_load_b32 v2, v2
	ds_load_b32 v3, v1
	s_waitcnt lgkmcnt(0)
	v_add_f32_e32 v2, v2, v3
	ds_store_b32 v1, v2
	s_branch .LBB7_1
.LBB7_4:
	s_mov_b32 s3, 0
	s_mov_b64 s[0:1], exec
	v_cmpx_eq_u32_e32 0, v0
	s_cbranch_execz .LBB7_6
	v_mov_b32_e32 v0, 0
	s_lshl_b64 s[0:1], s[2:3], 2
	s_delay_alu instid0(SALU_CYCLE_1)
	s_add_u32 s0, s4, s0
	s_addc_u32 s1, s5, s1
	ds_load_b32 v1, v0
	s_waitcnt lgkmcnt(0)
	global_store_b32 v0, v1, s[0:1]
.LBB7_6:
	s_nop 0
	s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel lds_sum
		.amdhsa_group_segment_fixed_size 1024
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 16
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_wavefront_size32 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_sgpr_workgroup_id_z 1
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 2
		.amdhsa_next_free_vgpr 4
		.amdhsa_next_free_sgpr 8
		.amdhsa_reserve_vcc 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_workgroup_processor_mode 1
		.amdhsa_memory_ordered 1
		.amdhsa_forward_progress 0
		.amdhsa_shared_vgpr_count 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end7:
	.size	lds_sum, .Lfunc_end7-lds_sum
	.section	.AMDGPU.csdata,"",@progbits
	.text
	.globl	argmax
	.p2align	8
	.type	argmax,@function
argmax:
	s_clause 0x1
	s_load_b32 s8, s[0:1], 0x10
	s_load_b128 s[4:7], s[0:1], 0x0
	v_and_b32_e32 v0, 0x3ff, v0
	v_mov_b32_e32 v6, 0xff800000
	s_mov_b32 s9, 0
	s_mov_b64 s[0:1], 0
	s_delay_alu instid0(VALU_DEP_2) | instskip(SKIP_1) | instid1(VALU_DEP_1)
	v_lshl_or_b32 v0, s2, 6, v0
	s_waitcnt lgkmcnt(0)
	v_mad_u64_u32 v[1:2], null, s8, v0, 0
	s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_3) | instid1(VALU_DEP_4)
	v_lshlrev_b64 v[4:5], 2, v[1:2]
	v_mov_b32_e32 v2, 0
	v_mov_b32_e32 v1, 0
	v_mov_b32_e32 v3, 0
	v_add_co_u32 v4, vcc, s6, v4
	v_add_co_ci_u32_e32 v5, vcc, s7, v5, vcc
	.p2align	6
.LBB8_1:
	global_load_b32 v7, v[4:5], off
	s_waitcnt vmcnt(0)
	v_cmp_gt_f32_e32 vcc, v7, v6
	v_cndmask_b32_e64 v2, v2, s0, vcc
	s_add_u32 s0, s0, 1
	v_cndmask_b32_e64 v3, v3, s1, vcc
	s_addc_u32 s1, s1, 0
	v_cndmask_b32_e32 v6, v6, v7, vcc
	v_cmp_lt_i64_e64 s[2:3], s[0:1], s[8:9]
	v_add_co_u32 v4, vcc, v4, 4
	v_add_co_ci_u32_e32 v5, vcc, 0, v5, vcc
	s_delay_alu instid0(VALU_DEP_3)
	s_and_b64 vcc, exec, s[2:3]
	s_waitcnt_depctr 0xfffe
	s_cbranch_vccnz .LBB8_1
	v_lshlrev_b64 v[0:1], 3, v[0:1]
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_add_co_u32 v0, vcc, s4, v0
	v_add_co_ci_u32_e32 v1, vcc, s5, v1, vcc
	global_store_b64 v[0:1], v[2:3], off
	s_nop 0
	s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel argmax
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 20
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_wavefront_size32 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_sgpr_workgroup_id_z 1
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 2
		.amdhsa_next_free_vgpr 8
		.amdhsa_next_free_sgpr 10
		.amdhsa_reserve_vcc 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_workgroup_processor_mode 1
		.amdhsa_memory_ordered 1
		.amdhsa_forward_progress 0
		.amdhsa_shared_vgpr_count 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end8:
	.size	argmax, .Lfunc_end8-argmax
	.section	.AMDGPU.csdata,"",@progbits
	.text
	.globl	math
	.p2align	8
	.type	math,@function
math:
	s_load_b128 s[4:7], s[0:1], 0x0
	v_and_b32_e32 v0, 0x3ff, v0
	v_mov_b32_e32 v1, 0
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_lshl_or_b32 v0, s2, 6, v0
	v_lshlrev_b64 v[2:3], 2, v[0:1]
	v_lshlrev_b64 v[0:1], 5, v[0:1]
	s_waitcnt lgkmcnt(0)
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_3)
	v_add_co_u32 v2, vcc, s6, v2
	v_add_co_ci_u32_e32 v3, vcc, s7, v3, vcc
	s_delay_alu instid0(VALU_DEP_3) | instskip(NEXT) | instid1(VALU_DEP_4)
	v_add_co_u32 v8, vcc, s4, v0
	v_add_co_ci_u32_e32 v9, vcc, s5, v1, vcc
	global_load_b32 v3, v[2:3], off
	s_waitcnt vmcnt(0)
	v_mul_f32_e32 v1, 0x4f800000, v3
	v_floor_f32_e32 v0, v3
	v_cmp_gt_f32_e64 s[0:1], 0xf800000, v3
	v_mul_f32_e32 v5, 0x3fb8aa3b, v3
	v_cmp_gt_f32_e32 vcc, 0xc2fc0000, v3
	v_cmp_gt_f32_e64 s[2:3], 0x800000, v3
	v_div_scale_f32 v7, null, v3, v3, v0
	v_cndmask_b32_e64 v1, v3, v1, s[0:1]
	v_fma_f32 v12, 0x3fb8aa3b, v3, -v5
	v_rndne_f32_e32 v13, v5
	s_delay_alu instid0(VALU_DEP_4)
	v_rcp_f32_e32 v10, v7
	v_cndmask_b32_e64 v2, 0, 0x42800000, vcc
	v_sqrt_f32_e32 v11, v1
	v_fmamk_f32 v12, v3, 0x32a5705f, v12
	v_sub_f32_e32 v5, v5, v13
	v_cndmask_b32_e64 v4, 1.0, 0x4f800000, s[2:3]
	v_cndmask_b32_e64 v14, 1.0, 0x1f800000, vcc
	v_div_scale_f32 v18, vcc, v0, v3, v0
	s_delay_alu instid0(VALU_DEP_4) | instskip(NEXT) | instid1(TRANS32_DEP_2)
	v_add_f32_e32 v5, v5, v12
	v_fma_f32 v16, -v7, v10, 1.0
	v_mul_f32_e32 v4, v3, v4
	s_delay_alu instid0(TRANS32_DEP_1)
	v_add_nc_u32_e32 v17, -1, v11
	v_add_nc_u32_e32 v12, 1, v11
	v_cndmask_b32_e64 v15, 0, 0x42000000, s[2:3]
	v_fmac_f32_e32 v10, v16, v10
	v_add_f32_e32 v2, v3, v2
	v_fma_f32 v16, -v17, v11, v1
	v_fma_f32 v20, -v12, v11, v1
	v_exp_f32_e32 v5, v5
	v_mul_f32_e32 v19, v18, v10
	v_exp_f32_e32 v2, v2
	v_cmp_ge_f32_e64 s[2:3], 0, v16
	v_log_f32_e32 v16, v4
	v_cvt_i32_f32_e32 v13, v13
	v_fma_f32 v4, -v7, v19, v18
	v_mul_f32_e32 v6, 0.15915494, v3
	v_cndmask_b32_e64 v11, v11, v17, s[2:3]
	v_cmp_lt_f32_e64 s[2:3], 0, v20
	s_delay_alu instid0(VALU_DEP_4) | instskip(NEXT) | instid1(TRANS32_DEP_2)
	v_fmac_f32_e32 v19, v4, v10
	v_mul_f32_e32 v4, v2, v14
	v_ldexp_f32 v2, v5, v13
	s_delay_alu instid0(VALU_DEP_4)
	v_cndmask_b32_e64 v11, v11, v12, s[2:3]
	v_cmp_ngt_f32_e64 s[2:3], 0xc2ce8ed0, v3
	v_fma_f32 v7, -v7, v19, v18
	v_sin_f32_e32 v6, v6
	v_sub_f32_e32 v5, v16, v15
	v_mul_f32_e32 v12, 0x37800000, v11
	v_cndmask_b32_e64 v2, 0, v2, s[2:3]
	v_div_fmas_f32 v10, v7, v10, v19
	v_cmp_class_f32_e64 vcc, v1, 0x260
	s_delay_alu instid0(VALU_DEP_4) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_cndmask_b32_e64 v11, v11, v12, s[0:1]
	v_cndmask_b32_e32 v7, v11, v1, vcc
	v_cmp_nlt_f32_e32 vcc, 0x42b17218, v3
	v_rndne_f32_e32 v1, v3
	v_div_fixup_f32 v3, v10, v3, v0
	v_cndmask_b32_e32 v2, 0x7f800000, v2, vcc
	s_clause 0x1
	global_store_b128 v[8:9], v[4:7], off
	global_store_b128 v[8:9], v[0:3], off offset:16
	s_nop 0
	s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel math
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 16
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_wavefront_size32 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_sgpr_workgroup_id_z 1
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 2
		.amdhsa_next_free_vgpr 21
		.amdhsa_next_free_sgpr 8
		.amdhsa_reserve_vcc 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_workgroup_processor_mode 1
		.amdhsa_memory_ordered 1
		.amdhsa_forward_progress 0
		.amdhsa_shared_vgpr_count 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end9:
	.size	math, .Lfunc_end9-math
	.section	.AMDGPU.csdata,"",@progbits
	.text
	.globl	double_ops
	.p2align	8
	.type	double_ops,@function
double_ops:
	s_clause 0x1
	s_load_b64 s[8:9], s[0:1], 0x10
	s_load_b128 s[4:7], s[0:1], 0x0
	v_and_b32_e32 v0, 0x3ff, v0
	v_mov_b32_e32 v3, 0
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_lshl_or_b32 v2, s2, 6, v0
	v_lshlrev_b64 v[0:1], 3, v[2:3]
	v_lshlrev_b64 v[2:3], 4, v[2:3]
	s_waitcnt lgkmcnt(0)
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_3)
	v_add_co_u32 v4, vcc, s8, v0
	v_add_co_ci_u32_e32 v5, vcc, s9, v1, vcc
	v_add_co_u32 v0, vcc, s6, v0
	v_add_co_ci_u32_e32 v1, vcc, s7, v1, vcc
	global_load_b64 v[4:5], v[4:5], off
	global_load_b64 v[0:1], v[0:1], off
	s_waitcnt vmcnt(1)
	v_cmp_gt_f64_e64 s[0:1], 0x10000000, v[4:5]
	s_waitcnt vmcnt(0)
	v_div_scale_f64 v[8:9], null, v[4:5], v[4:5], v[0:1]
	v_div_scale_f64 v[20:21], vcc, v[0:1], v[4:5], v[0:1]
	s_delay_alu instid0(VALU_DEP_3) | instskip(NEXT) | instid1(VALU_DEP_3)
	v_cndmask_b32_e64 v6, 0, 1, s[0:1]
	v_rcp_f64_e32 v[12:13], v[8:9]
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_lshlrev_b32_e32 v6, 8, v6
	v_ldexp_f64 v[6:7], v[4:5], v6
	s_waitcnt_depctr 0xfff
	v_fma_f64 v[16:17], -v[8:9], v[12:13], 1.0
	v_rsq_f64_e32 v[10:11], v[6:7]
	s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_4) | instid1(VALU_DEP_2)
	v_fma_f64 v[12:13], v[12:13], v[16:17], v[12:13]
	s_waitcnt_depctr 0xfff
	v_mul_f64 v[14:15], v[6:7], v[10:11]
	v_mul_f64 v[10:11], v[10:11], 0.5
	v_fma_f64 v[16:17], -v[8:9], v[12:13], 1.0
	v_fma_f64 v[18:19], -v[10:11], v[14:15], 0.5
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_fma_f64 v[12:13], v[12:13], v[16:17], v[12:13]
	v_fma_f64 v[14:15], v[14:15], v[18:19], v[14:15]
	v_fma_f64 v[10:11], v[10:11], v[18:19], v[10:11]
	s_delay_alu instid0(VALU_DEP_3) | instskip(NEXT) | instid1(VALU_DEP_3)
	v_mul_f64 v[16:17], v[20:21], v[12:13]
	v_fma_f64 v[18:19], -v[14:15], v[14:15], v[6:7]
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_fma_f64 v[8:9], -v[8:9], v[16:17], v[20:21]
	v_fma_f64 v[14:15], v[18:19], v[10:11], v[14:15]
	s_delay_alu instid0(VALU_DEP_2) | instskip(SKIP_2) | instid1(VALU_DEP_4)
	v_div_fmas_f64 v[8:9], v[8:9], v[12:13], v[16:17]
	v_cndmask_b32_e64 v12, 0, 0xffffff80, s[0:1]
	v_cmp_class_f64_e64 vcc, v[6:7], 0x260
	v_fma_f64 v[18:19], -v[14:15], v[14:15], v[6:7]
	s_delay_alu instid0(VALU_DEP_4) | instskip(SKIP_1) | instid1(VALU_DEP_1)
	v_div_fixup_f64 v[0:1], v[8:9], v[4:5], v[0:1]
	v_add_co_u32 v4, s[0:1], s4, v2
	v_add_co_ci_u32_e64 v5, s[0:1], s5, v3, s[0:1]
	s_delay_alu instid0(VALU_DEP_4) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_fma_f64 v[10:11], v[18:19], v[10:11], v[14:15]
	v_ldexp_f64 v[10:11], v[10:11], v12
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_cndmask_b32_e32 v3, v11, v7, vcc
	v_cndmask_b32_e32 v2, v10, v6, vcc
	global_store_b128 v[4:5], v[0:3], off
	s_nop 0
	s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel double_ops
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 24
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_wavefront_size32 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_sgpr_workgroup_id_z 1
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 2
		.amdhsa_next_free_vgpr 22
		.amdhsa_next_free_sgpr 10
		.amdhsa_reserve_vcc 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_workgroup_processor_mode 1
		.amdhsa_memory_ordered 1
		.amdhsa_forward_progress 0
		.amdhsa_shared_vgpr_count 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end10:
	.size	double_ops, .Lfunc_end10-double_ops
	.section	.AMDGPU.csdata,"",@progbits
	.text
	.globl	divide
	.p2align	8
	.type	divide,@function
divide:
	s_load_b64 s[4:5], s[0:1], 0x10
	v_and_b32_e32 v0, 0x3ff, v0
	v_mov_b32_e32 v9, 0
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_lshl_or_b32 v8, s2, 6, v0
	v_mov_b32_e32 v4, v9
	s_delay_alu instid0(VALU_DEP_2) | instskip(SKIP_1) | instid1(VALU_DEP_1)
	v_lshlrev_b64 v[0:1], 3, v[8:9]
	s_waitcnt lgkmcnt(0)
	v_add_co_u32 v2, vcc, s4, v0
	s_delay_alu instid0(VALU_DEP_2)
	v_add_co_ci_u32_e32 v3, vcc, s5, v1, vcc
	s_load_b128 s[4:7], s[0:1], 0x0
	global_load_b64 v[12:13], v[2:3], off
	s_waitcnt lgkmcnt(0)
	v_add_co_u32 v0, vcc, s6, v0
	v_add_co_ci_u32_e32 v1, vcc, s7, v1, vcc
	global_load_b64 v[10:11], v[0:1], off
	s_waitcnt vmcnt(1)
	v_or_b32_e32 v17, 2, v12
	v_ashrrev_i32_e32 v19, 31, v12
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_cvt_f32_u32_e32 v1, v17
	v_add_nc_u32_e32 v0, v17, v19
	v_sub_nc_u32_e32 v2, 0, v17
	s_delay_alu instid0(VALU_DEP_3) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_rcp_iflag_f32_e32 v1, v1
	v_xor_b32_e32 v18, v0, v19
	s_delay_alu instid0(VALU_DEP_1)
	v_cvt_f32_u32_e32 v0, v18
	v_sub_nc_u32_e32 v3, 0, v18
	s_waitcnt_depctr 0xfff
	v_mul_f32_e32 v1, 0x4f7ffffe, v1
	v_rcp_iflag_f32_e32 v0, v0
	s_waitcnt vmcnt(0)
	v_or_b32_e32 v5, v11, v13
	s_delay_alu instid0(VALU_DEP_2) | instskip(SKIP_1) | instid1(VALU_DEP_3)
	v_cvt_u32_f32_e32 v1, v1
	v_sub_nc_u32_e32 v6, 0, v10
	v_cmp_ne_u64_e32 vcc, 0, v[4:5]
	s_delay_alu instid0(VALU_DEP_3) | instskip(SKIP_3) | instid1(VALU_DEP_2)
	v_mul_lo_u32 v2, v2, v1
	s_waitcnt_depctr 0xfff
	v_mul_f32_e32 v0, 0x4f7ffffe, v0
	v_max_i32_e32 v20, v10, v6
	v_cvt_u32_f32_e32 v0, v0
	v_mul_hi_u32 v2, v1, v2
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_mul_lo_u32 v3, v3, v0
	v_add_nc_u32_e32 v6, v1, v2
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_mul_hi_u32 v3, v0, v3
	v_add_nc_u32_e32 v4, v0, v3
	s_and_saveexec_b64 s[0:1], vcc
	s_delay_alu instid0(SALU_CYCLE_1)
	s_xor_b64 s[6:7], exec, s[0:1]
	s_cbranch_execz .LBB11_2
	v_ashrrev_i32_e32 v7, 31, v13
	s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_1) | instid1(VALU_DEP_2)
	v_add_co_u32 v0, vcc, v12, v7
	v_add_co_ci_u32_e32 v1, vcc, v13, v7, vcc
	v_xor_b32_e32 v16, v0, v7
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_xor_b32_e32 v23, v1, v7
	v_cvt_f32_u32_e32 v0, v16
	v_sub_co_u32 v3, vcc, 0, v16
	s_delay_alu instid0(VALU_DEP_3) | instskip(SKIP_1) | instid1(VALU_DEP_2)
	v_cvt_f32_u32_e32 v1, v23
	v_sub_co_ci_u32_e32 v24, vcc, 0, v23, vcc
	v_fmamk_f32 v0, v1, 0x4f800000, v0
	s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_2) | instid1(VALU_DEP_1)
	v_rcp_f32_e32 v0, v0
	s_waitcnt_depctr 0xfff
	v_mul_f32_e32 v0, 0x5f7ffffc, v0
	v_mul_f32_e32 v1, 0x2f800000, v0
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_trunc_f32_e32 v1, v1
	v_fmamk_f32 v0, v1, 0xcf800000, v0
	v_cvt_u32_f32_e32 v25, v1
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_cvt_u32_f32_e32 v26, v0
	v_mul_lo_u32 v2, v3, v25
	s_delay_alu instid0(VALU_DEP_2) | instskip(SKIP_1) | instid1(VALU_DEP_1)
	v_mul_lo_u32 v14, v24, v26
	v_mad_u64_u32 v[0:1], null, v3, v26, 0
	v_add3_u32 v27, v1, v2, v14
	s_delay_alu instid0(VALU_DEP_2) | instskip(SKIP_1) | instid1(VALU_DEP_3)
	v_mul_hi_u32 v28, v26, v0
	v_mad_u64_u32 v[14:15], null, v25, v0, 0
	v_mad_u64_u32 v[1:2], null, v26, v27, 0
	v_mad_u64_u32 v[21:22], null, v25, v27, 0
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_3)
	v_add_co_u32 v0, vcc, v28, v1
	v_add_co_ci_u32_e32 v1, vcc, 0, v2, vcc
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_add_co_u32 v0, vcc, v0, v14
	v_add_co_ci_u32_e32 v0, vcc, v1, v15, vcc
	v_add_co_ci_u32_e32 v1, vcc, 0, v22, vcc
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_add_co_u32 v0, vcc, v0, v21
	v_add_co_ci_u32_e32 v1, vcc, 0, v1, vcc
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_add_co_u32 v26, vcc, v26, v0
	v_add_co_ci_u32_e32 v25, vcc, v25, v1, vcc
	s_delay_alu instid0(VALU_DEP_2) | instskip(SKIP_1) | instid1(VALU_DEP_3)
	v_mul_lo_u32 v2, v24, v26
	v_mad_u64_u32 v[0:1], null, v3, v26, 0
	v_mul_lo_u32 v3, v3, v25
	s_delay_alu instid0(VALU_DEP_2) | instskip(SKIP_1) | instid1(VALU_DEP_3)
	v_mul_hi_u32 v24, v26, v0
	v_mad_u64_u32 v[14:15], null, v25, v0, 0
	v_add3_u32 v3, v1, v3, v2
	s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_1) | instid1(VALU_DEP_2)
	v_mad_u64_u32 v[1:2], null, v26, v3, 0
	v_mad_u64_u32 v[21:22], null, v25, v3, 0
	v_add_co_u32 v0, vcc, v24, v1
	s_delay_alu instid0(VALU_DEP_3) | instskip(SKIP_1) | instid1(VALU_DEP_3)
	v_add_co_ci_u32_e32 v1, vcc, 0, v2, vcc
	v_ashrrev_i32_e32 v24, 31, v11
	v_add_co_u32 v0, vcc, v0, v14
	s_delay_alu instid0(VALU_DEP_3) | instskip(SKIP_1) | instid1(VALU_DEP_4)
	v_add_co_ci_u32_e32 v0, vcc, v1, v15, vcc
	v_add_co_ci_u32_e32 v1, vcc, 0, v22, vcc
	v_add_co_u32 v2, vcc, v10, v24
	v_add_co_ci_u32_e32 v3, vcc, v11, v24, vcc
	s_delay_alu instid0(VALU_DEP_4) | instskip(NEXT) | instid1(VALU_DEP_4)
	v_add_co_u32 v0, vcc, v0, v21
	v_add_co_ci_u32_e32 v1, vcc, 0, v1, vcc
	s_delay_alu instid0(VALU_DEP_4) | instskip(NEXT) | instid1(VALU_DEP_3)
	v_xor_b32_e32 v21, v2, v24
	v_add_co_u32 v14, vcc, v26, v0
	s_delay_alu instid0(VALU_DEP_3) | instskip(SKIP_1) | instid1(VALU_DEP_3)
	v_add_co_ci_u32_e32 v22, vcc, v25, v1, vcc
	v_xor_b32_e32 v25, v3, v24
	v_mul_hi_u32 v26, v21, v14
	v_xor_b32_e32 v7, v24, v7
	s_delay_alu instid0(VALU_DEP_4) | instskip(NEXT) | instid1(VALU_DEP_4)
	v_mad_u64_u32 v[0:1], null, v21, v22, 0
	v_mad_u64_u32 v[2:3], null, v25, v14, 0
	v_mad_u64_u32 v[14:15], null, v25, v22, 0
	s_delay_alu instid0(VALU_DEP_3) | instskip(NEXT) | instid1(VALU_DEP_4)
	v_add_co_u32 v0, vcc, v26, v0
	v_add_co_ci_u32_e32 v1, vcc, 0, v1, vcc
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_add_co_u32 v0, vcc, v0, v2
	v_add_co_ci_u32_e32 v0, vcc, v1, v3, vcc
	v_add_co_ci_u32_e32 v1, vcc, 0, v15, vcc
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_add_co_u32 v2, vcc, v0, v14
	v_add_co_ci_u32_e32 v3, vcc, 0, v1, vcc
	s_delay_alu instid0(VALU_DEP_2) | instskip(SKIP_1) | instid1(VALU_DEP_3)
	v_mul_lo_u32 v14, v23, v2
	v_mad_u64_u32 v[0:1], null, v16, v2, 0
	v_mul_lo_u32 v15, v16, v3
	s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_2) | instid1(VALU_DEP_3)
	v_add3_u32 v1, v1, v15, v14
	v_add_co_u32 v15, vcc, v2, 2
	v_add_co_ci_u32_e32 v22, vcc, 0, v3, vcc
	v_sub_nc_u32_e32 v14, v25, v1
	v_sub_co_u32 v0, vcc, v21, v0
	s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_1) | instid1(VALU_DEP_1)
	v_sub_co_ci_u32_e64 v14, s[0:1], v14, v23, vcc
	v_add_co_u32 v21, s[0:1], v2, 1
	v_add_co_ci_u32_e64 v26, s[0:1], 0, v3, s[0:1]
	s_delay_alu instid0(VALU_DEP_4) | instskip(SKIP_2) | instid1(VALU_DEP_3)
	v_sub_co_u32 v27, s[0:1], v0, v16
	v_sub_co_ci_u32_e32 v1, vcc, v25, v1, vcc
	v_subrev_co_ci_u32_e64 v28, s[2:3], 0, v14, s[0:1]
	v_cmp_ge_u32_e32 vcc, v27, v16
	v_cndmask_b32_e64 v25, 0, -1, vcc
	s_delay_alu instid0(VALU_DEP_3)
	v_cmp_ge_u32_e32 vcc, v28, v23
	v_cndmask_b32_e64 v29, 0, -1, vcc
	v_cmp_ge_u32_e32 vcc, v0, v16
	v_cndmask_b32_e64 v30, 0, -1, vcc
	v_cmp_ge_u32_e32 vcc, v1, v23
	v_cndmask_b32_e64 v31, 0, -1, vcc
	v_cmp_eq_u32_e32 vcc, v28, v23
	v_cndmask_b32_e32 v25, v29, v25, vcc
	v_sub_co_ci_u32_e64 v14, vcc, v14, v23, s[0:1]
	v_cmp_eq_u32_e32 vcc, v1, v23
	v_sub_co_u32 v16, s[0:1], v27, v16
	s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_2) | instid1(VALU_DEP_2)
	v_subrev_co_ci_u32_e64 v14, s[0:1], 0, v14, s[0:1]
	v_cndmask_b32_e32 v23, v31, v30, vcc
	v_cmp_ne_u32_e32 vcc, 0, v25
	v_cmp_ne_u32_e64 s[0:1], 0, v23
	v_cndmask_b32_e32 v15, v21, v15, vcc
	v_cndmask_b32_e32 v22, v26, v22, vcc
	v_cndmask_b32_e32 v16, v27, v16, vcc
	v_cndmask_b32_e32 v14, v28, v14, vcc
	s_delay_alu instid0(VALU_DEP_4) | instskip(NEXT) | instid1(VALU_DEP_4)
	v_cndmask_b32_e64 v2, v2, v15, s[0:1]
	v_cndmask_b32_e64 v3, v3, v22, s[0:1]
	s_delay_alu instid0(VALU_DEP_4) | instskip(NEXT) | instid1(VALU_DEP_4)
	v_cndmask_b32_e64 v0, v0, v16, s[0:1]
	v_cndmask_b32_e64 v1, v1, v14, s[0:1]
	s_delay_alu instid0(VALU_DEP_4) | instskip(NEXT) | instid1(VALU_DEP_4)
	v_xor_b32_e32 v2, v2, v7
	v_xor_b32_e32 v3, v3, v7
	s_delay_alu instid0(VALU_DEP_4) | instskip(NEXT) | instid1(VALU_DEP_4)
	v_xor_b32_e32 v15, v0, v24
	v_xor_b32_e32 v14, v1, v24
	s_delay_alu instid0(VALU_DEP_4) | instskip(NEXT) | instid1(VALU_DEP_4)
	v_sub_co_u32 v0, vcc, v2, v7
	v_sub_co_ci_u32_e32 v1, vcc, v3, v7, vcc
	s_delay_alu instid0(VALU_DEP_4) | instskip(NEXT) | instid1(VALU_DEP_4)
	v_sub_co_u32 v2, vcc, v15, v24
	v_sub_co_ci_u32_e32 v3, vcc, v14, v24, vcc
.LBB11_2:
	s_or_saveexec_b64 s[0:1], s[6:7]
	v_mad_u64_u32 v[15:16], null, v20, v4, 0
	v_mad_u64_u32 v[14:15], null, v10, v6, 0
	v_sub_nc_u32_e32 v14, 0, v12
	v_cvt_f32_u32_e32 v21, v12
	s_xor_b64 exec, exec, s[0:1]
	s_cbranch_execz .LBB11_4
	s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_2) | instid1(VALU_DEP_1)
	v_rcp_iflag_f32_e32 v0, v21
	s_waitcnt_depctr 0xfff
	v_mul_f32_e32 v0, 0x4f7ffffe, v0
	v_cvt_u32_f32_e32 v0, v0
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_mul_lo_u32 v1, v14, v0
	v_mul_hi_u32 v1, v0, v1
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_add_nc_u32_e32 v0, v0, v1
	v_mul_hi_u32 v0, v10, v0
	s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_1) | instid1(VALU_DEP_2)
	v_mul_lo_u32 v1, v0, v12
	v_add_nc_u32_e32 v2, 1, v0
	v_sub_nc_u32_e32 v1, v10, v1
	s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_1) | instid1(VALU_DEP_2)
	v_sub_nc_u32_e32 v3, v1, v12
	v_cmp_ge_u32_e32 vcc, v1, v12
	v_cndmask_b32_e32 v3, v1, v3, vcc
	v_cndmask_b32_e32 v0, v0, v2, vcc
	v_mov_b32_e32 v1, 0
	s_delay_alu instid0(VALU_DEP_3) | instskip(NEXT) | instid1(VALU_DEP_3)
	v_sub_nc_u32_e32 v2, v3, v12
	v_add_nc_u32_e32 v4, 1, v0
	v_cmp_ge_u32_e32 vcc, v3, v12
	s_delay_alu instid0(VALU_DEP_3) | instskip(NEXT) | instid1(VALU_DEP_3)
	v_cndmask_b32_e32 v2, v3, v2, vcc
	v_cndmask_b32_e32 v0, v0, v4, vcc
	v_mov_b32_e32 v3, v1
.LBB11_4:
	s_or_b64 exec, exec, s[0:1]
	v_mov_b32_e32 v4, 0
	s_mov_b64 s[0:1], exec
	s_delay_alu instid0(VALU_DEP_1)
	v_cmpx_ne_u64_e32 0, v[4:5]
	s_xor_b64 s[6:7], exec, s[0:1]
	s_cbranch_execz .LBB11_6
	v_cvt_f32_u32_e32 v4, v12
	v_cvt_f32_u32_e32 v5, v13
	v_sub_co_u32 v7, vcc, 0, v12
	v_sub_co_ci_u32_e32 v14, vcc, 0, v13, vcc
	s_delay_alu instid0(VALU_DEP_3) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_fmamk_f32 v4, v5, 0x4f800000, v4
	v_rcp_f32_e32 v4, v4
	s_waitcnt_depctr 0xfff
	v_mul_f32_e32 v4, 0x5f7ffffc, v4
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_mul_f32_e32 v5, 0x2f800000, v4
	v_trunc_f32_e32 v5, v5
	s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_1) | instid1(VALU_DEP_2)
	v_fmamk_f32 v4, v5, 0xcf800000, v4
	v_cvt_u32_f32_e32 v25, v5
	v_cvt_u32_f32_e32 v26, v4
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_mul_lo_u32 v6, v7, v25
	v_mul_lo_u32 v21, v14, v26
	v_mad_u64_u32 v[4:5], null, v7, v26, 0
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_add3_u32 v27, v5, v6, v21
	v_mul_hi_u32 v28, v26, v4
	v_mad_u64_u32 v[21:22], null, v25, v4, 0
	s_delay_alu instid0(VALU_DEP_3) | instskip(SKIP_1) | instid1(VALU_DEP_2)
	v_mad_u64_u32 v[5:6], null, v26, v27, 0
	v_mad_u64_u32 v[23:24], null, v25, v27, 0
	v_add_co_u32 v4, vcc, v28, v5
	s_delay_alu instid0(VALU_DEP_3) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_add_co_ci_u32_e32 v5, vcc, 0, v6, vcc
	v_add_co_u32 v4, vcc, v4, v21
	s_delay_alu instid0(VALU_DEP_2) | instskip(SKIP_1) | instid1(VALU_DEP_2)
	v_add_co_ci_u32_e32 v4, vcc, v5, v22, vcc
	v_add_co_ci_u32_e32 v5, vcc, 0, v24, vcc
	v_add_co_u32 v4, vcc, v4, v23
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_add_co_ci_u32_e32 v5, vcc, 0, v5, vcc
	v_add_co_u32 v26, vcc, v26, v4
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_add_co_ci_u32_e32 v25, vcc, v25, v5, vcc
	v_mul_lo_u32 v6, v14, v26
	v_mad_u64_u32 v[4:5], null, v7, v26, 0
	s_delay_alu instid0(VALU_DEP_3) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_mul_lo_u32 v7, v7, v25
	v_mul_hi_u32 v14, v26, v4
	v_mad_u64_u32 v[21:22], null, v25, v4, 0
	s_delay_alu instid0(VALU_DEP_3) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_add3_u32 v7, v5, v7, v6
	v_mad_u64_u32 v[5:6], null, v26, v7, 0
	v_mad_u64_u32 v[23:24], null, v25, v7, 0
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_3)
	v_add_co_u32 v4, vcc, v14, v5
	v_add_co_ci_u32_e32 v5, vcc, 0, v6, vcc
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_add_co_u32 v4, vcc, v4, v21
	v_add_co_ci_u32_e32 v4, vcc, v5, v22, vcc
	v_add_co_ci_u32_e32 v5, vcc, 0, v24, vcc
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_add_co_u32 v4, vcc, v4, v23
	v_add_co_ci_u32_e32 v5, vcc, 0, v5, vcc
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_add_co_u32 v14, vcc, v26, v4
	v_add_co_ci_u32_e32 v23, vcc, v25, v5, vcc
	s_delay_alu instid0(VALU_DEP_2) | instskip(SKIP_1) | instid1(VALU_DEP_3)
	v_mul_hi_u32 v24, v10, v14
	v_mad_u64_u32 v[6:7], null, v11, v14, 0
	v_mad_u64_u32 v[4:5], null, v10, v23, 0
	v_mad_u64_u32 v[21:22], null, v11, v23, 0
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_3)
	v_add_co_u32 v4, vcc, v24, v4
	v_add_co_ci_u32_e32 v5, vcc, 0, v5, vcc
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_add_co_u32 v4, vcc, v4, v6
	v_add_co_ci_u32_e32 v4, vcc, v5, v7, vcc
	v_add_co_ci_u32_e32 v5, vcc, 0, v22, vcc
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_add_co_u32 v6, vcc, v4, v21
	v_add_co_ci_u32_e32 v7, vcc, 0, v5, vcc
	s_delay_alu instid0(VALU_DEP_2) | instskip(SKIP_1) | instid1(VALU_DEP_3)
	v_mul_lo_u32 v14, v13, v6
	v_mad_u64_u32 v[4:5], null, v12, v6, 0
	v_mul_lo_u32 v21, v12, v7
	s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_2) | instid1(VALU_DEP_3)
	v_add3_u32 v5, v5, v21, v14
	v_add_co_u32 v21, vcc, v6, 2
	v_add_co_ci_u32_e32 v22, vcc, 0, v7, vcc
	v_sub_nc_u32_e32 v14, v11, v5
	v_sub_co_u32 v23, vcc, v10, v4
	s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_1) | instid1(VALU_DEP_1)
	v_sub_co_ci_u32_e64 v4, s[0:1], v14, v13, vcc
	v_add_co_u32 v14, s[0:1], v6, 1
	v_add_co_ci_u32_e64 v24, s[0:1], 0, v7, s[0:1]
	s_delay_alu instid0(VALU_DEP_4) | instskip(SKIP_2) | instid1(VALU_DEP_3)
	v_sub_co_u32 v25, s[0:1], v23, v12
	v_sub_co_ci_u32_e32 v11, vcc, v11, v5, vcc
	v_subrev_co_ci_u32_e64 v26, s[2:3], 0, v4, s[0:1]
	v_cmp_ge_u32_e32 vcc, v25, v12
	v_cndmask_b32_e64 v5, 0, -1, vcc
	s_delay_alu instid0(VALU_DEP_3)
	v_cmp_ge_u32_e32 vcc, v26, v13
	v_cndmask_b32_e64 v27, 0, -1, vcc
	v_cmp_ge_u32_e32 vcc, v23, v12
	v_cndmask_b32_e64 v28, 0, -1, vcc
	v_cmp_ge_u32_e32 vcc, v11, v13
	v_cndmask_b32_e64 v29, 0, -1, vcc
	v_cmp_eq_u32_e32 vcc, v26, v13
	v_cndmask_b32_e32 v5, v27, v5, vcc
	v_sub_co_ci_u32_e64 v4, vcc, v4, v13, s[0:1]
	v_cmp_eq_u32_e32 vcc, v11, v13
	v_cndmask_b32_e32 v13, v29, v28, vcc
	s_delay_alu instid0(VALU_DEP_4) | instskip(SKIP_1) | instid1(VALU_DEP_1)
	v_cmp_ne_u32_e32 vcc, 0, v5
	v_sub_co_u32 v5, s[0:1], v25, v12
	v_subrev_co_ci_u32_e64 v4, s[0:1], 0, v4, s[0:1]
	v_cndmask_b32_e32 v12, v24, v22, vcc
	v_cndmask_b32_e32 v14, v14, v21, vcc
	v_cmp_ne_u32_e64 s[0:1], 0, v13
	s_delay_alu instid0(VALU_DEP_4) | instskip(SKIP_1) | instid1(VALU_DEP_3)
	v_cndmask_b32_e32 v13, v26, v4, vcc
	v_cndmask_b32_e32 v21, v25, v5, vcc
	v_cndmask_b32_e64 v5, v7, v12, s[0:1]
	v_cndmask_b32_e64 v4, v6, v14, s[0:1]
	s_delay_alu instid0(VALU_DEP_4) | instskip(NEXT) | instid1(VALU_DEP_4)
	v_cndmask_b32_e64 v7, v11, v13, s[0:1]
	v_cndmask_b32_e64 v6, v23, v21, s[0:1]
.LBB11_6:
	s_or_saveexec_b64 s[0:1], s[6:7]
	s_waitcnt_depctr 0xfffe
	v_ashrrev_i32_e32 v11, 31, v10
	s_xor_b64 exec, exec, s[0:1]
	s_cbranch_execz .LBB11_8
	v_rcp_iflag_f32_e32 v4, v21
	s_waitcnt_depctr 0xfff
	v_mul_f32_e32 v4, 0x4f7ffffe, v4
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_cvt_u32_f32_e32 v4, v4
	v_mul_lo_u32 v5, v14, v4
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_mul_hi_u32 v5, v4, v5
	v_add_nc_u32_e32 v4, v4, v5
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_mul_hi_u32 v4, v10, v4
	v_mul_lo_u32 v5, v4, v12
	v_add_nc_u32_e32 v6, 1, v4
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_sub_nc_u32_e32 v5, v10, v5
	v_sub_nc_u32_e32 v7, v5, v12
	v_cmp_ge_u32_e32 vcc, v5, v12
	s_delay_alu instid0(VALU_DEP_2) | instskip(SKIP_2) | instid1(VALU_DEP_3)
	v_cndmask_b32_e32 v7, v5, v7, vcc
	v_cndmask_b32_e32 v4, v4, v6, vcc
	v_mov_b32_e32 v5, 0
	v_sub_nc_u32_e32 v6, v7, v12
	s_delay_alu instid0(VALU_DEP_3) | instskip(SKIP_1) | instid1(VALU_DEP_3)
	v_add_nc_u32_e32 v13, 1, v4
	v_cmp_ge_u32_e32 vcc, v7, v12
	v_cndmask_b32_e32 v6, v7, v6, vcc
	s_delay_alu instid0(VALU_DEP_3)
	v_cndmask_b32_e32 v4, v4, v13, vcc
	v_mov_b32_e32 v7, v5
.LBB11_8:
	s_or_b64 exec, exec, s[0:1]
	v_mul_lo_u32 v12, v16, v18
	v_add_nc_u32_e32 v13, 1, v16
	v_mul_lo_u32 v14, v15, v17
	v_lshlrev_b64 v[8:9], 6, v[8:9]
	s_delay_alu instid0(VALU_DEP_4) | instskip(NEXT) | instid1(VALU_DEP_3)
	v_sub_nc_u32_e32 v12, v20, v12
	v_sub_nc_u32_e32 v14, v10, v14
	v_mov_b32_e32 v10, 0
	s_delay_alu instid0(VALU_DEP_3) | instskip(SKIP_1) | instid1(VALU_DEP_4)
	v_sub_nc_u32_e32 v20, v12, v18
	v_cmp_ge_u32_e32 vcc, v12, v18
	v_cmp_ge_u32_e64 s[0:1], v14, v17
	v_cndmask_b32_e32 v13, v16, v13, vcc
	s_delay_alu instid0(VALU_DEP_4) | instskip(SKIP_2) | instid1(VALU_DEP_4)
	v_cndmask_b32_e32 v12, v12, v20, vcc
	v_xor_b32_e32 v16, v11, v19
	v_add_nc_u32_e32 v19, 1, v15
	v_add_nc_u32_e32 v20, 1, v13
	s_delay_alu instid0(VALU_DEP_4)
	v_sub_nc_u32_e32 v21, v12, v18
	v_cmp_ge_u32_e32 vcc, v12, v18
	v_sub_nc_u32_e32 v18, v14, v17
	v_cndmask_b32_e64 v19, v15, v19, s[0:1]
	v_cndmask_b32_e32 v13, v13, v20, vcc
	v_cndmask_b32_e32 v20, v12, v21, vcc
	s_delay_alu instid0(VALU_DEP_4) | instskip(SKIP_1) | instid1(VALU_DEP_4)
	v_cndmask_b32_e64 v21, v14, v18, s[0:1]
	v_mov_b32_e32 v12, v10
	v_xor_b32_e32 v13, v13, v16
	s_delay_alu instid0(VALU_DEP_4)
	v_xor_b32_e32 v14, v20, v11
	v_add_nc_u32_e32 v20, 1, v19
	v_cmp_ge_u32_e32 vcc, v21, v17
	v_sub_nc_u32_e32 v22, v21, v17
	v_sub_nc_u32_e32 v13, v13, v16
	v_sub_nc_u32_e32 v15, v14, v11
	v_add_co_u32 v17, s[0:1], s4, v8
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_4)
	v_add_co_ci_u32_e64 v18, s[0:1], s5, v9, s[0:1]
	v_ashrrev_i32_e32 v14, 31, v13
	s_delay_alu instid0(VALU_DEP_4)
	v_ashrrev_i32_e32 v16, 31, v15
	v_cndmask_b32_e32 v9, v19, v20, vcc
	v_cndmask_b32_e32 v11, v21, v22, vcc
	s_clause 0x3
	global_store_b128 v[17:18], v[13:16], off
	global_store_b128 v[17:18], v[9:12], off offset:16
	global_store_b128 v[17:18], v[0:3], off offset:32
	global_store_b128 v[17:18], v[4:7], off offset:48
	s_nop 0
	s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel divide
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 24
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_wavefront_size32 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_sgpr_workgroup_id_z 1
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 2
		.amdhsa_next_free_vgpr 32
		.amdhsa_next_free_sgpr 8
		.amdhsa_reserve_vcc 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_workgroup_processor_mode 1
		.amdhsa_memory_ordered 1
		.amdhsa_forward_progress 0
		.amdhsa_shared_vgpr_count 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end11:
	.size	divide, .Lfunc_end11-divide
	.section	.AMDGPU.csdata,"",@progbits
	.text
	.globl	atomics
	.p2align	8
	.type	atomics,@function
atomics:
	s_load_b128 s[4:7], s[0:1], 0x0
	s_mov_b64 s[8:9], exec
	s_mov_b64 s[0:1], exec
	v_mbcnt_lo_u32_b32 v1, s8, 0
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_mbcnt_hi_u32_b32 v4, s9, v1
	v_cmpx_eq_u32_e32 0, v4
	s_cbranch_execz .LBB12_2
	s_bcnt1_i32_b64 s3, s[8:9]
	v_mov_b32_e32 v1, 0
	v_mov_b32_e32 v2, s3
	s_waitcnt lgkmcnt(0)
	global_atomic_add_u32 v2, v1, v2, s[4:5] glc
.LBB12_2:
	s_or_b64 exec, exec, s[0:1]
	v_and_b32_e32 v0, 0x3ff, v0
	v_mov_b32_e32 v1, 0
	s_waitcnt vmcnt(0)
	v_readfirstlane_b32 s8, v2
	s_mov_b64 s[0:1], exec
	v_lshl_or_b32 v0, s2, 6, v0
	s_brev_b32 s2, 1
.LBB12_3:
	s_ctz_i32_b64 s3, s[0:1]
	s_delay_alu instid0(VALU_DEP_1) | instid1(SALU_CYCLE_1)
	v_readlane_b32 s9, v0, s3
	s_lshl_b64 s[10:11], 1, s3
	s_delay_alu instid0(SALU_CYCLE_1) | instskip(NEXT) | instid1(VALU_DEP_1)
	s_and_not1_b64 s[0:1], s[0:1], s[10:11]
	s_max_i32 s2, s2, s9
	s_cmp_lg_u64 s[0:1], 0
	s_cbranch_scc1 .LBB12_3
	v_mbcnt_lo_u32_b32 v2, exec_lo, 0
	s_mov_b64 s[0:1], exec
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_mbcnt_hi_u32_b32 v2, exec_hi, v2
	v_cmpx_eq_u32_e32 0, v2
	s_xor_b64 s[0:1], exec, s[0:1]
	s_cbranch_execz .LBB12_6
	v_mov_b32_e32 v2, 0
	v_mov_b32_e32 v3, s2
	s_waitcnt lgkmcnt(0)
	global_atomic_max_i32 v2, v3, s[4:5] offset:8
.LBB12_6:
	s_or_b64 exec, exec, s[0:1]
	s_delay_alu instid0(SALU_CYCLE_1)
	s_mov_b64 s[0:1], exec
	s_mov_b32 s3, -1
.LBB12_7:
	s_ctz_i32_b64 s2, s[0:1]
	s_delay_alu instid0(SALU_CYCLE_1) | instskip(SKIP_1) | instid1(SALU_CYCLE_1)
	v_readlane_b32 s9, v0, s2
	s_lshl_b64 s[10:11], 1, s2
	s_and_not1_b64 s[0:1], s[0:1], s[10:11]
	s_delay_alu instid0(VALU_DEP_1)
	s_min_u32 s3, s3, s9
	s_cmp_lg_u64 s[0:1], 0
	s_cbranch_scc1 .LBB12_7
	v_mbcnt_lo_u32_b32 v2, exec_lo, 0
	s_mov_b32 s2, 0
	s_mov_b64 s[0:1], exec
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_mbcnt_hi_u32_b32 v2, exec_hi, v2
	v_cmpx_eq_u32_e32 0, v2
	s_xor_b64 s[0:1], exec, s[0:1]
	s_cbranch_execz .LBB12_10
	v_mov_b32_e32 v2, 0
	v_mov_b32_e32 v3, s3
	s_waitcnt lgkmcnt(0)
	global_atomic_min_u32 v2, v3, s[4:5] offset:16
.LBB12_10:
	s_or_b64 exec, exec, s[0:1]
	v_lshlrev_b32_e64 v2, v0, 1
	s_mov_b64 s[0:1], exec
.LBB12_11:
	s_delay_alu instid0(SALU_CYCLE_1)
	s_ctz_i32_b64 s3, s[0:1]
	s_delay_alu instid0(VALU_DEP_1) | instid1(SALU_CYCLE_1)
	v_readlane_b32 s9, v2, s3
	s_lshl_b64 s[10:11], 1, s3
	s_delay_alu instid0(SALU_CYCLE_1) | instskip(NEXT) | instid1(VALU_DEP_1)
	s_and_not1_b64 s[0:1], s[0:1], s[10:11]
	s_or_b32 s2, s2, s9
	s_cmp_lg_u64 s[0:1], 0
	s_cbranch_scc1 .LBB12_11
	v_mbcnt_lo_u32_b32 v2, exec_lo, 0
	s_mov_b64 s[0:1], exec
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_mbcnt_hi_u32_b32 v2, exec_hi, v2
	v_cmpx_eq_u32_e32 0, v2
	s_xor_b64 s[0:1], exec, s[0:1]
	s_cbranch_execz .LBB12_14
	v_mov_b32_e32 v2, 0
	v_mov_b32_e32 v3, s2
	s_waitcnt lgkmcnt(0)
	global_atomic_or_b32 v2, v3, s[4:5] offset:24
.LBB12_14:
	s_or_b64 exec, exec, s[0:1]
	v_mov_b32_e32 v3, 0
	v_mov_b32_e32 v2, 7
	s_mov_b64 s[0:1], exec
	s_mov_b64 s[2:3], exec
	s_waitcnt lgkmcnt(0)
	global_atomic_cmpswap_b32 v3, v[2:3], s[4:5] offset:32
	v_mbcnt_lo_u32_b32 v2, s0, 0
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_mbcnt_hi_u32_b32 v2, s1, v2
	v_cmpx_eq_u32_e32 0, v2
	s_cbranch_execz .LBB12_16
	s_bcnt1_i32_b64 s0, s[0:1]
	s_delay_alu instid0(SALU_CYCLE_1)
	v_cvt_f32_ubyte0_e32 v2, s0
	global_atomic_add_f32 v3, v2, s[4:5] offset:40
.LBB12_16:
	s_or_b64 exec, exec, s[2:3]
	s_delay_alu instid0(SALU_CYCLE_1)
	s_mov_b64 s[2:3], exec
	s_mov_b64 s[0:1], 0
.LBB12_17:
	s_ctz_i32_b64 s9, s[2:3]
	s_delay_alu instid0(SALU_CYCLE_1) | instskip(SKIP_1) | instid1(VALU_DEP_2)
	v_readlane_b32 s10, v0, s9
	v_readlane_b32 s11, v1, s9
	s_add_u32 s0, s0, s10
	s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_1) | instid1(SALU_CYCLE_1)
	s_addc_u32 s1, s1, s11
	s_lshl_b64 s[10:11], 1, s9
	s_and_not1_b64 s[2:3], s[2:3], s[10:11]
	s_delay_alu instid0(SALU_CYCLE_1)
	s_cmp_lg_u64 s[2:3], 0
	s_cbranch_scc1 .LBB12_17
	v_mbcnt_lo_u32_b32 v2, exec_lo, 0
	s_mov_b64 s[2:3], exec
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_mbcnt_hi_u32_b32 v2, exec_hi, v2
	v_cmpx_eq_u32_e32 0, v2
	s_xor_b64 s[2:3], exec, s[2:3]
	s_cbranch_execz .LBB12_20
	v_mov_b32_e32 v3, s1
	v_mov_b32_e32 v5, 0
	v_mov_b32_e32 v2, s0
	global_atomic_add_u64 v5, v[2:3], s[4:5] offset:48
.LBB12_20:
	s_or_b64 exec, exec, s[2:3]
	v_lshlrev_b64 v[0:1], 2, v[0:1]
	v_add_nc_u32_e32 v2, s8, v4
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_3)
	v_add_co_u32 v0, vcc, s6, v0
	v_add_co_ci_u32_e32 v1, vcc, s7, v1, vcc
	global_store_b32 v[0:1], v2, off
	s_nop 0
	s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel atomics
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 16
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_wavefront_size32 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_sgpr_workgroup_id_z 1
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 2
		.amdhsa_next_free_vgpr 6
		.amdhsa_next_free_sgpr 12
		.amdhsa_reserve_vcc 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_workgroup_processor_mode 1
		.amdhsa_memory_ordered 1
		.amdhsa_forward_progress 0
		.amdhsa_shared_vgpr_count 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end12:
	.size	atomics, .Lfunc_end12-atomics
	.section	.AMDGPU.csdata,"",@progbits
	.text
	.globl	gated
	.p2align	8
	.type	gated,@function
gated:
	s_clause 0x1
	s_load_b64 s[8:9], s[0:1], 0x10
	s_load_b128 s[4:7], s[0:1], 0x0
	v_and_b32_e32 v1, 0x3ff, v0
	s_add_i32 s3, s2, -1
	v_mov_b32_e32 v2, -1.0
	s_delay_alu instid0(VALU_DEP_2) | instskip(SKIP_1) | instid1(VALU_DEP_1)
	v_add_nc_u32_e32 v0, -1, v1
	s_waitcnt lgkmcnt(0)
	v_cmp_gt_u32_e32 vcc, s8, v0
	s_cmp_lt_u32 s3, s9
	s_cselect_b64 s[0:1], -1, 0
	s_delay_alu instid0(SALU_CYCLE_1) | instskip(NEXT) | instid1(SALU_CYCLE_1)
	s_and_b64 s[10:11], vcc, s[0:1]
	s_and_saveexec_b64 s[0:1], s[10:11]
	s_cbranch_execz .LBB13_2
	v_mad_u64_u32 v[2:3], null, s3, s8, v[0:1]
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_ashrrev_i32_e32 v3, 31, v2
	v_lshlrev_b64 v[2:3], 2, v[2:3]
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_add_co_u32 v2, vcc, s6, v2
	v_add_co_ci_u32_e32 v3, vcc, s7, v3, vcc
	global_load_b32 v2, v[2:3], off
.LBB13_2:
	s_or_b64 exec, exec, s[0:1]
	v_lshl_add_u32 v0, s2, 6, v1
	v_mov_b32_e32 v1, 0
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_lshlrev_b64 v[0:1], 2, v[0:1]
	v_add_co_u32 v0, vcc, s4, v0
	s_delay_alu instid0(VALU_DEP_2)
	v_add_co_ci_u32_e32 v1, vcc, s5, v1, vcc
	s_waitcnt vmcnt(0)
	global_store_b32 v[0:1], v2, off
	s_nop 0
	s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel gated
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 24
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_wavefront_size32 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_sgpr_workgroup_id_z 1
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 2
		.amdhsa_next_free_vgpr 4
		.amdhsa_next_free_sgpr 12
		.amdhsa_reserve_vcc 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_workgroup_processor_mode 1
		.amdhsa_memory_ordered 1
		.amdhsa_forward_progress 0
		.amdhsa_shared_vgpr_count 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end13:
	.size	gated, .Lfunc_end13-gated
	.section	.AMDGPU.csdata,"",@progbits
	.text
	.globl	collatz
	.p2align	8
	.type	collatz,@function
collatz:
	v_and_b32_e32 v0, 0x3ff, v0
	v_mov_b32_e32 v1, 0
	v_mov_b32_e32 v4, 0
	v_mov_b32_e32 v5, 0
	s_delay_alu instid0(VALU_DEP_4) | instskip(SKIP_1) | instid1(VALU_DEP_1)
	v_lshl_or_b32 v0, s2, 6, v0
	s_mov_b64 s[2:3], 0
	v_lshlrev_b64 v[2:3], 2, v[0:1]
	s_set_inst_prefetch_distance 0x1
	s_branch .LBB14_2
	.p2align	6
.LBB14_1:
	s_or_b64 exec, exec, s[4:5]
	s_add_u32 s2, s2, 1
	s_addc_u32 s3, s3, 0
	s_delay_alu instid0(SALU_CYCLE_1) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_cmp_lt_u64_e64 s[4:5], s[2:3], 4
	s_and_b64 vcc, exec, s[4:5]
	s_cbranch_vccz .LBB14_6
.LBB14_2:
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_add_co_u32 v6, vcc, v2, s2
	v_add_co_ci_u32_e32 v7, vcc, s3, v3, vcc
	v_mov_b32_e32 v9, v5
	s_delay_alu instid0(VALU_DEP_3) | instskip(NEXT) | instid1(VALU_DEP_3)
	v_add_co_u32 v6, vcc, v6, 1
	v_add_co_ci_u32_e32 v7, vcc, 0, v7, vcc
	v_mov_b32_e32 v8, v4
	s_mov_b64 s[4:5], 0
	s_branch .LBB14_4
	.p2align	6
.LBB14_3:
	s_or_b64 exec, exec, s[8:9]
	s_delay_alu instid0(SALU_CYCLE_1) | instskip(NEXT) | instid1(SALU_CYCLE_1)
	s_and_b64 s[8:9], exec, s[6:7]
	s_or_b64 s[4:5], s[8:9], s[4:5]
	s_delay_alu instid0(SALU_CYCLE_1)
	s_and_not1_b64 exec, exec, s[4:5]
	s_cbranch_execz .LBB14_1
.LBB14_4:
	s_delay_alu instid0(VALU_DEP_1)
	v_mov_b32_e32 v4, v8
	v_mov_b32_e32 v5, v9
	s_or_b64 s[6:7], s[6:7], exec
	s_mov_b64 s[8:9], exec
	v_cmpx_ne_u64_e32 1, v[6:7]
	s_cbranch_execz .LBB14_3
	v_mad_u64_u32 v[8:9], null, v6, 3, 1
	v_and_b32_e32 v12, 1, v6
	s_and_not1_b64 s[6:7], s[6:7], exec
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_3)
	v_cmp_eq_u32_e32 vcc, 1, v12
	v_mad_u64_u32 v[10:11], null, v7, 3, v[9:10]
	v_lshrrev_b64 v[6:7], 1, v[6:7]
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_cndmask_b32_e32 v6, v6, v8, vcc
	v_cndmask_b32_e32 v7, v7, v10, vcc
	v_add_co_u32 v8, vcc, v4, 1
	v_add_co_ci_u32_e32 v9, vcc, 0, v5, vcc
	s_branch .LBB14_3
.LBB14_6:
	s_set_inst_prefetch_distance 0x2
	s_load_b64 s[0:1], s[0:1], 0x0
	v_lshlrev_b64 v[0:1], 3, v[0:1]
	s_waitcnt lgkmcnt(0)
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_add_co_u32 v0, vcc, s0, v0
	v_add_co_ci_u32_e32 v1, vcc, s1, v1, vcc
	global_store_b64 v[0:1], v[4:5], off
	s_nop 0
	s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel collatz
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 8
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_wavefront_size32 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_sgpr_workgroup_id_z 1
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 2
		.amdhsa_next_free_vgpr 13
		.amdhsa_next_free_sgpr 10
		.amdhsa_reserve_vcc 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_workgroup_processor_mode 1
		.amdhsa_memory_ordered 1
		.amdhsa_forward_progress 0
		.amdhsa_shared_vgpr_count 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end14:
	.size	collatz, .Lfunc_end14-collatz
	.section	.AMDGPU.csdata,"",@progbits
	.text
	.globl	private_array
	.p2align	8
	.type	private_array,@function
private_array:
	v_mov_b32_e32 v1, 0
	s_mov_b32 s3, 0
.LBB15_1:
	s_delay_alu instid0(SALU_CYCLE_1) | instskip(SKIP_1) | instid1(SALU_CYCLE_1)
	v_mov_b32_e32 v2, s3
	s_add_i32 s3, s3, 1
	s_cmpk_lt_u32 s3, 0x50
	scratch_store_b32 v1, v2, off
	v_add_nc_u32_e32 v1, 4, v1
	s_cbranch_scc1 .LBB15_1
	s_load_b128 s[4:7], s[0:1], 0x0
	v_and_b32_e32 v0, 0x3ff, v0
	v_mov_b32_e32 v1, 0
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_lshl_or_b32 v0, s2, 6, v0
	v_lshlrev_b64 v[0:1], 2, v[0:1]
	s_waitcnt lgkmcnt(0)
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_add_co_u32 v2, vcc, s6, v0
	v_add_co_ci_u32_e32 v3, vcc, s7, v1, vcc
	v_add_co_u32 v0, vcc, s4, v0
	v_add_co_ci_u32_e32 v1, vcc, s5, v1, vcc
	global_load_b32 v2, v[2:3], off
	s_waitcnt vmcnt(0)
	v_mul_hi_u32 v3, 0xcccccccd, v2
	v_mul_hi_u32 v5, 0xcf6474a9, v2
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_lshrrev_b32_e32 v3, 6, v3
	v_lshrrev_b32_e32 v5, 6, v5
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_mul_lo_u32 v3, 0x50, v3
	v_mul_lo_u32 v5, 0x4f, v5
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_sub_nc_u32_e32 v3, v2, v3
	v_sub_nc_u32_e32 v2, v2, v5
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_lshl_add_u32 v3, v3, 2, 0
	v_lshl_add_u32 v2, v2, 2, 0
	scratch_load_b32 v4, v3, off
	s_waitcnt vmcnt(0)
	v_add_nc_u32_e32 v4, 0x3e8, v4
	scratch_store_b32 v3, v4, off
	scratch_load_b32 v2, v2, off
	s_waitcnt vmcnt(0)
	v_add_nc_u32_e32 v2, v2, v4
	global_store_b32 v[0:1], v2, off
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel private_array
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 324
		.amdhsa_kernarg_size 16
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_wavefront_size32 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 1
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_sgpr_workgroup_id_z 1
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 2
		.amdhsa_next_free_vgpr 6
		.amdhsa_next_free_sgpr 8
		.amdhsa_reserve_vcc 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_workgroup_processor_mode 1
		.amdhsa_memory_ordered 1
		.amdhsa_forward_progress 0
		.amdhsa_shared_vgpr_count 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end15:
	.size	private_array, .Lfunc_end15-private_array
	.section	.AMDGPU.csdata,"",@progbits
	.text
	.globl	bit_ops
	.p2align	8
	.type	bit_ops,@function
bit_ops:
	s_load_b128 s[4:7], s[0:1], 0x0
	v_and_b32_e32 v0, 0x3ff, v0
	v_mov_b32_e32 v2, 0
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_lshl_or_b32 v1, s2, 6, v0
	v_lshlrev_b64 v[3:4], 2, v[1:2]
	s_waitcnt lgkmcnt(0)
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_add_co_u32 v3, vcc, s6, v3
	v_add_co_ci_u32_e32 v4, vcc, s7, v4, vcc
	global_load_b32 v0, v[3:4], off
	s_waitcnt vmcnt(0)
	v_add_nc_u32_e32 v3, v0, v1
	v_lshlrev_b64 v[1:2], 4, v[1:2]
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_alignbit_b32 v3, v3, v3, 19
	v_add_co_u32 v4, vcc, s4, v1
	s_delay_alu instid0(VALU_DEP_3) | instskip(NEXT) | instid1(VALU_DEP_3)
	v_add_co_ci_u32_e32 v5, vcc, s5, v2, vcc
	v_xor_b32_e32 v0, v3, v0
	s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_2) | instid1(VALU_DEP_3)
	v_bfrev_b32_e32 v3, v0
	v_bcnt_u32_b32 v6, v0, 0
	v_clz_i32_u32_e32 v7, v0
	v_lshrrev_b32_e32 v8, 8, v3
	v_and_b32_e32 v3, 0xff, v3
	s_delay_alu instid0(VALU_DEP_3) | instskip(NEXT) | instid1(VALU_DEP_3)
	v_min_u32_e32 v1, 32, v7
	v_or_b32_e32 v2, v8, v6
	global_store_b128 v[4:5], v[0:3], off
	s_nop 0
	s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel bit_ops
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 16
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_wavefront_size32 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_sgpr_workgroup_id_z 1
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 2
		.amdhsa_next_free_vgpr 9
		.amdhsa_next_free_sgpr 8
		.amdhsa_reserve_vcc 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_workgroup_processor_mode 1
		.amdhsa_memory_ordered 1
		.amdhsa_forward_progress 0
		.amdhsa_shared_vgpr_count 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end16:
	.size	bit_ops, .Lfunc_end16-bit_ops
	.section	.AMDGPU.csdata,"",@progbits
	.text
	.globl	lane_ops
	.p2align	8
	.type	lane_ops,@function
lane_ops:
	s_load_b128 s[4:7], s[0:1], 0x0
	v_and_b32_e32 v0, 0x3ff, v0
	v_mov_b32_e32 v1, 0
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_lshl_or_b32 v0, s2, 6, v0
	v_lshlrev_b64 v[2:3], 2, v[0:1]
	s_waitcnt lgkmcnt(0)
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_add_co_u32 v2, vcc, s6, v2
	v_add_co_ci_u32_e32 v3, vcc, s7, v3, vcc
	global_load_b32 v2, v[2:3], off
	s_waitcnt vmcnt(0)
	v_add_nc_u32_dpp v3, v2, v2 row_xmask:1 row_mask:0xf bank_mask:0xf bound_ctrl:1
	ds_bpermute_b32 v2, v1, v2 offset:20
	v_lshlrev_b64 v[0:1], 3, v[0:1]
	v_add_nc_u32_dpp v3, v3, v3 row_xmask:2 row_mask:0xf bank_mask:0xf bound_ctrl:1
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_3)
	v_add_nc_u32_dpp v5, v3, v3 row_xmask:4 row_mask:0xf bank_mask:0xf bound_ctrl:1
	v_add_co_u32 v3, vcc, s4, v0
	s_delay_alu instid0(VALU_DEP_4) | instskip(NEXT) | instid1(VALU_DEP_3)
	v_add_co_ci_u32_e32 v4, vcc, s5, v1, vcc
	v_add_nc_u32_dpp v1, v5, v5 row_xmask:8 row_mask:0xf bank_mask:0xf bound_ctrl:1
	s_waitcnt lgkmcnt(0)
	global_store_b64 v[3:4], v[1:2], off
	s_nop 0
	s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel lane_ops
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 16
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_wavefront_size32 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_sgpr_workgroup_id_z 1
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 2
		.amdhsa_next_free_vgpr 6
		.amdhsa_next_free_sgpr 8
		.amdhsa_reserve_vcc 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_workgroup_processor_mode 1
		.amdhsa_memory_ordered 1
		.amdhsa_forward_progress 0
		.amdhsa_shared_vgpr_count 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end17:
	.size	lane_ops, .Lfunc_end17-lane_ops
	.section	.AMDGPU.csdata,"",@progbits
	.text
	.globl	generic
	.p2align	8
	.type	generic,@function
generic:
	s_load_b128 s[4:7], s[0:1], 0x0
	v_and_b32_e32 v3, 0x3ff, v0
	v_mov_b32_e32 v2, 0
	v_and_b32_e32 v0, 1, v0
	s_mov_b64 s[0:1], src_shared_base
	s_delay_alu instid0(VALU_DEP_3) | instskip(SKIP_1) | instid1(VALU_DEP_2)
	v_lshl_or_b32 v1, s2, 6, v3
	v_lshlrev_b32_e32 v5, 2, v3
	v_lshlrev_b64 v[1:2], 2, v[1:2]
	s_waitcnt lgkmcnt(0)
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_add_co_u32 v3, vcc, s6, v1
	v_add_co_ci_u32_e32 v4, vcc, s7, v2, vcc
	v_cmp_eq_u32_e32 vcc, 1, v0
	v_mov_b32_e32 v0, 0x42280000
	s_delay_alu instid0(VALU_DEP_3)
	v_cndmask_b32_e64 v4, v4, s1, vcc
	v_cndmask_b32_e32 v3, v3, v5, vcc
	ds_store_b32 v5, v0
	v_add_co_u32 v0, vcc, s4, v1
	v_add_co_ci_u32_e32 v1, vcc, s5, v2, vcc
	flat_load_b32 v3, v[3:4]
	s_waitcnt vmcnt(0) lgkmcnt(0)
	global_store_b32 v[0:1], v3, off
	s_nop 0
	s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel generic
		.amdhsa_group_segment_fixed_size 1024
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 16
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_wavefront_size32 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_sgpr_workgroup_id_z 1
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 2
		.amdhsa_next_free_vgpr 6
		.amdhsa_next_free_sgpr 8
		.amdhsa_reserve_vcc 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_workgroup_processor_mode 1
		.amdhsa_memory_ordered 1
		.amdhsa_forward_progress 0
		.amdhsa_shared_vgpr_count 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end18:
	.size	generic, .Lfunc_end18-generic
	.section	.AMDGPU.csdata,"",@progbits
	.text
	.globl	lookup
	.p2align	8
	.type	lookup,@function
lookup:
	v_and_b32_e32 v1, 7, v0
	s_getpc_b64 s[4:5]
	s_add_u32 s4, s4, table@rel32@lo+4
	s_addc_u32 s5, s5, table@rel32@hi+12
	s_and_b32 s3, s2, 7
	v_and_b32_e32 v0, 0x3ff, v0
	s_lshl_b32 s3, s3, 2
	v_lshlrev_b32_e32 v1, 2, v1
	v_mov_b32_e32 v3, 0
	s_delay_alu instid0(VALU_DEP_3)
	v_lshl_or_b32 v2, s2, 6, v0
	global_load_b32 v1, v1, s[4:5]
	s_load_b32 s3, s[4:5], s3 offset:0x0
	s_load_b64 s[0:1], s[0:1], 0x0
	v_lshlrev_b64 v[2:3], 2, v[2:3]
	s_waitcnt lgkmcnt(0)
	s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_2) | instid1(VALU_DEP_3)
	v_add_co_u32 v0, vcc, s0, v2
	s_waitcnt vmcnt(0)
	v_mad_u64_u32 v[4:5], null, 0x64, s3, v[1:2]
	v_add_co_ci_u32_e32 v1, vcc, s1, v3, vcc
	global_store_b32 v[0:1], v4, off
	s_nop 0
	s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel lookup
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 8
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_wavefront_size32 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_sgpr_workgroup_id_z 1
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 2
		.amdhsa_next_free_vgpr 6
		.amdhsa_next_free_sgpr 6
		.amdhsa_reserve_vcc 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_workgroup_processor_mode 1
		.amdhsa_memory_ordered 1
		.amdhsa_forward_progress 0
		.amdhsa_shared_vgpr_count 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end19:
	.size	lookup, .Lfunc_end19-lookup
	.section	.AMDGPU.csdata,"",@progbits
	.text
	.type	table,@object
	.section	.rodata,"a",@progbits
	.p2align	4, 0x0
table:
	.long	3
	.long	1
	.long	4
	.long	1
	.long	5
	.long	9
	.long	2
	.long	6
	.size	table, 32
	.section	".note.GNU-stack","",@progbits
