# SPDX-License-Identifier: MIT
"""Qualcomm tables: KGSL and msm calls (typed in here: they are in no fact table), registers and
packets of the Adreno command processor.

Structures are written as C would: members in order, naturally aligned, after `name size [older
sizes]`; the size is checked against what the members add up to. An older size is the same
structure cut off there, as earlier kernels knew it.
"""
import re

SIZES = {'u8': 1, 'u16': 2, 'u32': 4, 'u64': 8, 's32': 4, 's64': 8, 'ptr': 8}

# NR, name, structure. Every call has magic 0x09.
KGSL_CALLS = '''
02 DEVICE_GETPROPERTY kgsl_device_getproperty
06 DEVICE_WAITTIMESTAMP kgsl_device_waittimestamp
07 DEVICE_WAITTIMESTAMP_CTXTID kgsl_device_waittimestamp_ctxtid
10 RINGBUFFER_ISSUEIBCMDS kgsl_ringbuffer_issueibcmds
11 CMDSTREAM_READTIMESTAMP kgsl_cmdstream_readtimestamp
12 CMDSTREAM_FREEMEMONTIMESTAMP kgsl_cmdstream_freememontimestamp
13 DRAWCTXT_CREATE kgsl_drawctxt_create
14 DRAWCTXT_DESTROY kgsl_drawctxt_destroy
15 MAP_USER_MEM kgsl_map_user_mem
16 CMDSTREAM_READTIMESTAMP_CTXTID kgsl_cmdstream_readtimestamp_ctxtid
17 CMDSTREAM_FREEMEMONTIMESTAMP_CTXTID kgsl_cmdstream_freememontimestamp_ctxtid
20 SHAREDMEM_FROM_PMEM kgsl_sharedmem_from_pmem
21 SHAREDMEM_FREE kgsl_sharedmem_free
22 DRAWCTXT_BIND_GMEM_SHADOW kgsl_bind_gmem_shadow
23 SHAREDMEM_FROM_VMALLOC kgsl_sharedmem_from_vmalloc
24 SHAREDMEM_FLUSH_CACHE kgsl_sharedmem_free
25 DRAWCTXT_SET_BIN_BASE_OFFSET kgsl_drawctxt_set_bin_base_offset
2e CMDWINDOW_WRITE kgsl_cmdwindow_write
2f GPUMEM_ALLOC kgsl_gpumem_alloc
30 CFF_SYNCMEM kgsl_cff_syncmem
31 TIMESTAMP_EVENT_OLD kgsl_timestamp_event
32 SETPROPERTY kgsl_device_getproperty
33 TIMESTAMP_EVENT kgsl_timestamp_event
34 GPUMEM_ALLOC_ID kgsl_gpumem_alloc_id
35 GPUMEM_FREE_ID kgsl_gpumem_free_id
36 GPUMEM_GET_INFO kgsl_gpumem_get_info
37 GPUMEM_SYNC_CACHE kgsl_gpumem_sync_cache
38 PERFCOUNTER_GET kgsl_perfcounter_get
39 PERFCOUNTER_PUT kgsl_perfcounter_put
3a PERFCOUNTER_QUERY kgsl_perfcounter_query
3b PERFCOUNTER_READ kgsl_perfcounter_read
3c GPUMEM_SYNC_CACHE_BULK kgsl_gpumem_sync_cache_bulk
3d SUBMIT_COMMANDS kgsl_submit_commands
40 SYNCSOURCE_CREATE kgsl_syncsource_create
41 SYNCSOURCE_DESTROY kgsl_syncsource_create
42 SYNCSOURCE_CREATE_FENCE kgsl_syncsource_fence
43 SYNCSOURCE_SIGNAL_FENCE kgsl_syncsource_fence
44 CFF_SYNC_GPUOBJ kgsl_cff_sync_gpuobj
45 GPUOBJ_ALLOC kgsl_gpuobj_alloc
46 GPUOBJ_FREE kgsl_gpuobj_free
47 GPUOBJ_INFO kgsl_gpuobj_info
48 GPUOBJ_IMPORT kgsl_gpuobj_import
49 GPUOBJ_SYNC kgsl_gpuobj_sync
4a GPU_COMMAND kgsl_gpu_command
4b PREEMPTIONCOUNTER_QUERY kgsl_preemption_counters_query
4c GPUOBJ_SET_INFO kgsl_gpuobj_set_info
50 SPARSE_PHYS_ALLOC kgsl_sparse_phys_alloc
51 SPARSE_PHYS_FREE kgsl_object_id
52 SPARSE_VIRT_ALLOC kgsl_sparse_virt_alloc
53 SPARSE_VIRT_FREE kgsl_object_id
54 SPARSE_BIND kgsl_sparse_bind
55 GPU_SPARSE_COMMAND kgsl_gpu_sparse_command
56 GPUMEM_BIND_RANGES kgsl_gpumem_bind_ranges
57 GPU_AUX_COMMAND kgsl_gpu_aux_command
58 TIMELINE_CREATE kgsl_timeline_create
59 TIMELINE_WAIT kgsl_timeline_wait
5a TIMELINE_QUERY kgsl_timeline_val
5b TIMELINE_SIGNAL kgsl_timeline_signal
5c TIMELINE_FENCE_GET kgsl_timeline_fence_get
5d TIMELINE_DESTROY kgsl_object_id
5e GET_FAULT_REPORT kgsl_fault_report
5f RECURRING_COMMAND kgsl_recurring_command
60 READ_CALIBRATED_TIMESTAMPS kgsl_read_calibrated_timestamps
'''

# A member may be followed by `:set`, the name of its flags, enumeration or kind below.
KGSL_STRUCTS = '''
kgsl_device_getproperty 24: u32 type:property, ptr value:address, u64 sizebytes
kgsl_device_waittimestamp 8: u32 timestamp, u32 timeout
kgsl_device_waittimestamp_ctxtid 12: u32 context_id, u32 timestamp, u32 timeout
kgsl_ringbuffer_issueibcmds 32: u32 drawctxt_id, u64 ibdesc_addr:address, u32 numibs, u32 timestamp, u32 flags:cmdbatch
kgsl_cmdstream_readtimestamp 8: u32 type:timestamp_type, u32 timestamp
kgsl_cmdstream_freememontimestamp 16: u64 gpuaddr:address, u32 type:timestamp_type, u32 timestamp
kgsl_drawctxt_create 8: u32 flags:context, u32 drawctxt_id
kgsl_drawctxt_destroy 4: u32 drawctxt_id
kgsl_map_user_mem 48: s32 fd:signed, u64 gpuaddr:address, u64 len, u64 offset, u64 hostptr:address, u32 memtype:user_mem_type, u32 flags:mem
kgsl_cmdstream_readtimestamp_ctxtid 12: u32 context_id, u32 type:timestamp_type, u32 timestamp
kgsl_cmdstream_freememontimestamp_ctxtid 24: u32 context_id, u64 gpuaddr:address, u32 type:timestamp_type, u32 timestamp
kgsl_sharedmem_from_pmem 24: s32 pmem_fd:signed, u64 gpuaddr:address, u32 len, u32 offset
kgsl_sharedmem_free 8: u64 gpuaddr:address
kgsl_bind_gmem_shadow 72: u32 drawctxt_id, u32 gmem_desc.x, u32 gmem_desc.y, u32 gmem_desc.width, u32 gmem_desc.height, u32 gmem_desc.pitch, u32 shadow_x, u32 shadow_y, ptr shadow_buffer.hostptr:address, u64 shadow_buffer.gpuaddr:address, s32 shadow_buffer.size:signed, u32 shadow_buffer.format, u32 shadow_buffer.pitch, u32 shadow_buffer.enabled, u32 buffer_id
kgsl_sharedmem_from_vmalloc 16: u64 gpuaddr:address, u32 hostptr, u32 flags:mem
kgsl_drawctxt_set_bin_base_offset 8: u32 drawctxt_id, u32 offset
kgsl_cmdwindow_write 12: u32 target:cmdwindow, u32 addr, u32 data
kgsl_gpumem_alloc 24: u64 gpuaddr:address, u64 size, u32 flags:mem
kgsl_cff_syncmem 24: u64 gpuaddr:address, u64 len, u32 __pad[2]
kgsl_timestamp_event 32: s32 type:timestamp_event, u32 timestamp, u32 context_id, ptr priv:address, u64 len
kgsl_timestamp_event_fence 4: s32 fence_fd:signed
kgsl_gpumem_alloc_id 48: u32 id, u32 flags:mem, u64 size, u64 mmapsize, u64 gpuaddr:address, u64 __pad[2]
kgsl_gpumem_free_id 8: u32 id, u32 __pad
kgsl_gpumem_get_info 72: u64 gpuaddr:address, u32 id, u32 flags:mem, u64 size, u64 mmapsize, u64 useraddr:address, u64 __pad[4]
kgsl_gpumem_sync_cache 32: u64 gpuaddr:address, u32 id, u32 op:cache_op, u64 offset, u64 length
kgsl_perfcounter_get 20: u32 groupid:perfcounter_group, u32 countable, u32 offset, u32 offset_hi, u32 __pad
kgsl_perfcounter_put 16: u32 groupid:perfcounter_group, u32 countable, u32 __pad[2]
kgsl_perfcounter_query 32: u32 groupid:perfcounter_group, ptr countables:address, u32 count, u32 max_counters, u32 __pad[2]
kgsl_perfcounter_read_group 16: u32 groupid:perfcounter_group, u32 countable, u64 value
kgsl_perfcounter_read 24: ptr reads:address, u32 count, u32 __pad[2]
kgsl_gpumem_sync_cache_bulk 24: ptr id_list:address, u32 count, u32 op:cache_op, u32 __pad[2]
kgsl_cmd_syncpoint_timestamp 8: u32 context_id, u32 timestamp
kgsl_cmd_syncpoint_fence 4: s32 fd:signed
kgsl_cmd_syncpoint_timeline 16: u64 timelines:address, u32 count, u32 timelines_size
kgsl_cmd_syncpoint 24: s32 type:syncpoint_type, ptr priv:address, u64 size
kgsl_submit_commands 56: u32 context_id, u32 flags:cmdbatch, ptr cmdlist:address, u32 numcmds, ptr synclist:address, u32 numsyncs, u32 timestamp, u32 __pad[4]
kgsl_ibdesc 32: u64 gpuaddr:address, u64 __pad, u64 sizedwords, u32 ctrl:ibdesc
kgsl_device_constraint 24: u32 type:constraint, u32 context_id, ptr data:address, u64 size
kgsl_device_constraint_pwrlevel 4: u32 level:pwrlevel
kgsl_syncsource_create 16: u32 id, u32 __pad[3]
kgsl_syncsource_fence 24: u32 id, s32 fence_fd:signed, u32 __pad[4]
kgsl_cff_sync_gpuobj 24: u64 offset, u64 length, u32 id
kgsl_gpuobj_alloc 48: u64 size, u64 flags:mem, u64 va_len, u64 mmapsize, u32 id, u32 metadata_len, u64 metadata:address
kgsl_gpuobj_free 32: u64 flags:gpuobj_free, u64 priv:address, u32 id, u32 type:gpu_event, u32 len
kgsl_gpu_event_timestamp 8: u32 context_id, u32 timestamp
kgsl_gpu_event_fence 4: s32 fd:signed
kgsl_gpuobj_info 48: u64 gpuaddr:address, u64 flags:mem, u64 size, u64 va_len, u64 va_addr:address, u32 id
kgsl_gpuobj_import 32: u64 priv:address, u64 priv_len, u64 flags:mem, u32 type:user_mem_type, u32 id
kgsl_gpuobj_import_dma_buf 4: s32 fd:signed
kgsl_gpuobj_import_useraddr 8: u64 virtaddr:address
kgsl_gpuobj_sync_obj 24: u64 offset, u64 length, u32 id, u32 op:cache_op
kgsl_gpuobj_sync 16: u64 objs:address, u32 obj_len, u32 count
kgsl_command_object 32: u64 offset, u64 gpuaddr:address, u64 size, u32 flags:object, u32 id
kgsl_command_syncpoint 24: u64 priv:address, u64 size, u32 type:syncpoint_type
kgsl_gpu_command 64: u64 flags:cmdbatch, u64 cmdlist:address, u32 cmdsize, u32 numcmds, u64 objlist:address, u32 objsize, u32 numobjs, u64 synclist:address, u32 syncsize, u32 numsyncs, u32 context_id, u32 timestamp
kgsl_preemption_counters_query 24: u64 counters:address, u32 size_user, u32 size_priority_level, u32 max_priority_level
kgsl_gpuobj_set_info 32: u64 flags:set_info, u64 metadata:address, u32 id, u32 metadata_len, u32 type
kgsl_sparse_phys_alloc 32: u64 size, u64 pagesize, u64 flags:mem, u32 id
kgsl_sparse_virt_alloc 40: u64 size, u64 pagesize, u64 flags:mem, u64 gpuaddr:address, u32 id
kgsl_object_id 4: u32 id
kgsl_sparse_binding_object 40: u64 virtoffset, u64 physoffset, u64 size, u64 flags:sparse_bind, u32 id
kgsl_sparse_bind 24: u64 list:address, u32 id, u32 size, u32 count
kgsl_gpu_sparse_command 56: u64 flags:cmdbatch, u64 sparselist:address, u64 synclist:address, u32 sparsesize, u32 numsparse, u32 syncsize, u32 numsyncs, u32 context_id, u32 timestamp, u32 id
kgsl_gpumem_bind_range 32: u64 child_offset, u64 target_offset, u64 length, u32 child_id, u32 op:range_op
kgsl_gpumem_bind_ranges 32: u64 ranges:address, u32 ranges_nents, u32 ranges_size, u32 id, u32 flags:bind_ranges, s32 fence_id:signed, u32 padding
kgsl_gpu_aux_command_bind 32: u64 rangeslist:address, u64 numranges, u64 rangesize, u32 target, u32 padding
kgsl_gpu_aux_command_timeline 16: u64 timelines:address, u32 count, u32 timelines_size
kgsl_gpu_aux_command_generic 24: u64 priv:address, u64 size, u32 type:aux_command, u32 padding
kgsl_gpu_aux_command 48: u64 flags:aux_command, u64 cmdlist:address, u32 cmdsize, u32 numcmds, u64 synclist:address, u32 syncsize, u32 numsyncs, u32 context_id, u32 timestamp
kgsl_timeline_create 16: u64 seqno, u32 id, u32 padding
kgsl_timeline_val 16: u64 seqno, u32 timeline, u32 padding
kgsl_timeline_wait 40: s64 tv_sec:signed, s64 tv_nsec:signed, u64 timelines:address, u32 count, u32 timelines_size, u32 flags:timeline_wait, u32 padding
kgsl_timeline_signal 16: u64 timelines:address, u32 count, u32 timelines_size
kgsl_timeline_fence_get 16: u64 seqno, u32 timeline, s32 handle:signed
kgsl_pagefault_report 32: u64 fault_addr:address, u64 reserved[2], u32 fault_type:pagefault, u32 __pad
kgsl_fault 24: u64 fault:address, u32 type:fault_type, u32 count, u32 size, u32 padding
kgsl_fault_report 24: u64 faultlist:address, u32 faultnents, u32 faultsize, u32 context_id, u32 padding
kgsl_recurring_command 48: u64 flags:cmdbatch, u64 cmdlist:address, u32 cmdsize, u32 numcmds, u64 objlist:address, u32 objsize, u32 numobjs, u32 context_id, u32 padding
kgsl_read_calibrated_timestamps 32: u64 sources:address, u64 ts:address, u64 deviation:address, u32 count, u32 padding
kgsl_devinfo 40: u32 device_id, u32 chip_id:hex, u32 mmu_enabled, u64 gmem_gpubaseaddr:hex, u32 gpu_id:decimal, u64 gmem_sizebytes
kgsl_shadowprop 24: u64 gpuaddr:address, u64 size, u32 flags:device
kgsl_version 16: u32 drv_major:decimal, u32 drv_minor:decimal, u32 dev_major:decimal, u32 dev_minor:decimal
kgsl_reset_stat 4: u32 status:reset_stat
kgsl_property_u32 4: u32 value
kgsl_property_u64 8: u64 value
kgsl_sp_generic_mem 16: u64 local, u64 pvt
kgsl_ucode_version 8: u32 pfp, u32 pm4
kgsl_gpmu_version 12: u32 major, u32 minor, u32 features
kgsl_address_range 16: u64 gpuaddr:address, u64 size
kgsl_capabilities 24: u64 data:address, u64 size, u32 querytype:capabilities
kgsl_capabilities_properties 16: u64 list:address, u32 count
kgsl_context_property 24: u64 data:address, u32 size, u32 type:context_property, u32 contextid
kgsl_context_property_fault 8: s32 faults:signed, u32 timestamp
kgsl_gpu_model 32: u8 gpu_model[32]
kgsl_memstore 40: u32 soptimestamp, u32 sbz, u32 eoptimestamp, u32 sbz2, u32 preempted, u32 sbz3, u32 ref_wait_ts, u32 sbz4, u32 current_context, u32 sbz5
'''

# `flags` and `enum` sets: NAME=value; in flags NAME=hi:lo is a bit range, NAME=hi:lo:set one whose
# values have names.
KGSL_SETS = '''
enum property DEVICE_INFO=1 DEVICE_SHADOW=2 DEVICE_POWER=3 SHMEM=4 SHMEM_APERTURES=5 MMU_ENABLE=6 INTERRUPT_WAITS=7 VERSION=8 GPU_RESET_STAT=9 PWRCTRL=0xe PWR_CONSTRAINT=0x12 UCHE_GMEM_VADDR=0x13 SP_GENERIC_MEM=0x14 UCODE_VERSION=0x15 GPMU_VERSION=0x16 HIGHEST_BANK_BIT=0x17 DEVICE_BITNESS=0x18 DEVICE_QDSS_STM=0x19 MIN_ACCESS_LENGTH=0x1a UBWC_MODE=0x1b DEVICE_QTIMER=0x20 L3_PWR_CONSTRAINT=0x22 SECURE_BUFFER_ALIGNMENT=0x23 SECURE_CTXT_SUPPORT=0x24 SPEED_BIN=0x25 GAMING_BIN=0x26 QUERY_CAPABILITIES=0x27 CONTEXT_PROPERTY=0x28 GPU_MODEL=0x29 VK_DEVICE_ID=0x2a IS_LPAC_ENABLED=0x2b GPU_VA64_SIZE=0x2c IS_RAYTRACING_ENABLED=0x2d IS_FASTBLEND_ENABLED=0x2e UCHE_TRAP_BASE=0x2f IS_AQE_ENABLED=0x30 GPU_SECURE_VA_SIZE=0x31 GPU_SECURE_VA_INUSE=0x32
enum timestamp_type CONSUMED=1 RETIRED=2 QUEUED=3
enum timestamp_event GENLOCK=1 FENCE=2
enum user_mem_type PMEM=0 ASHMEM=1 ADDR=2 DMABUF=3
enum cmdwindow 2D=0 3D=1 MMU=2
enum syncpoint_type TIMESTAMP=0 FENCE=1 TIMELINE=2
enum constraint NONE=0 PWRLEVEL=1 L3_NONE=2 L3_PWRLEVEL=3
enum pwrlevel MIN=0 MAX=1
enum gpu_event TIMESTAMP=1 FENCE=2
enum range_op BIND=1 UNBIND=2
enum reset_stat NO_ERROR=0 GUILTY=1 INNOCENT=2 UNKNOWN=3
enum capabilities PROPERTIES=1
enum context_property FAULTS=1
enum timeline_wait ALL=1 ANY=2
enum fault_type NO_FAULT=0 PAGEFAULT=1
enum context_type ANY=0 GL=1 CL=2 C2D=3 RS=4 VK=5 UNKNOWN=0x1e
enum preempt_style DEFAULT=0 RINGBUFFER=1 FINEGRAIN=2
enum cache_mode WRITECOMBINE=0 UNCACHED=1 WRITETHROUGH=2 WRITEBACK=3
enum usermem NONE=0 PMEM=1 ASHMEM=2 ADDR=3 ION=4
enum mem_type OBJECTANY=0 FRAMEBUFFER=1 RENDERBUFFER=2 ARRAYBUFFER=3 ELEMENTARRAYBUFFER=4 VERTEXARRAYBUFFER=5 TEXTURE=6 SURFACE=7 EGL_SURFACE=8 GL=9 CL=10 CL_BUFFER_MAP=11 CL_BUFFER_NOMAP=12 CL_IMAGE_MAP=13 CL_IMAGE_NOMAP=14 CL_KERNEL_STACK=15 COMMAND=16 2D=17 EGL_IMAGE=18 EGL_SHADOW=19 MULTISAMPLE=20 KERNEL=255
enum perfcounter_group CP=0 RBBM=1 PC=2 VFD=3 HLSQ=4 VPC=5 TSE=6 RAS=7 UCHE=8 TP=9 SP=0xa RB=0xb PWR=0xc VBIF=0xd VBIF_PWR=0xe MH=0xf PA_SU=0x10 SQ=0x11 SX=0x12 TCF=0x13 TCM=0x14 TCR=0x15 L2=0x16 VSC=0x17 CCU=0x18 LRZ=0x19 CMP=0x1a ALWAYSON=0x1b SP_PWR=0x1c TP_PWR=0x1d RB_PWR=0x1e CCU_PWR=0x1f UCHE_PWR=0x20 CP_PWR=0x21 GPMU_PWR=0x22 ALWAYSON_PWR=0x23 GLC=0x24 FCHE=0x25 MHUB=0x26 GMU_XOCLK=0x27 GMU_GMUCLK=0x28 GMU_PERF=0x29 SW=0x2a UFC=0x2b BV_CP=0x2c BV_PC=0x2d BV_VFD=0x2e BV_VPC=0x2f BV_TP=0x30 BV_SP=0x31 BV_UFC=0x32 BV_TSE=0x33 BV_RAS=0x34 BV_LRZ=0x35 BV_HLSQ=0x36
flags context SAVE_GMEM=1 NO_GMEM_ALLOC=2 SUBMIT_IB_LIST=4 CTX_SWITCH=8 PREAMBLE=0x10 TRASH_STATE=0x20 PER_CONTEXT_TS=0x40 USER_GENERATED_TS=0x80 END_OF_FRAME=0x100 NO_FAULT_TOLERANCE=0x200 SYNC=0x400 PWR_CONSTRAINT=0x800 PRIORITY=15:12 IFH_NOP=0x10000 SECURE=0x20000 NO_SNAPSHOT=0x40000 SPARSE=0x80000 TYPE=24:20:context_type PREEMPT_STYLE=27:25:preempt_style INVALIDATE_ON_FAULT=0x10000000 LPAC=0x20000000 FAULT_INFO=0x40000000
flags cmdbatch MEMLIST=1 MARKER=2 SUBMIT_IB_LIST=4 CTX_SWITCH=8 PROFILING=0x10 PROFILING_KTIME=0x20 END_OF_FRAME=0x100 SYNC=0x400 PWR_CONSTRAINT=0x800 SPARSE=0x1000 START_RECURRING=0x100000 STOP_RECURRING=0x200000
flags object IB=1 CTXTSWITCH_PREAMBLE=2 IB_PREAMBLE=4 MEMOBJ=8 PROFILE=0x10
flags ibdesc MEMLIST=1 PROFILING_BUFFER=2
flags mem SECURE=8 USERMEM=7:5:usermem MEMTYPE=15:8:mem_type MEMALIGN=23:16 GPUREADONLY=0x1000000 GPUWRITEONLY=0x2000000 CACHEMODE=27:26:cache_mode USE_CPU_MAP=0x10000000 SPARSE_PHYS=0x20000000 SPARSE_VIRT=0x40000000 IOCOHERENT=0x80000000 FORCE_32BIT=0x100000000 GUARD_PAGE=0x200000000 VBO=0x400000000 VBO_NO_MAP_ZERO=0x800000000
flags cache_op CLEAN=1 INV=2 RANGE=0x80000000
flags gpuobj_free ON_EVENT=1
flags set_info METADATA=1 TYPE=2
flags sparse_bind BIND=1 UNBIND=2 MULTIPLE_TO_PHYS=0x400000000
flags bind_ranges ASYNC=1 FENCE_OUT=2
flags aux_command BIND=1 TIMELINE=2 SYNC=0x400
flags pagefault READ=1 WRITE=2 TRANSLATION=4 PERMISSION=8 EXTERNAL=0x10 TRANSACTION_STALLED=0x20
flags device SAFEMODE=1 INITIALIZED0=2 INITIALIZED=4 STARTED=8 ACTIVE=0x10 RESERVED0=0x20 RESERVED1=0x40 RESERVED2=0x80 SOFT_RESET=0x100 PER_CONTEXT_TIMESTAMPS=0x200
'''

# The core of DRM first, then driver calls (NR 0x40 on). Magic 'd'.
MSM_CALLS = '''
00 VERSION drm_version
01 GET_UNIQUE drm_unique
02 GET_MAGIC drm_auth
09 GEM_CLOSE drm_gem_close
0a GEM_FLINK drm_gem_flink
0b GEM_OPEN drm_gem_open
0c GET_CAP drm_get_cap
0d SET_CLIENT_CAP drm_set_client_cap
11 AUTH_MAGIC drm_auth
1e SET_MASTER -
1f DROP_MASTER -
2d PRIME_HANDLE_TO_FD drm_prime_handle
2e PRIME_FD_TO_HANDLE drm_prime_handle
bf SYNCOBJ_CREATE drm_syncobj_create
c0 SYNCOBJ_DESTROY drm_syncobj_destroy
c1 SYNCOBJ_HANDLE_TO_FD drm_syncobj_handle
c2 SYNCOBJ_FD_TO_HANDLE drm_syncobj_handle
c3 SYNCOBJ_WAIT drm_syncobj_wait
c4 SYNCOBJ_RESET drm_syncobj_array
c5 SYNCOBJ_SIGNAL drm_syncobj_array
ca SYNCOBJ_TIMELINE_WAIT drm_syncobj_timeline_wait
cb SYNCOBJ_QUERY drm_syncobj_timeline_array
cc SYNCOBJ_TRANSFER drm_syncobj_transfer
cd SYNCOBJ_TIMELINE_SIGNAL drm_syncobj_timeline_array
cf SYNCOBJ_EVENTFD drm_syncobj_eventfd
d1 SET_CLIENT_NAME drm_set_client_name
40 MSM_GET_PARAM drm_msm_param
41 MSM_SET_PARAM drm_msm_param
42 MSM_GEM_NEW drm_msm_gem_new
43 MSM_GEM_INFO drm_msm_gem_info
44 MSM_GEM_CPU_PREP drm_msm_gem_cpu_prep
45 MSM_GEM_CPU_FINI drm_msm_gem_cpu_fini
46 MSM_GEM_SUBMIT drm_msm_gem_submit
47 MSM_WAIT_FENCE drm_msm_wait_fence
48 MSM_GEM_MADVISE drm_msm_gem_madvise
4a MSM_SUBMITQUEUE_NEW drm_msm_submitqueue
4b MSM_SUBMITQUEUE_CLOSE drm_msm_submitqueue_id
4c MSM_SUBMITQUEUE_QUERY drm_msm_submitqueue_query
4d MSM_VM_BIND drm_msm_vm_bind
'''

MSM_STRUCTS = '''
drm_version 64: s32 version_major:decimal, s32 version_minor:decimal, s32 version_patchlevel:decimal, u64 name_len, ptr name:address, u64 date_len, ptr date:address, u64 desc_len, ptr desc:address
drm_unique 16: u64 unique_len, ptr unique:address
drm_auth 4: u32 magic
drm_gem_close 8: u32 handle, u32 pad
drm_gem_flink 8: u32 handle, u32 name
drm_gem_open 16: u32 name, u32 handle, u64 size
drm_get_cap 16: u64 capability:cap, u64 value
drm_set_client_cap 16: u64 capability:client_cap, u64 value
drm_set_client_name 16: u64 name_len, u64 name:address
drm_prime_handle 12: u32 handle, u32 flags:prime, s32 fd:signed
drm_syncobj_create 8: u32 handle, u32 flags:syncobj_create
drm_syncobj_destroy 8: u32 handle, u32 pad
drm_syncobj_handle 24 16: u32 handle, u32 flags:syncobj_handle, s32 fd:signed, u32 pad, u64 point
drm_syncobj_wait 40 32: u64 handles:address, s64 timeout_nsec:signed, u32 count_handles, u32 flags:syncobj_wait, u32 first_signaled, u32 pad, u64 deadline_nsec
drm_syncobj_timeline_wait 48 40: u64 handles:address, u64 points:address, s64 timeout_nsec:signed, u32 count_handles, u32 flags:syncobj_wait, u32 first_signaled, u32 pad, u64 deadline_nsec
drm_syncobj_array 16: u64 handles:address, u32 count_handles, u32 pad
drm_syncobj_timeline_array 24: u64 handles:address, u64 points:address, u32 count_handles, u32 flags:syncobj_query
drm_syncobj_transfer 32: u32 src_handle, u32 dst_handle, u64 src_point, u64 dst_point, u32 flags:syncobj_wait, u32 pad
drm_syncobj_eventfd 24: u32 handle, u32 flags:syncobj_wait, u64 point, s32 fd:signed, u32 pad
drm_msm_param 24 16: u32 pipe:pipe, u32 param:param, u64 value, u32 len, u32 pad
drm_msm_gem_new 16: u64 size, u32 flags:bo, u32 handle
drm_msm_gem_info 24 16: u32 handle, u32 info:info, u64 value, u32 len, u32 pad
drm_msm_gem_cpu_prep 24: u32 handle, u32 op:prep, s64 timeout.tv_sec:signed, s64 timeout.tv_nsec:signed
drm_msm_gem_cpu_fini 4: u32 handle
drm_msm_gem_submit 72 40: u32 flags:submit, u32 fence, u32 nr_bos, u32 nr_cmds, u64 bos:address, u64 cmds:address, s32 fence_fd:signed, u32 queueid, u64 in_syncobjs:address, u64 out_syncobjs:address, u32 nr_in_syncobjs, u32 nr_out_syncobjs, u32 syncobj_stride, u32 pad
drm_msm_gem_submit_bo 16: u32 flags:submit_bo, u32 handle, u64 presumed:address
drm_msm_gem_submit_cmd 32: u32 type:submit_cmd, u32 submit_idx, u32 submit_offset, u32 size, u32 pad, u32 nr_relocs, u64 relocs:address
drm_msm_gem_submit_reloc 24: u32 submit_offset, u32 or, s32 shift:signed, u32 reloc_idx, u64 reloc_offset
drm_msm_syncobj 16: u32 handle, u32 flags:submit_syncobj, u64 point
drm_msm_wait_fence 32: u32 fence, u32 flags:wait_fence, s64 timeout.tv_sec:signed, s64 timeout.tv_nsec:signed, u32 queueid
drm_msm_gem_madvise 12: u32 handle, u32 madv:madv, u32 retained
drm_msm_submitqueue 12: u32 flags:submitqueue, u32 prio, u32 id
drm_msm_submitqueue_id 4: u32 id
drm_msm_submitqueue_query 24: u64 data:address, u32 id, u32 param:submitqueue_param, u32 len, u32 pad
drm_msm_vm_bind 88: u32 flags:vm_bind, u32 nr_ops, s32 fence_fd:signed, u32 queue_id, u64 in_syncobjs:address, u64 out_syncobjs:address, u32 nr_in_syncobjs, u32 nr_out_syncobjs, u32 syncobj_stride, u32 op_stride, u32 op.op:vm_op, u32 op.handle, u64 op.obj_offset, u64 op.iova:address, u64 op.range, u32 op.flags:vm_op_flags, u32 op.pad
drm_msm_vm_bind_many 88: u32 flags:vm_bind, u32 nr_ops, s32 fence_fd:signed, u32 queue_id, u64 in_syncobjs:address, u64 out_syncobjs:address, u32 nr_in_syncobjs, u32 nr_out_syncobjs, u32 syncobj_stride, u32 op_stride, u64 ops:address, u64 unused[4]
drm_msm_vm_bind_op 40: u32 op:vm_op, u32 handle, u64 obj_offset, u64 iova:address, u64 range, u32 flags:vm_op_flags, u32 pad
'''

MSM_SETS = '''
enum cap DUMB_BUFFER=1 VBLANK_HIGH_CRTC=2 DUMB_PREFERRED_DEPTH=3 DUMB_PREFER_SHADOW=4 PRIME=5 TIMESTAMP_MONOTONIC=6 ASYNC_PAGE_FLIP=7 CURSOR_WIDTH=8 CURSOR_HEIGHT=9 ADDFB2_MODIFIERS=0x10 PAGE_FLIP_TARGET=0x11 CRTC_IN_VBLANK_EVENT=0x12 SYNCOBJ=0x13 SYNCOBJ_TIMELINE=0x14 ATOMIC_ASYNC_PAGE_FLIP=0x15
enum client_cap STEREO_3D=1 UNIVERSAL_PLANES=2 ATOMIC=3 ASPECT_RATIO=4 WRITEBACK_CONNECTORS=5 CURSOR_PLANE_HOTSPOT=6
enum pipe NONE=0 2D0=1 2D1=2 3D0=0x10
enum param GPU_ID=1 GMEM_SIZE=2 CHIP_ID=3 MAX_FREQ=4 TIMESTAMP=5 GMEM_BASE=6 PRIORITIES=7 PP_PGTABLE=8 FAULTS=9 SUSPENDS=0xa SYSPROF=0xb COMM=0xc CMDLINE=0xd VA_START=0xe VA_SIZE=0xf HIGHEST_BANK_BIT=0x10 RAYTRACING=0x11 UBWC_SWIZZLE=0x12 MACROTILE_MODE=0x13 UCHE_TRAP_BASE=0x14 HAS_PRR=0x15 EN_VM_BIND=0x16 AQE=0x17
enum info GET_OFFSET=0 GET_IOVA=1 SET_NAME=2 GET_NAME=3 SET_IOVA=4 GET_FLAGS=5 SET_METADATA=6 GET_METADATA=7
enum submit_cmd BUF=1 IB_TARGET_BUF=2 CTX_RESTORE_BUF=3
enum madv WILLNEED=0 DONTNEED=1
enum submitqueue_param FAULTS=0
enum vm_op UNMAP=0 MAP=1 MAP_NULL=2
flags prime CLOEXEC=0x80000 RDWR=2
flags syncobj_create SIGNALED=1
flags syncobj_handle SYNC_FILE=1 TIMELINE=2
flags syncobj_wait ALL=1 FOR_SUBMIT=2 AVAILABLE=4 DEADLINE=8
flags syncobj_query LAST_SUBMITTED=1
flags bo SCANOUT=1 GPU_READONLY=2 NO_SHARE=4 CACHED=0x10000 WC=0x20000 UNCACHED=0x40000 CACHED_COHERENT=0x80000
flags prep READ=1 WRITE=2 NOSYNC=4 BOOST=8
flags submit PIPE=15:0:pipe FENCE_SN_IN=0x2000000 SYNCOBJ_OUT=0x4000000 SYNCOBJ_IN=0x8000000 SUDO=0x10000000 FENCE_FD_OUT=0x20000000 FENCE_FD_IN=0x40000000 NO_IMPLICIT=0x80000000
flags submit_bo READ=1 WRITE=2 DUMP=4 NO_IMPLICIT=8
flags submit_syncobj RESET=1
flags wait_fence BOOST=1
flags submitqueue ALLOW_PREEMPT=1 VM_BIND=2
flags vm_bind FENCE_FD_IN=1 FENCE_FD_OUT=2
flags vm_op_flags DUMP=1
'''

# Packets of which the fact table has no fields, or only some: name.dword.field lo hi type.
MORE_FIELDS = '''
CP_INDIRECT_BUFFER 0 IB_BASE 0 63 address
CP_INDIRECT_BUFFER 2 IB_SIZE 0 19 uint
CP_INDIRECT_BUFFER_PFD 0 IB_BASE 0 63 address
CP_INDIRECT_BUFFER_PFD 2 IB_SIZE 0 19 uint
CP_INDIRECT_BUFFER_CHAIN 0 IB_BASE 0 63 address
CP_INDIRECT_BUFFER_CHAIN 2 IB_SIZE 0 19 uint
CP_MEM_TO_MEM 1 DST 0 63 address
CP_MEM_TO_MEM 3 SRC_A 0 63 address
CP_MEM_TO_MEM 5 SRC_B 0 63 address
CP_MEM_TO_MEM 7 SRC_C 0 63 address
'''

# Enumerations of register fields.
REGISTER_ENUMS = {
    'a3xx_threadmode': {'MULTI': 0, 'SINGLE': 1},
    'a6xx_threadsize': {'THREAD64': 0, 'THREAD128': 1},
    'a6xx_isam_mode': {'ISAMMODE_CL': 1, 'ISAMMODE_GL': 2},
    'a6xx_bindless_descriptor_size': {'BINDLESS_DESCRIPTOR_16B': 1, 'BINDLESS_DESCRIPTOR_64B': 3},
    'a7xx_workitem_rast_order': {'WORKITEMRASTORDER_LINEAR': 0, 'WORKITEMRASTORDER_TILED': 1},
}

# Registers that hold the low half of an address whose high half follows.
ADDRESS_REGISTER = re.compile(r'(_BASE|_ADDR|_IOVA)(_\d)?$')
# The packet fields that choose among alternatives, by the enumeration the alternatives name.
SELECTORS = {'event_write_dst': 'WRITE_DST', 'ts_wait_type': 'WAIT_DST', 'compare_mode': 'MODE'}
# Fields without a name in the fact table.
RENAMED = {('CP_EVENT_WRITE', 'DW3'): 'DATA'}
# Fields that mean something only in one mode, though the fact table does not say so.
MODES = {
    ('CP_SET_MARKER', 'MODE'): ('MARKER_MODE', 0), ('CP_SET_MARKER', 'USES_GMEM'): ('MARKER_MODE', 0),
    ('CP_SET_MARKER', 'IFPC_MODE'): ('MARKER_MODE', 1),
    ('CP_COND_REG_EXEC', 'PRED_BIT'): ('MODE', 1), ('CP_COND_REG_EXEC', 'BINNING'): ('MODE', 3),
    ('CP_COND_REG_EXEC', 'GMEM'): ('MODE', 3), ('CP_COND_REG_EXEC', 'SYSMEM'): ('MODE', 3),
    ('CP_COND_REG_EXEC', 'BV'): ('MODE', 5), ('CP_COND_REG_EXEC', 'BR'): ('MODE', 5),
    ('CP_COND_REG_EXEC', 'LPAC'): ('MODE', 5),
}


def aligned(value, to):
    return (value + to - 1) // to * to


def parse_struct(line):
    """(name, sizes, [(member, offset, size, elements)], [(member, set)])"""
    head, body = line.split(':', 1)
    name, *sizes = head.split()
    members, uses, offset, widest = [], [], 0, 1
    for item in body.split(','):
        kind, member = item.split()
        member, _, use = member.partition(':')
        array = re.fullmatch(r'(.*)\[(\d+)\]', member)
        member, elements = (array[1], int(array[2])) if array else (member, 1)
        offset = aligned(offset, SIZES[kind])
        widest = max(widest, SIZES[kind])
        members.append((member, offset, SIZES[kind] * elements, elements))
        offset += SIZES[kind] * elements
        if use:
            uses.append((member, use))
    if aligned(offset, widest) != int(sizes[0]):
        raise ValueError(f'{name}: {aligned(offset, widest)} bytes, not {sizes[0]}')
    return name, [int(size) for size in sizes], members, uses


def set_rows(text):
    for line in text.strip().split('\n'):
        kind, name, *values = line.split()
        for value in values:
            key, _, number = value.partition('=')
            if ':' in number:
                hi, lo, *named = number.split(':')
                yield ('bits', name, key, hi, lo, *named)
            else:
                yield kind, name, key, number


def ioctl_tables(out, prefix, about, calls, structs, sets):
    parsed = [parse_struct(line) for line in structs.strip().split('\n')]
    versions, uses = [], []
    for name, sizes, members, used in parsed:
        for size in sizes:
            versions.append((name, size, [f'{size}' if len(sizes) > 1 else '*'],
                             [m for m in members if m[1] + m[2] <= size]))
        uses += [('use', name, member, use) for member, use in used]
    known = {name for name, *_ in parsed}
    rows = [line.split() for line in calls.strip().split('\n')]
    missing = [struct for _, _, struct in rows if struct != '-' and struct not in known]
    if missing:
        raise ValueError(f'no structure {missing}')
    out.table(f'{prefix}_calls', f'{about}: NR, name, argument structure.',
              [(f'0x{nr}', name, struct) for nr, name, struct in rows])
    out.structs(f'{prefix}_structs', f'{about}: argument structures; a version is a size.', versions)
    out.table(f'{prefix}_values', f'{about}: enum|flags SET NAME VALUE, bits SET NAME HI LO [ENUM],\n'
              'use STRUCT MEMBER SET.', list(set_rows(sets)) + uses)


def split_type(text):
    """`uint shr2` -> (uint, 2)"""
    words, shift = [], 0
    for word in text.split():
        if word.startswith('shr'):
            shift = int(word[3:])
        else:
            words.append(word)
    return ' '.join(words), shift


def registers(facts, out):
    entries = {}
    for row in facts.rows('a6xx_regs'):
        offset = int(row['offset'], 16)
        if offset < 0x20:  # descriptors, not registers
            continue
        gen = row['gen'][1]
        entry = entries.setdefault((offset, gen, row['name']), [0, []])
        if row['kind'].startswith('array'):
            entry[0] = int(row['kind'].split()[2])
        elif row['kind'] == 'field':
            kind, shift = split_type(row['type_shift'])
            entry[1].append((row['field'], int(row['lo']), int(row['hi']), kind, shift or ''))
    taken = {offset for offset, *_ in entries}
    rows, done = [], set()
    for (offset, gen, name), (stride, fields) in sorted(entries.items()):
        if (offset, gen) in done:  # an older name of the same register
            continue
        done.add((offset, gen))
        kind = f'array{stride}' if stride else 'reg'
        if not stride and ADDRESS_REGISTER.search(name) and offset + 1 not in taken:
            kind = 'reg64'
        rows.append((f'0x{offset:04x}', gen, name, kind))
        rows += [('', *field) for field in sorted(fields, key=lambda f: (f[1], f[2], f[0]))]
    out.table('adreno_regs', 'Registers: OFFSET GEN NAME reg|reg64|arraySTRIDE, then their fields:\n'
              'NAME LO HI TYPE SHIFT. What is listed for gen 6 holds for 7 unless 7 has its own.', rows)


def generations(text):
    return ''.join(g[1] for g in ('a6xx', 'a7xx') if text == 'all' or g in text)


def packet_fields(facts):
    """{packet: [[dword, lo, hi, name, type, shift, selector, value]]} with halves joined."""
    enums = {}
    for row in facts.rows('adreno_pm4'):
        if row['kind'].startswith('enum:'):
            enums.setdefault(row['kind'][5:], {})[row['name']] = row['value']
    packets = {}
    for row in facts.rows('adreno_pm4'):
        if row['kind'] != 'packet':
            continue
        packet, *path = row['name'].split('.')
        name = path[-1] if not path[-1].isdigit() else f'DW{row["dword"]}'
        kind, shift = split_type(row['type'] + (' ' + row['note'] if 'shr' in row['note'] else ''))
        shift = 0 if row['note'].strip().startswith('shr0') else shift
        variant, selector, value = row['gens'].strip(), '', ''
        note = re.search(r'varset=(\w+)', row['note'])
        if note and note[1] == 'chip':
            if variant == 'A4XX':
                continue
        elif note:
            selector = SELECTORS[note[1]]
            value = int(enums[note[1]][variant], 16)
        name = RENAMED.get((packet, name), name)
        if kind == 'hex' and (row['lo'], row['hi']) == ('0', '17'):
            kind = 'register'
        if (packet, name) in MODES:
            selector, value = MODES[packet, name]
        packets.setdefault(packet, []).append(
            [int(row['dword']), int(row['lo']), int(row['hi']), name, kind, shift, selector, value])
    for line in MORE_FIELDS.strip().split('\n'):
        packet, dword, name, lo, hi, kind = line.split()
        packets.setdefault(packet, []).append([int(dword), int(lo), int(hi), name, kind, 0, '', ''])
    return {packet: join_halves(fields) for packet, fields in packets.items()}


def join_halves(fields):
    """One 64-bit address where the table has low and high dwords."""
    wide = [f for f in fields if f[2] > 31]
    out = []
    for field in fields:
        dword, lo, hi, name, kind, shift, *rest = field
        covered = [w for w in wide if w is not field and w[6:] == rest and w[0] <= dword <= w[0] + 1
                   and hi <= 31]
        if covered:
            continue
        base = re.sub(r'_LO$', '', name)
        high = [f for f in fields if f[0] == dword + 1 and f[1:3] == [0, 31] and f[6:] == rest
                and f[3] in (base + '_HI', name + '_HI')]
        if high and lo == 0 and hi == 31:
            out.append([dword, 0, 63, base, 'address', 0, *rest])
        elif any(f[0] == dword - 1 and f[1:3] == [0, 31] and (lo, hi) == (0, 31) and f[6:] == rest
                 and name == re.sub(r'_LO$', '', f[3]) + '_HI' for f in fields):
            continue
        else:
            if hi > 31:
                kind = 'address'
                name = 'ADDR' if name.startswith('DW') else name
            out.append([dword, lo, hi, name, kind, shift, *rest])
    return sorted(out, key=lambda f: (f[0], f[1], f[3]))


def packets(facts, out):
    rows, used = [], {'vgt_event_type'}
    opcodes, fields = [], packet_fields(facts)
    for row in facts.rows('adreno_pm4'):
        if row['kind'] == 'opcode' and row['name'].startswith('CP_') and generations(row['gens']):
            opcodes.append((row['value'], generations(row['gens']), row['name']))
    for value, gens, name in sorted(opcodes):
        rows.append(('opcode', value, gens, name))
        shape = 'CP_LOAD_STATE6' if name.startswith('CP_LOAD_STATE6') else name
        for dword, lo, hi, field, kind, shift, selector, number in fields.get(shape, []):
            rows.append(('', dword, lo, hi, field, kind, shift or '', selector, number))
            used.add(kind)
    for row in facts.rows('adreno_pm4'):
        if row['kind'] == 'event' and generations(row['gens']):
            rows.append(('enum', 'vgt_event_type', row['value'], generations(row['gens']), row['name']))
        elif row['kind'].startswith('enum:') and row['kind'][5:] in used:
            gens = '7' if row['gens'].startswith('A7XX') else '67'
            rows.append(('enum', row['kind'][5:], row['value'], gens, row['name']))
    for name, values in REGISTER_ENUMS.items():
        rows += [('enum', name, f'0x{value:02x}', '67', key) for key, value in values.items()]
    out.table('adreno_packets', 'Type-7 packets: opcode VALUE GENS NAME, then their fields:\n'
              'DWORD LO HI NAME TYPE SHIFT SELECTOR VALUE (a field that is there only where SELECTOR\n'
              'has VALUE). enum TYPE VALUE GENS NAME.', rows)


def generate(facts, out):
    ioctl_tables(out, 'kgsl', 'KGSL (/dev/kgsl-3d0)', KGSL_CALLS, KGSL_STRUCTS, KGSL_SETS)
    ioctl_tables(out, 'msm', 'DRM core and msm', MSM_CALLS, MSM_STRUCTS, MSM_SETS)
    registers(facts, out)
    packets(facts, out)
