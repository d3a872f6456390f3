	.text
	.amdgcn_target "amdgcn-amd-amdhsa--gfx1100"
	.amdhsa_code_object_version 5
	.globl	wmma
	.p2align	8
	.type	wmma,@function
wmma:
	s_clause 0x1
	s_load_b128 s[4:7], s[0:1], 0x0
	s_load_b64 s[0:1], s[0:1], 0x10
	v_mov_b32_e32 v17, 0
	v_and_b32_e32 v1, 15, v0
	v_and_b32_e32 v0, 0x3ff, v0
	s_delay_alu instid0(VALU_DEP_2) | instskip(SKIP_1) | instid1(VALU_DEP_3)
	v_dual_mov_b32 v18, v17 :: v_dual_lshlrev_b32 v9, 5, v1
	v_mov_b32_e32 v20, v17
	v_dual_mov_b32 v19, v17 :: v_dual_lshlrev_b32 v0, 2, v0
	v_mov_b32_e32 v21, v17
	v_mov_b32_e32 v22, v17
	v_mov_b32_e32 v23, v17
	v_mov_b32_e32 v24, v17
	s_waitcnt lgkmcnt(0)
	s_clause 0x3
	global_load_b128 v[5:8], v9, s[6:7] offset:16
	global_load_b128 v[1:4], v9, s[6:7]
	global_load_b128 v[13:16], v9, s[0:1] offset:16
	global_load_b128 v[9:12], v9, s[0:1]
	s_waitcnt vmcnt(0)
	v_wmma_f32_16x16x16_f16 v[17:24], v[1:8], v[9:16], v[17:24]
	s_clause 0x7
	global_store_b32 v0, v17, s[4:5]
	global_store_b32 v0, v18, s[4:5] offset:128
	global_store_b32 v0, v19, s[4:5] offset:256
	global_store_b32 v0, v20, s[4:5] offset:384
	global_store_b32 v0, v21, s[4:5] offset:512
	global_store_b32 v0, v22, s[4:5] offset:640
	global_store_b32 v0, v23, s[4:5] offset:768
	global_store_b32 v0, v24, s[4:5] offset:896
	s_nop 0
	s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel wmma
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 24
		.amdhsa_user_sgpr_count 13
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_wavefront_size32 1
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_sgpr_workgroup_id_z 1
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 2
		.amdhsa_next_free_vgpr 25
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
.Lfunc_end0:
	.size	wmma, .Lfunc_end0-wmma
	.section	.AMDGPU.csdata,"",@progbits
	.text
	.section	".note.GNU-stack","",@progbits
