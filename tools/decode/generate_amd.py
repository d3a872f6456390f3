# SPDX-License-Identifier: MIT
"""AMD tables: KFD and amdgpu calls, PM4, SDMA, registers, AQL and kernel descriptors."""
import re

# ---- KFD and amdgpu calls ---------------------------------------------------------------------

# Versions of the structures by the header they come from, oldest first.
HEADERS = {'linux-6.1': '1.11', 'linux-6.12': '1.17', 'libdrm-2.4.114': 'libdrm-2.4.114',
           'rocr': 'rocr', 'tinygrad': 'other'}


def leaf_members(members):
    """Members without those whose own members are listed too."""
    names = {name for name, *_ in members}
    parents = {name.rsplit('.', n)[0] for name in names for n in range(1, name.count('.') + 1)}
    return sorted((m for m in members if m[0] not in parents), key=lambda m: m[1])


def kfd_structs(facts, out):
    by_struct = {}
    for row in facts.rows('kfd_structs'):
        size, members = by_struct.setdefault((row['struct'], row['header']),
                                             (int(row['total_size']), []))
        if int(row['size']) and '[0]' not in row['field']:
            members.append((row['field'], int(row['offset']), int(row['size']),
                            int(row['elems'] or 1)))
    structs = {}
    for (struct, header), (size, members) in by_struct.items():
        versions = structs.setdefault(struct, [])
        members = leaf_members(members)
        for known in versions:
            if known[1:] == (size, members):
                known[0].append(HEADERS[header])
                break
        else:
            versions.append(([HEADERS[header]], size, members))
    out.structs('kfd_structs', 'Argument structures of /dev/kfd and of amdgpu by version.',
                [(struct, size, versions, members)
                 for struct in sorted(structs) for versions, size, members in structs[struct]])


def kfd_calls(facts, out):
    calls = {}
    for row in facts.rows('kfd_structs'):
        if row['ioctl']:
            name = row['ioctl'].replace('_DEPRECATED', '')
            calls.setdefault(int(row['number'], 0) & 0xffff, (name, row['struct']))
    for row in facts.rows('kfd_numbers'):
        ioctl = row['kind'] == 'ioctl' or row['name'].startswith('DRM_IOCTL_')
        if ioctl and row['name'] != 'DRM_IOCTL_BASE':
            struct = row['name'].replace('DRM_IOCTL_AMDGPU', 'drm_amdgpu').lower()
            calls.setdefault(int(row['value'], 0) & 0xffff,
                             (row['name'].replace('_DEPRECATED', ''), struct))
    out.table('kfd_calls', 'Calls by type and number: name, type << 8 | nr, structure.',
              [(name, f'{key:#x}', struct) for key, (name, struct) in sorted(calls.items())])


# Sets of names by prefix: (set, kind of row, prefix, suffix to drop)
VALUE_SETS = [
    ('alloc_flags', 'flag', 'KFD_IOC_ALLOC_MEM_FLAGS_'),
    ('queue_type', 'flag', 'KFD_IOC_QUEUE_TYPE_'),
    ('event_type', 'flag', 'KFD_IOC_EVENT_'),
    ('wait_result', 'flag', 'KFD_IOC_WAIT_RESULT_'),
    ('cache_policy', 'flag', 'KFD_IOC_CACHE_POLICY_'),
    ('svm_flags', 'flag', 'KFD_IOCTL_SVM_FLAG_'),
    ('reset_type', 'flag', 'KFD_HW_EXCEPTION_'),
    ('mem_error', 'flag', 'KFD_MEM_ERR_'),
    ('runtime_mode', 'flag', 'KFD_RUNTIME_ENABLE_MODE_'),
    ('svm_attr', 'enum:kfd_ioctl_svm_attr_type', 'KFD_IOCTL_SVM_ATTR_'),
    ('svm_op', 'enum:kfd_ioctl_svm_op', 'KFD_IOCTL_SVM_OP_'),
    ('svm_location', 'enum:kfd_ioctl_svm_location', 'KFD_IOCTL_SVM_LOCATION_'),
    ('criu_op', 'enum:kfd_criu_op', 'KFD_CRIU_OP_'),
    ('dbg_op', 'enum:kfd_dbg_trap_operations', 'KFD_IOC_DBG_TRAP_'),
    ('spm_op', 'enum:kfd_ioctl_spm_op', 'KFD_IOCTL_SPM_OP_'),
    ('pc_sample_op', 'enum:kfd_ioctl_pc_sample_op', 'KFD_IOCTL_PCS_OP_'),
    ('pc_sample_method', 'enum:kfd_ioctl_pc_sample_method', 'KFD_IOCTL_PCS_METHOD_'),
    ('pc_sample_type', 'enum:kfd_ioctl_pc_sample_type', 'KFD_IOCTL_PCS_TYPE_'),
    ('profiler_op', 'enum:kfd_profiler_ops', 'KFD_IOC_PROFILER_'),
    ('drm_domain', 'drm', 'AMDGPU_GEM_DOMAIN_'),
    ('drm_create', 'drm', 'AMDGPU_GEM_CREATE_'),
    ('drm_ctx_op', 'drm', 'AMDGPU_CTX_OP_'),
    ('drm_va_op', 'drm', 'AMDGPU_VA_OP_'),
    ('drm_va_flags', 'drm', 'AMDGPU_VM_PAGE_'),
    ('drm_vm_op', 'drm', 'AMDGPU_VM_OP_'),
    ('drm_hw_ip', 'drm', 'AMDGPU_HW_IP_'),
    ('drm_fw', 'drm', 'AMDGPU_INFO_FW_'),
    ('drm_sensor', 'drm', 'AMDGPU_INFO_SENSOR_'),
    ('drm_userptr', 'drm', 'AMDGPU_GEM_USERPTR_'),
    ('drm_metadata_op', 'drm', 'AMDGPU_GEM_METADATA_OP_'),
    ('drm_gem_op', 'drm', 'AMDGPU_GEM_OP_'),
    ('drm_family', 'drm', 'AMDGPU_FAMILY_'),
    ('drm_vram_type', 'drm', 'AMDGPU_VRAM_TYPE_'),
    ('drm_ids_flags', 'drm', 'AMDGPU_IDS_FLAGS_'),
]
NOT_VALUES = re.compile(r'_(MASK|SHIFT|NUM|COUNT|INSTANCE_MAX_COUNT|BIT|LIMIT)$|^HW_IP_NUM')
# The queries of AMDGPU_INFO share their prefix with much else.
INFO_QUERIES = re.compile(r'^AMDGPU_INFO_(?!FW_(?!VERSION)|SENSOR_|VBIOS_|RAS_ENABLED_(?!FEAT)|MMR_'
                          r'|VIDEO_CAPS_)(.*)$')


def kfd_values(facts, out):
    sets = {name: {} for name, *_ in VALUE_SETS}
    sets['drm_info'] = {}
    for row in facts.rows('kfd_numbers'):
        for name, kind, prefix in VALUE_SETS:
            if row['kind'] == kind and row['name'].startswith(prefix):
                short = row['name'][len(prefix):]
                if name == 'runtime_mode':
                    short = short.replace('_MASK', '')
                if not NOT_VALUES.search(short) and short not in ('NUM', 'MASK'):
                    sets[name].setdefault(int(row['value'], 0), short)
        query = INFO_QUERIES.match(row['name'])
        if query and row['kind'] == 'drm' and not NOT_VALUES.search(query[1]):
            sets['drm_info'].setdefault(int(row['value'], 0), query[1])
    del sets['reset_type']  # two meanings under one prefix: hand-written in the decoder
    out.table('kfd_values', 'Names of values and flags: set, name, value.',
              [(name, short, f'{value:#x}') for name in sets
               for value, short in sorted(sets[name].items())])


# ---- packets ----------------------------------------------------------------------------------

# A field: name, dword, hi, lo (hi may reach into the next dwords), kind, when.
# Kinds: addr (bits keep their places), addr8 (in units of 256 bytes), reg (dword offset of a
# register), event (VGT_EVENT_TYPE), bits:NAME (named parts in amd_bits).
ADDRESS = re.compile(r'addr|base|signal|location|pgm_|_va(_|$)')


def join_halves(fields, halves):
    """Joins NAME_lo in one dword and NAME_hi in the next: `halves` maps a name to (joined, other)."""
    by_name = {f[0]: f for f in fields}
    joined, gone = [], set()
    for name, dword, hi, lo in fields:
        whole, other = halves(name)
        partner = by_name.get(other)
        if whole and partner and partner[1] == dword + 1 and partner[3] == 0 and hi == 31:
            kind = 'addr' if ADDRESS.search(whole) else ''
            joined.append((whole, dword, 32 + partner[2], lo, kind))
            gone.add(other)
        else:
            joined.append((name, dword, hi, lo, ''))
    return [f for f in joined if f[0] not in gone]


def packet_rows(packets):
    """Lines of (name, key, size, versions) with fields below; packets: (name, key) -> {version:
    (size, fields)}."""
    rows = []
    for (name, key), by_version in packets.items():
        groups = []
        for version, layout in by_version.items():
            for known in groups:
                if known[1] == layout:
                    known[0].append(version)
                    break
            else:
                groups.append(([version], layout))
        for versions, (size, fields) in groups:
            rows.append((name, key, size, ','.join(versions)))
            rows += [('', *field) for field in fields]
    return rows


PM4_VERSIONS = {'gfx9': '9', 'gfx10': '10', 'gfx10.3': '10.3', 'gfx11': '11', 'gfx12': '12'}
PM4_SOURCES = ('pal', 'pal-2020')
# Packets that only kernel queues use, from the kernel's headers.
KERNEL_PACKETS = ['MAP_PROCESS', 'MAP_PROCESS_VM', 'MAP_QUEUES', 'QUERY_STATUS', 'RUNLIST',
                  'SET_RESOURCES', 'UNMAP_QUEUES']
RENAMED = {'RUNLIST': 'RUN_LIST'}
# Fields that are left out: the other one of the two says the same with more bits.
DROPPED = {'address_lo_64b', 'src_64b_addr_lo', 'dst_64b_addr_lo'}
SECOND_HALVES = {  # first half -> (joined, second half)
    'coher_size': ('coher_size', 'coher_size_hi'),
    'address_lo_32b': ('address', 'address_hi'),
    'src_32b_addr_lo': ('src_addr', 'src_memtc_addr_hi'),
    'dst_32b_addr_lo': ('dst_addr', 'dst_addr_hi'),
    'imm_data': ('imm_data', 'src_imm_data'),
    'src_addr_lo_or_data': ('src_addr_or_data', 'src_addr_hi'),
    'reference': ('reference', 'reference_hi'),
    'mask': ('mask', 'mask_hi'),
}
REGISTER_FIELDS = {'reg_poll_addr', 'reg_write_addr1', 'reg_write_addr2', 'src_reg_offset',
                   'dst_reg_offset', 'dst_mmreg_addr'}
KINDS = {('ACQUIRE_MEM', 'gcr_cntl'): 'bits:GCR_CNTL', ('RELEASE_MEM', 'gcr_cntl'):
         'bits:RELEASE_GCR_CNTL', ('ACQUIRE_MEM', 'coher_cntl'): 'bits:CP_COHER_CNTL',
         ('ACQUIRE_MEM', 'coher_base'): 'addr8'}
WHEN = {  # which of several meanings of a dword applies: other field = values
    ('WAIT_REG_MEM', 'mem_poll_addr'): 'mem_space=1',
    ('WAIT_REG_MEM', 'reg_poll_addr'): 'mem_space=0&operation=0,2,3',
    ('WAIT_REG_MEM', 'reg_write_addr1'): 'mem_space=0&operation=1',
    ('WAIT_REG_MEM', 'reg_write_addr2'): 'mem_space=0&operation=1',
    ('COPY_DATA', 'src_reg_offset'): 'src_sel=0,4',
    ('COPY_DATA', 'src_addr'): 'src_sel=1,2',
    ('COPY_DATA', 'src_gds_addr_lo'): 'src_sel=3',
    ('COPY_DATA', 'imm_data'): 'src_sel=5',
    ('COPY_DATA', 'dst_reg_offset'): 'dst_sel=0,4,6',
    ('COPY_DATA', 'dst_addr'): 'dst_sel=1,2,5',
    ('COPY_DATA', 'dst_gds_addr_lo'): 'dst_sel=3',
    ('WRITE_DATA', 'dst_mmreg_addr'): 'dst_sel=0,6',
    ('WRITE_DATA', 'dst_gds_addr'): 'dst_sel=3',
    ('WRITE_DATA', 'dst_mem_addr'): 'dst_sel=1,2,4,5',
    ('RELEASE_MEM', 'data'): 'data_sel=0,1,2,3,4,6,7&int_sel=0,1,2,3,4',
    ('RELEASE_MEM', 'cmp_data'): 'int_sel=5,6&data_sel=0,1,2,3,4,6,7',
    ('RELEASE_MEM', 'dw_offset'): 'data_sel=5',
    ('RELEASE_MEM', 'num_dwords'): 'data_sel=5',
}
WHEN.update({('WAIT_REG_MEM64', f): w for (p, f), w in list(WHEN.items()) if p == 'WAIT_REG_MEM'})


def pm4_halves(name):
    if name in SECOND_HALVES:
        return SECOND_HALVES[name]
    match = re.match(r'(.*)_lo(32)?(_\d+b)?$', name)
    if match:
        return match[1], match[1] + '_hi' + (match[2] or '')
    match = re.match(r'(ib_base|compare_addr)(\d?)_lo$', name)
    return (match[1] + match[2], name.replace('_lo', '_hi')) if match else (None, None)


def pm4_field(packet, field):
    name, dword, hi, lo, kind = field
    if name in REGISTER_FIELDS:
        kind = 'reg'
    if name == 'event_type':
        kind = 'event'
    if name == 'dispatch_initiator':
        kind = 'bits:COMPUTE_DISPATCH_INITIATOR'
    kind = KINDS.get((packet, name), kind)
    return name, dword, hi, lo, kind, WHEN.get((packet, name), '')


def pm4_packets(facts):
    raw, sizes, opcodes = {}, {}, {}
    for row in facts.rows('amd_pm4'):
        packet = RENAMED.get(row['packet'], row['packet'])
        version = PM4_VERSIONS.get(row['generation'])
        primary = row['source'] in PM4_SOURCES or (
            row['packet'] in KERNEL_PACKETS and row['source'] == 'kfd' and version == '9')
        extra = row['source'] == 'mesa' and (
            row['packet'] == 'ACQUIRE_MEM_PWS' or row['field'] == 'PWS_ENABLE')
        if not version or packet == 'TYPE_3_HEADER':
            continue
        packet = packet.replace('_PWS', '')
        if row['kind'] == 'field' and (primary or extra) and row['field'] not in DROPPED:
            raw.setdefault(packet, {}).setdefault(version, []).append(
                (row['field'], int(row['dword']), int(row['hi']), int(row['lo'])))
        elif row['kind'] == 'size' and primary:
            sizes[packet, version] = int(row['value'])
        elif row['kind'] == 'opcode':
            packet = re.sub(r'__\w+$', '', packet)
            opcodes.setdefault(packet, {})[version] = int(row['value'], 0)
    packets = {}
    for packet, by_version in raw.items():
        for version, fields in by_version.items():
            fields = join_halves(sorted(fields, key=lambda f: f[1]), pm4_halves)
            fields = [pm4_field(packet, f) for f in fields]
            size = sizes.get((packet, version), max(f[1] + f[2] // 32 for f in fields) + 1)
            known = opcodes[packet]  # a layout may come without its opcode: take the newest
            opcode = known.get(version, list(known.values())[-1])
            packets.setdefault((packet, f'{opcode:#x}'), {})[version] = (size, fields)
    return packets


def pm4_opcodes(facts, packets):
    """One name for every opcode of a generation; names with a layout win."""
    known = {(name, version) for (name, _), by_version in packets.items() for version in by_version}
    best = {}
    for row in facts.rows('amd_pm4'):
        version = PM4_VERSIONS.get(row['generation'])
        if row['kind'] != 'opcode' or not version:
            continue
        name = re.sub(r'__\w+$', '', row['packet'])
        rank = (name.startswith(('COND_INDIRECT', 'RESERVED', 'DRAW_RESERVED')),
                (name, version) not in known, name.endswith('_CONST'), name)
        key = int(row['value'], 0), version
        best[key] = min(best.get(key, (rank, name)), (rank, name))
    names = {}
    for (opcode, version), (_, name) in sorted(best.items()):
        names.setdefault((name, opcode), []).append(version)
    order = list(PM4_VERSIONS.values())
    return [(name, f'{opcode:#x}', ','.join(sorted(versions, key=order.index)))
            for (name, opcode), versions in names.items()]


def pm4_enums(facts):
    enums = {}
    for row in facts.rows('amd_pm4'):
        version = PM4_VERSIONS.get(row['generation'])
        if row['kind'] != 'enum' or not version:
            continue
        if row['packet'] == 'VGT_EVENT_TYPE':
            key, name = 'VGT_EVENT_TYPE', row['field']
        elif row['source'] in PM4_SOURCES and row['field'].count('__') >= 2:
            field, _, name = row['field'].split('__')[:3]
            key = row['packet'].removeprefix('MEC_').removesuffix(f'_{field}_enum') + '.' + field
        else:
            continue
        enums.setdefault(key, {}).setdefault(version, {})[int(row['value'], 0)] = name
    rows = []
    for key, by_version in enums.items():
        groups = []
        for version, values in by_version.items():
            for known in groups:
                if known[1] == values:
                    known[0].append(version)
                    break
            else:
                groups.append(([version], values))
        rows += [(key, ','.join(versions), ' '.join(f'{v}={n}' for v, n in sorted(values.items())))
                 for versions, values in groups]
    return rows


# ---- SDMA -------------------------------------------------------------------------------------

SDMA_SOURCES = {'4.0': 'linux', '5.0': 'linux', '5.2': 'pal', '6.0': 'linux', '7.0': 'pal'}
# SDMA 7.0: the firmware interface that Linux and ROCr use has no GRBM_GFX_INDEX dword.
SDMA_SIZES = {('POLL_REGMEM', '7.0'): 6}
# The headers before 7.0 have no constant for this sub-operation.
SDMA_SUB_OPS = {'REGISTER_RMW': 1}
# Sub-operation 1 of GCR_REQ is the one open to user queues; the packet is the same.
SDMA_TWINS = {'GCR_REQ': ('GCR_USER', 17, 1)}


def sdma_halves(name):
    match = re.match(r'(.*)_31_(0|[2-7])$', name)
    if match:
        for top in (63, 47):
            yield match[1], f'{match[1]}_{top}_32'
    if name == 'gcr_control_15_0':
        yield 'gcr_control', 'gcr_control_18_16'


def sdma_join(fields):
    by_name = {f[0]: f for f in fields}
    joined, gone = [], set()
    for name, dword, hi, lo in fields:
        for whole, other in sdma_halves(name):
            partner = by_name.get(other)
            if partner and partner[1] == dword + 1 and partner[3] == 0:
                kind = 'bits:GCR_CNTL' if whole == 'gcr_control' else (
                    'addr' if ADDRESS.search(whole) else '')
                joined.append((whole, dword, 32 + partner[2], lo, kind, ''))
                gone.add(other)
                break
        else:
            joined.append((name, dword, hi, lo, '', ''))
    return [f for f in joined if f[0] not in gone]


def sdma_packets(facts):
    raw, sizes = {}, {}
    for row in facts.rows('amd_sdma'):
        version = row['sdma_version']
        if row['source'] != SDMA_SOURCES.get(version) or row['packet'].startswith('SDMA_'):
            continue
        if not row['op']:
            continue  # not a packet of a ring, or its number is not public
        sub_op = SDMA_SUB_OPS.get(row['packet'], int(row['sub_op'] or 0))
        key = row['packet'], int(row['op']), sub_op
        if row['field'] == '(size)':
            sizes[key, version] = int(row['dword'])
        else:
            word, _, field = row['field'].partition('.')
            if field in ('op', 'sub_op') and row['dword'] == '0':
                raw.setdefault(key, {}).setdefault(version, [])
                continue
            if row['packet'] == 'POLL_REGMEM' and word == 'GRBM_GFX_INDEX':
                continue
            raw.setdefault(key, {}).setdefault(version, []).append(
                (field, int(row['dword']), int(row['hi']), int(row['lo'])))
    for name, twin in SDMA_TWINS.items():
        for key in [k for k in raw if k[0] == name]:
            for version, fields in raw[key].items():
                raw.setdefault(twin, {}).setdefault(version, fields)
                if (key, version) in sizes:
                    sizes.setdefault((twin, version), sizes[key, version])
    packets = {}
    for key, by_version in raw.items():
        for version in SDMA_SOURCES:
            if version not in by_version:
                continue
            fields = sdma_unique(sorted(by_version[version], key=lambda f: f[1]))
            size = SDMA_SIZES.get((key[0], version)) or sizes.get((key, version)) or max(
                [f[1] for f in fields], default=0) + 1
            packets.setdefault((key[0], f'{key[1] | key[2] << 8:#x}'), {})[version] = (
                size, sdma_join(fields))
    return packets


def sdma_unique(fields):
    """Names that come twice in a packet get their dword."""
    names = [f[0] for f in fields]
    return [(f'{n}_dw{d}' if names.count(n) > 1 else n, d, hi, lo) for n, d, hi, lo in fields]


# ---- registers and other words with parts -------------------------------------------------------

GC_VERSIONS = {'9.4.3': '9', '10.3.0': '10.3', '11.0.0': '11', '12.0.0': '12'}


def registers(facts, out):
    regs = {}
    for row in facts.rows('amd_regs'):
        if row['space'] == 'OTHER':
            for version in GC_VERSIONS.values():
                name = row['register'].replace('BX_PF0_', 'BX_PF_')
                regs.setdefault((name, int(row['abs'], 0)), {}).setdefault(version, [])
        elif row['gc_version'] in GC_VERSIONS:
            fields = regs.setdefault((row['register'], int(row['abs'], 0)), {}).setdefault(
                GC_VERSIONS[row['gc_version']], [])
            if row['field']:
                fields.append(f"{row['field']}:{row['hi']}:{row['lo']}")
    rows = []
    for (name, offset), by_version in sorted(regs.items(), key=lambda r: (r[0][1], r[0][0])):
        groups = {}
        for version, fields in by_version.items():
            groups.setdefault(' '.join(fields), []).append(version)
        rows += [(name, f'{offset:#x}', ','.join(versions), fields)
                 for fields, versions in groups.items()]
    out.table('amd_regs', 'Registers: name, absolute dword offset, GC versions, parts as '
              'NAME:hi:lo.', rows)


KD_VERSIONS = {'all': '*', 'gfx10': '10,10.3', 'gfx10+': '10,10.3,11,12', 'gfx9+': '*',
               'gfx10-gfx11': '10,10.3,11', 'gfx11': '11', 'gfx11+': '11,12', 'gfx12+': '12',
               'gfx6-gfx11': '9,10,10.3,11', 'gfx6-gfx9': '9', 'gfx90a+': '9'}


def words_with_parts(facts, out):
    rows = []
    for packet, name, dword, shift, versions in [
            ('ACQUIRE_MEM', 'GCR_CNTL', '7', 0, 'gfx11'),
            ('RELEASE_MEM', 'RELEASE_GCR_CNTL', '1', 12, 'gfx11')]:
        for row in facts.rows('amd_pm4'):
            wanted = row['kind'] == 'field' and row['source'] == 'mesa' and row['field'].startswith(
                ('GL', 'SEQ', 'RANGE')) and row['dword'] == dword
            if wanted and row['packet'] == packet and row['generation'] == versions:
                hi, lo = int(row['hi']) - shift, int(row['lo']) - shift
                if hi <= 18:
                    rows.append((name, row['field'], hi, lo, '*'))
    coher = {(r['field'], int(r['hi']), int(r['lo'])) for r in facts.rows('amd_regs')
             if r['register'] == 'CP_COHER_CNTL' and r['field'] and r['gc_version'] == '9.4.3'}
    rows += [('CP_COHER_CNTL', *field, '*') for field in sorted(coher, key=lambda f: f[2])]
    seen = {}
    for row in facts.rows('amd_regs'):
        if row['register'] == 'COMPUTE_DISPATCH_INITIATOR' and row['field'] and \
                row['gc_version'] in GC_VERSIONS:
            seen.setdefault((row['field'], row['hi'], row['lo']), []).append(
                GC_VERSIONS[row['gc_version']])
    rows += [('COMPUTE_DISPATCH_INITIATOR', *field, ','.join(
        versions + (['10'] if '10.3' in versions else []))) for field, versions in seen.items()]
    for row in facts.rows('amd_kd'):
        if row['kind'] != 'bits' or row['generation'] not in KD_VERSIONS:
            continue
        if row['struct'].startswith(('AMD_COMPUTE', 'AMD_KERNEL')) or \
                row['field'] in ('ACQUIRE_FENCE_SCOPE', 'RELEASE_FENCE_SCOPE'):
            continue
        prefix = 'KD_' if row['struct'].startswith('COMPUTE_PGM') else ''
        rows.append((prefix + row['struct'], row['field'], row['hi'], row['lo'],
                     KD_VERSIONS[row['generation']]))
    out.table('amd_bits', 'Words with named parts: word, part, hi, lo, versions.', rows)


AQL_STRUCTS = ['hsa_kernel_dispatch_packet_t', 'hsa_barrier_and_packet_t',
               'hsa_agent_dispatch_packet_t', 'hsa_amd_barrier_value_packet_t', 'amd_aql_pm4_ib',
               'kernel_descriptor_t', 'amd_signal_t', 'amd_queue_t', 'amd_queue_v2_t']
UNION_ARMS = {'full_header', 'hardware_doorbell_ptr', 'header.header', 'header.AmdFormat',
              'header.reserved'}


def aql_structs(facts, out):
    sizes, structs = {}, {}
    for row in facts.rows('amd_kd'):
        if row['struct'] not in AQL_STRUCTS:
            continue
        if row['kind'] == 'size':
            sizes[row['struct']] = int(row['size_bits']) // 8
        elif row['kind'] == 'struct' and '[0]' not in row['field'] and \
                row['field'] not in UNION_ARMS:
            size = int(row['size_bits']) // 8
            name = row['field'].removesuffix('.handle')
            elements = {'dep_signal': 5, 'arg': 4, 'scratch_resource_descriptor': 4,
                        'ib_jump_cmd': 4, 'alt_scratch_resource_descriptor': 4}.get(name, 1)
            members = structs.setdefault(row['struct'], {})
            members[name] = (name, int(row['offset_bits']) // 8, size, elements)
    out.structs('amd_aql', 'AQL packets, signals, queues, kernel descriptors.',
                [(name, sizes[name], ['*'], leaf_members(list(structs[name].values())))
                 for name in AQL_STRUCTS])


def generate(facts, out):
    kfd_structs(facts, out)
    kfd_calls(facts, out)
    kfd_values(facts, out)
    packets = pm4_packets(facts)
    about = ('packets: name, {}, dwords, versions; below each its fields: name, dword (0 = header), '
             'hi, lo, kind, when.')
    out.table('amd_pm4', 'PM4 ' + about.format('opcode'), packet_rows(packets))
    out.table('amd_pm4_opcodes', 'PM4 opcodes: name, opcode, versions.', pm4_opcodes(facts, packets))
    out.table('amd_pm4_enums', 'PM4 values: PACKET.field, versions, value=name ….'.replace('…', '...'),
              pm4_enums(facts))
    out.table('amd_sdma', 'SDMA ' + about.format('op | sub_op << 8'),
              packet_rows(sdma_packets(facts)))
    registers(facts, out)
    words_with_parts(facts, out)
    aql_structs(facts, out)
