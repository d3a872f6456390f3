# SPDX-License-Identifier: MIT
"""The NVIDIA tables: structures, names, bit fields, methods, QMD layouts.

nv_structs  structures by driver branch (StructTable form). Members of aggregates have dotted
            names; an array of structures is its head followed by the members of element 0.
nv_names    kind, value, name, branches (empty: all), parameter structure: escapes, classes,
            controls, UVM commands, status codes, xids.
nv_fields   vocabularies `NAME kind` (bits, enum or mask) with their rows, then `bind` rows that say
            which member of which structure speaks which vocabulary.
nv_methods  method, offset, stride, elements, classes; field rows name, hi, lo, enum values.
nv_qmd      field, hi, lo, stride, elements, versions, enum values.
"""
import re

BRANCH = {'550.54.15': '550', '570.86.16': '570', '580.142': '580', '590.48.01': '590',
          '595.45.04': '595', '610.43.03': '610'}
NEWEST = ['610', '595', '590', '580', '570', '550']

# Classes whose allocation takes a structure: the pattern of the class name, the structure. From the
# resource list of the open kernel modules (src/nvidia/src/kernel/rmapi/resource_list.h).
ALLOC_PARAMS = [
    (r'NV01_DEVICE_0', 'NV0080_ALLOC_PARAMETERS'),
    (r'NV20_SUBDEVICE_0', 'NV2080_ALLOC_PARAMETERS'),
    (r'NV01_EVENT.*', 'NV0005_ALLOC_PARAMETERS'),
    (r'NV01_MEMORY_(SYSTEM|LOCAL_USER|LOCAL_PRIVILEGED)', 'NV_MEMORY_ALLOCATION_PARAMS'),
    (r'NV50_MEMORY_VIRTUAL', 'NV_MEMORY_ALLOCATION_PARAMS'),
    (r'NV01_MEMORY_VIRTUAL', 'NV_MEMORY_VIRTUAL_ALLOCATION_PARAMS'),
    (r'NV01_MEMORY_SYSTEM_OS_DESCRIPTOR', 'NV_OS_DESC_MEMORY_ALLOCATION_PARAMS'),
    (r'FERMI_VASPACE_A', 'NV_VASPACE_ALLOCATION_PARAMETERS'),
    (r'KEPLER_CHANNEL_GROUP_A', 'NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS'),
    (r'FERMI_CONTEXT_SHARE_A', 'NV_CTXSHARE_ALLOCATION_PARAMETERS'),
    (r'.*_CHANNEL_GPFIFO(_[AB])?', 'NV_CHANNEL_ALLOC_PARAMS'),
    (r'.*_DMA_COPY_[AB]', 'NVB0B5_ALLOCATION_PARAMETERS'),
    (r'(TURING|AMPERE|ADA|HOPPER|BLACKWELL)(_COMPUTE)?_[AB]|FERMI_TWOD_A|.*INLINE_TO_MEMORY_[AB]',
     'NV_GR_ALLOCATION_PARAMETERS'),
    (r'(HOPPER|BLACKWELL)_USERMODE_A', 'NV_HOPPER_USERMODE_A_PARAMS'),
    (r'GT200_DEBUGGER', 'NV83DE_ALLOC_PARAMETERS'),
    (r'NV50_THIRD_PARTY_P2P', 'NV503C_ALLOC_PARAMETERS'),
    (r'MAXWELL_PROFILER_DEVICE', 'NVB2CC_ALLOC_PARAMETERS'),
    (r'NV_CONFIDENTIAL_COMPUTE', 'NV_CONFIDENTIAL_COMPUTE_ALLOC_PARAMS'),
]
# Of several names for one number, these are shown; else the first in the header.
PREFERRED = {'NV01_ROOT', 'NV01_MEMORY_VIRTUAL', 'NV_ESC_CARD_INFO', 'NV2080_CTRL_CMD_FB_STATS_GET',
             'NV0041_CTRL_CMD_GET_SURFACE_PHYS_ATTR'}
NOT_CALLS = re.compile(r'NV_IOCTL_|UVM_MAX|ROBUST_CHANNEL_(LAST_ERROR|ERROR_RECOVERY|RC_LOGGING)')

# Vocabularies made from the attr rows with this prefix: kind bits (hi:lo ranges and their values),
# enum (whole values) or mask (one name a bit).
VOCABULARIES = {
    'NVOS02_FLAGS': 'bits', 'NVOS04_FLAGS': 'bits', 'NVOS33_FLAGS': 'bits', 'NVOS46_FLAGS': 'bits',
    'NVOS46_FLAGS2': 'bits', 'NVOS47_FLAGS': 'bits', 'NVOS32_ATTR': 'bits', 'NVOS32_ATTR2': 'bits',
    'NVOS32_ALLOC_FLAGS': 'mask', 'NVOS32_TYPE': 'enum', 'NVOS32_FUNCTION': 'enum',
    'NV_VASPACE_ALLOCATION_FLAGS': 'mask', 'NV_VASPACE_ALLOCATION_INDEX': 'enum',
    'NV_DEVICE_ALLOCATION_FLAGS': 'mask', 'NV_DEVICE_ALLOCATION_VAMODE': 'enum',
    'NV_CTXSHARE_ALLOCATION_FLAGS': 'bits', 'NV_RM_API_VERSION_CMD': 'enum',
    'NV_RM_API_VERSION_REPLY': 'enum', 'NV2080_ENGINE_TYPE': 'enum', 'NV2080_NOTIFIERS': 'enum',
    'NV2080_CTRL_GR_INFO_INDEX': 'enum', 'NV2080_CTRL_FB_INFO_INDEX': 'enum',
    'NV2080_CTRL_GPU_INFO_INDEX': 'enum', 'NV2080_CTRL_BUS_INFO_INDEX': 'enum',
    'NV2080_CTRL_GR_ROUTE_INFO_FLAGS': 'bits', 'NV2080_CTRL_PERF_BOOST_FLAGS': 'bits',
    'NV2080_GPU_CMD_GPU_GET_GID_FLAGS': 'bits', 'NV2080_CTRL_FB_FLUSH_GPU_CACHE_FLAGS': 'bits',
    'NV0000_CTRL_GPU_ID_INFO': 'bits', 'NV0000_CTRL_SYSTEM_GET_P2P_CAPS': 'bits',
    'NV83DE_CTRL_DEBUG_SET_EXCEPTION_MASK': 'mask',
    'NV2080_CTRL_MC_ARCH_INFO_ARCHITECTURE': 'enum',
    'UvmGpuMappingType': 'enum', 'UvmGpuCachingType': 'enum', 'UvmGpuFormatType': 'enum',
    'UvmGpuFormatElementBits': 'enum', 'UvmGpuCompressionType': 'enum',
    'UVM_INIT_FLAGS': 'mask', 'UVM_MIGRATE_FLAG': 'mask', 'UVM_POPULATE_PAGEABLE_FLAG': 'mask',
    'NV906F_CTRL_CMD_RESET_CHANNEL_REASON': 'enum',
}
NOT_A_VALUE = re.compile(r'_(MAX|MASK|COUNT|LAST|SIZE_1|MAXCOUNT|ENUM_MAX)$|Count$|_UNUSED|'
                         r'TYPE_\w*SIZE$|_RESERVED|_NONE$|GET_P2P_CAPS_INVALID_PEER|VIRTUAL_ONLY$')
# Values that look like one of those but are wanted.
A_VALUE = re.compile(r'_INFO_INDEX_|FLAGS_TYPE_NONE|GPU_GET_GID')

# member -> vocabulary; `STRUCT.member`, or `.member` for every structure. `@` vocabularies are kinds
# that the decoder knows: handle, class, status, address, control, fd, xid, gpu (a signed number).
BINDINGS = {
    '.hClass': '@class', '.status': '@status', '.rmStatus': '@status', '.Status': '@status',
    '.fd': '@int', '.rmCtrlFd': '@int', '.uvmFd': '@int', '.ctl_fd': '@int', '.queueHandle': '@int',
    '.base': '@address', '.requestedBase': '@address', '.gpFifoOffset': '@address',
    '.pLinearAddress': '@address', '.pMemory': '@address', '.pAllocParms': '@address',
    '.pRightsRequested': '@address', '.params': '@address', '.ptr': '@address',
    '.pOldCpuAddress': '@address', '.pNewCpuAddress': '@address', '.vaBase': '@address',
    '.dmaOffset': '@address', '.start': '@address', '.tablePtr': '@address',
    '.queueBuffer': '@address', '.controlBuffer': '@address', '.targetVa': '@address',
    '.uvmCountersVa': '@address', '.userRmHandle': '@handle',
    '.engineType': 'NV2080_ENGINE_TYPE', '.engineList': 'NV2080_ENGINE_TYPE',
    '.classList': '@class',
    'NVOS02_PARAMETERS.flags': 'NVOS02_FLAGS',
    'nv_ioctl_nvos02_parameters_with_fd.flags': 'NVOS02_FLAGS',
    'nv_ioctl_nvos33_parameters_with_fd.flags': 'NVOS33_FLAGS',
    'NVOS33_PARAMETERS.flags': 'NVOS33_FLAGS', 'NVOS34_PARAMETERS.flags': 'NVOS33_FLAGS',
    'NVOS46_PARAMETERS.flags': 'NVOS46_FLAGS', 'NVOS46_PARAMETERS.flags2': 'NVOS46_FLAGS2',
    'NVOS47_PARAMETERS.flags': 'NVOS47_FLAGS', 'NVOS39_PARAMETERS.hClass': '@class',
    'NVOS32_PARAMETERS.function': 'NVOS32_FUNCTION', 'NVOS32_PARAMETERS.attr': 'NVOS32_ATTR',
    'NVOS32_PARAMETERS.attr2': 'NVOS32_ATTR2', 'NVOS32_PARAMETERS.flags': 'NVOS32_ALLOC_FLAGS',
    'NVOS32_PARAMETERS.type': 'NVOS32_TYPE',
    'nv_ioctl_rm_api_version_t.cmd': 'NV_RM_API_VERSION_CMD',
    'nv_ioctl_rm_api_version_t.reply': 'NV_RM_API_VERSION_REPLY',
    'NV_MEMORY_ALLOCATION_PARAMS.attr': 'NVOS32_ATTR',
    'NV_MEMORY_ALLOCATION_PARAMS.attr2': 'NVOS32_ATTR2',
    'NV_MEMORY_ALLOCATION_PARAMS.flags': 'NVOS32_ALLOC_FLAGS',
    'NV_MEMORY_ALLOCATION_PARAMS.type': 'NVOS32_TYPE',
    'NV_MEMORY_ALLOCATION_PARAMS.owner': '@handle',
    'NV_OS_DESC_MEMORY_ALLOCATION_PARAMS.attr': 'NVOS32_ATTR',
    'NV_OS_DESC_MEMORY_ALLOCATION_PARAMS.attr2': 'NVOS32_ATTR2',
    'NV_OS_DESC_MEMORY_ALLOCATION_PARAMS.flags': 'NVOS32_ALLOC_FLAGS',
    'NV_OS_DESC_MEMORY_ALLOCATION_PARAMS.type': 'NVOS32_TYPE',
    'NV_OS_DESC_MEMORY_ALLOCATION_PARAMS.descriptor': '@address',
    'NV_CHANNEL_ALLOC_PARAMS.flags': 'NVOS04_FLAGS',
    'NV_VASPACE_ALLOCATION_PARAMETERS.flags': 'NV_VASPACE_ALLOCATION_FLAGS',
    'NV_VASPACE_ALLOCATION_PARAMETERS.index': 'NV_VASPACE_ALLOCATION_INDEX',
    'NV0080_ALLOC_PARAMETERS.flags': 'NV_DEVICE_ALLOCATION_FLAGS',
    'NV0080_ALLOC_PARAMETERS.vaMode': 'NV_DEVICE_ALLOCATION_VAMODE',
    'NV_CTXSHARE_ALLOCATION_PARAMETERS.flags': 'NV_CTXSHARE_ALLOCATION_FLAGS',
    'NV0005_ALLOC_PARAMETERS.notifyIndex': 'NV2080_NOTIFIERS',
    'NV0005_ALLOC_PARAMETERS.data': '@address',
    'NV2080_CTRL_EVENT_SET_NOTIFICATION_PARAMS.event': 'NV2080_NOTIFIERS',
    'NV2080_CTRL_PERF_BOOST_PARAMS.flags': 'NV2080_CTRL_PERF_BOOST_FLAGS',
    'NV2080_CTRL_GPU_GET_GID_INFO_PARAMS.flags': 'NV2080_GPU_CMD_GPU_GET_GID_FLAGS',
    'NV2080_CTRL_FB_FLUSH_GPU_CACHE_PARAMS.flags': 'NV2080_CTRL_FB_FLUSH_GPU_CACHE_FLAGS',
    'NV0000_CTRL_GPU_GET_ID_INFO_V2_PARAMS.gpuFlags': 'NV0000_CTRL_GPU_ID_INFO',
    'NV0000_CTRL_GPU_GET_ID_INFO_PARAMS.gpuFlags': 'NV0000_CTRL_GPU_ID_INFO',
    'NV0000_CTRL_SYSTEM_GET_P2P_CAPS_PARAMS.p2pCaps': 'NV0000_CTRL_SYSTEM_GET_P2P_CAPS',
    'NV0000_CTRL_SYSTEM_GET_P2P_CAPS_V2_PARAMS.p2pCaps': 'NV0000_CTRL_SYSTEM_GET_P2P_CAPS',
    'NV83DE_CTRL_DEBUG_SET_EXCEPTION_MASK_PARAMS.exceptionMask':
        'NV83DE_CTRL_DEBUG_SET_EXCEPTION_MASK',
    'NV83DE_ALLOC_PARAMETERS.hAppClient_Obsolete': '@handle',
    'NV906F_CTRL_GET_CLASS_ENGINEID_PARAMS.engineID': '',
    'NV906F_CTRL_CMD_RESET_CHANNEL_PARAMS.resetReason': 'NV906F_CTRL_CMD_RESET_CHANNEL_REASON',
    'NV2080_CTRL_MC_GET_ARCH_INFO_PARAMS.architecture': 'NV2080_CTRL_MC_ARCH_INFO_ARCHITECTURE',
    '.gpuMappingType': 'UvmGpuMappingType', '.gpuCachingType': 'UvmGpuCachingType',
    '.gpuFormatType': 'UvmGpuFormatType', '.gpuElementBits': 'UvmGpuFormatElementBits',
    '.gpuCompressionType': 'UvmGpuCompressionType',
    'UVM_INITIALIZE_PARAMS.flags': 'UVM_INIT_FLAGS', 'UVM_MIGRATE_PARAMS.flags': 'UVM_MIGRATE_FLAG',
    'UVM_POPULATE_PAGEABLE_PARAMS.flags': 'UVM_POPULATE_PAGEABLE_FLAG',
}
# (index, data) lists: the structure's name begins with this.
INFO_LISTS = {'GR_GET_INFO': 'NV2080_CTRL_GR_INFO_INDEX', 'FB_GET_INFO': 'NV2080_CTRL_FB_INFO_INDEX',
              'GPU_GET_INFO': 'NV2080_CTRL_GPU_INFO_INDEX',
              'BUS_GET_INFO': 'NV2080_CTRL_BUS_INFO_INDEX'}

# Array methods whose headers give no bound and that other methods do not bound either.
ELEMENTS = {'SET_SCG_COMPUTE_SCHEDULING_PARAMETERS': 16, 'LOAD_INLINE_QMD_DATA': 96}


def branches(versions):
    """The branches a name holds in; empty for all that the facts cover."""
    known = [v for v in NEWEST[::-1] if v in versions]
    return '' if set(known) >= {'550', '570', '580', '590', '595'} else ','.join(known)


def leaf_members(members):
    """Drops aggregates that are not arrays, and the wrapper `params.` of the escapes with an fd."""
    names = [m[0] for m in members]
    wrapped = 'params' in names and any(n.startswith('params.') for n in names)
    out = []
    for name, offset, size, elements in members:
        if elements == 1 and any(n.startswith(name + '.') for n in names):
            continue
        out.append((name[len('params.'):] if wrapped and name.startswith('params.') else name,
                    offset, size, elements))
    return out


def generate_structs(facts, out):
    by_struct = {}
    for row in facts.rows('nv_structs'):
        layout = by_struct.setdefault(row['struct'], {}).setdefault(
            BRANCH[row['driver_version']], (int(row['total_size']), []))
        layout[1].append((row['field'], int(row['offset']), int(row['size']), int(row['elems'])))
    structs = []
    for struct, by_branch in by_struct.items():
        groups = []
        for branch, (size, members) in by_branch.items():
            layout = (size, leaf_members(members))
            for known, names in groups:
                if known == layout:
                    names.append(branch)
                    break
            else:
                groups.append((layout, [branch]))
        for (size, members), names in groups:
            structs.append((struct, size, ['*'] if len(groups) == 1 else names, members))
    out.structs('nv_structs', 'RM, UVM and escape structures by driver branch, from the headers of '
                'the open kernel modules.', structs)
    return set(by_struct)


def alloc_params(name):
    for pattern, struct in ALLOC_PARAMS:
        if re.fullmatch(pattern, name):
            return struct
    return ''


def generate_names(facts, out, structs):
    best = {}
    for row in facts.rows('nv_numbers'):
        kind, name, value = row['kind'], row['name'], row['value']
        if kind == 'attr' or NOT_CALLS.match(name):
            continue
        params = row['params'] if row['params'] in structs else ''
        if kind == 'class':
            params = alloc_params(name)
        elif kind == 'uvm':
            params = name + '_PARAMS' if name + '_PARAMS' in structs else ''
        where = branches(row['versions'].split(','))
        key = (kind, int(value, 16), where)
        if key not in best or name in PREFERRED:
            best[key] = (kind, value, name, where, params)
    known = {(kind, value) for kind, value, _ in best}
    for row in facts.rows('nv_nvproxy'):  # numbers whose headers the facts above do not cover
        key = (row['kind'], int(row['value'], 16))
        if key not in known and not row['name'].startswith('UNKNOWN'):
            best[key + ('',)] = (row['kind'], row['value'], row['name'], '', '')
    rows = sorted(best.values(), key=lambda r: (r[0], int(r[1], 16), r[3]))
    out.table('nv_names', 'kind, value, name, branches (empty: all), parameter structure; from the '
              "headers of the open kernel modules,\nand from gVisor's nvproxy for the few that these "
              'do not have.', rows)


def newest_attrs(facts):
    """{name: value} of the attr rows, the newest branch winning."""
    attrs, age = {}, {}
    for row in facts.rows('nv_numbers'):
        if row['kind'] != 'attr':
            continue
        rank = min(NEWEST.index(v) for v in row['versions'].split(','))
        if row['name'] not in attrs or rank < age[row['name']]:
            attrs[row['name']], age[row['name']] = row['value'], rank
    return attrs


def under(prefix, name):
    """The rest of `name` below `prefix`, or None."""
    if not name.startswith(prefix):
        return None
    rest = name[len(prefix):]
    if prefix.startswith('Uvm'):
        return rest or None
    return rest[1:] if rest.startswith('_') else None


def wanted(name):
    return A_VALUE.search(name) or not NOT_A_VALUE.search(name)


def bits_rows(prefix, attrs):
    ranges = {}
    for name, value in attrs.items():
        field = under(prefix, name)
        if field and re.fullmatch(r'\d+:\d+', value) and value not in ranges.values():
            ranges[field] = value
    values = {field: [] for field in ranges}
    for name, value in attrs.items():
        rest = under(prefix, name)
        if not rest or ':' in value:
            continue
        field = max((f for f in ranges if rest.startswith(f + '_')), key=len, default=None)
        if field is None:
            continue
        hi, lo = map(int, ranges[field].split(':'))
        label, number = rest[len(field) + 1:], int(value, 16)
        if number < 1 << (hi - lo + 1) and label not in ('COUNT', 'UGPU_COUNT'):
            values[field].append((number, label))
    for field, span in sorted(ranges.items(), key=lambda f: int(f[1].split(':')[1])):
        hi, lo = span.split(':')
        yield ('', field, hi, lo, ','.join(f'{label}={number}'
                                           for number, label in unique(values[field])))


def unique(values):
    seen = {}
    for number, label in values:
        seen.setdefault(number, label)
    return sorted(seen.items())


def value_rows(prefix, kind, attrs):
    values = []
    for name, value in attrs.items():
        label = under(prefix, name)
        if not label or ':' in value or not wanted(name):
            continue
        number = int(value, 16)
        if kind == 'mask' and (number == 0 or number & (number - 1)):
            continue
        if kind == 'enum' and number > 0xffff and number != 0xffffffff:
            continue
        values.append((number, label))
    for number, label in unique(values):
        yield ('', label, f'{number:#x}')


def generate_fields(facts, out):
    attrs, rows = newest_attrs(facts), []
    for prefix, kind in VOCABULARIES.items():
        found = list(bits_rows(prefix, attrs) if kind == 'bits' else
                     value_rows(prefix, kind, attrs))
        assert found, prefix
        rows.append((prefix, kind))
        rows += found
    rows += [('bind', member, vocabulary) for member, vocabulary in BINDINGS.items() if vocabulary]
    rows += [('list', part, vocabulary) for part, vocabulary in INFO_LISTS.items()]
    out.table('nv_fields', 'Bit fields and values of structure members, from the headers of the '
              'open kernel modules.', rows)


class Method:
    def __init__(self, name, offset, stride):
        self.name, self.offset, self.stride = name, offset, stride
        self.fields = {}  # (name, hi, lo) -> {value: label}


def read_methods(facts):
    classes = {}
    for row in facts.rows('nv_methods'):
        if not row['offset']:
            continue
        methods = classes.setdefault(row['class'], {})
        key = (int(row['offset'], 16), row['method'])
        method = methods.setdefault(key, Method(row['method'], key[0], int(row['stride'] or 0)))
        if row['field']:
            field = method.fields.setdefault((row['field'], int(row['hi']), int(row['lo'])), {})
            if row['enum_name']:
                field.setdefault(int(row['enum_value'], 16), row['enum_name'])
    return classes


def complete(newer, older):
    """Adds to a trimmed class header what the older header says: methods, fields at the same bits,
    names of values. Fields that the newer header places elsewhere stay as it says."""
    for key, method in older.items():
        mine = newer.setdefault(key, method)
        if mine is method:
            continue
        names = {name for name, _, _ in mine.fields}
        for field, values in method.fields.items():
            if field in mine.fields:
                for value, label in values.items():
                    mine.fields[field].setdefault(value, label)
            elif field[0] not in names:
                mine.fields[field] = values


def elements(method, methods):
    if not method.stride:
        return 1
    if method.name in ELEMENTS:
        return ELEMENTS[method.name]
    limit = min((m.offset for m in methods if m.offset > method.offset and
                 (m.offset - method.offset) % method.stride == 0), default=0x4000)
    return (limit - method.offset) // method.stride


def enum_text(values):
    return ','.join(f'{label}={value}' for value, label in sorted(values.items()))


def generate_methods(facts, out):
    classes = read_methods(facts)
    for trimmed in ('0xc86f', '0xc96f', '0xca6f'):
        complete(classes[trimmed], classes['0xc56f'])
    merged = {}
    for number, methods in classes.items():
        for method in methods.values():
            fields = tuple((name, hi, lo, enum_text(values))
                           for (name, hi, lo), values in method.fields.items())
            key = (method.name, method.offset, method.stride,
                   elements(method, methods.values()), fields)
            merged.setdefault(key, []).append(number[2:])
    rows = []
    for (name, offset, stride, count, fields), numbers in sorted(
            merged.items(), key=lambda m: (m[0][1], m[0][0], m[1])):
        rows.append((name, f'{offset:#x}', stride or '', count if count > 1 else '',
                     ','.join(numbers)))
        rows += [('',) + field for field in fields]
    out.table('nv_methods', 'Methods of host, usermode, compute and copy classes, from the class '
              'headers of open-gpu-doc\nand of the open kernel modules: name, offset, stride, '
              'elements, classes; name, hi, lo, values.', rows)


# Elements of indexed QMD fields, which the headers do not give: three releases, the bits of 256
# TPCs, as many sub-tasks as fit into 384 bytes, eight constant buffers, two dependents.
QMD_ELEMENTS = [(r'RELEASE_', 3), (r'TPC_DISABLE_MASK', 8), (r'SUB_TASK_', 5),
                (r'CONSTANT_BUFFER_', 8), (r'DEPENDENT_QMD_', 2)]


def qmd_elements(field):
    return next(count for pattern, count in QMD_ELEMENTS if field.startswith(pattern))


def generate_qmd(facts, out):
    versions = {}
    for row in facts.rows('nv_qmd'):
        if '(i,j)' in row['field']:
            continue  # the same bits as the BANK0 and BANK1 fields
        fields = versions.setdefault(row['qmd_version'], {})
        key = (row['field'], int(row['hi']), int(row['lo']), int(row['stride'] or 0))
        field = fields.setdefault(key, {})
        if row['enum_name']:
            field.setdefault(int(row['enum_value'], 16), row['enum_name'])
    merged = {}
    for version, fields in versions.items():
        names = {}
        for name, hi, lo, stride in fields:
            names.setdefault(name, []).append((hi, lo))
        plain = {(hi, lo) for _, hi, lo, stride in fields if not stride}
        for (name, hi, lo, stride), values in fields.items():
            if len(names[name]) > 1 and hi != max(h for h, _ in names[name]):
                continue  # class headers differ: the widest holds all
            if stride and (hi, lo) in plain:
                continue  # the elements are named one by one as well
            count = qmd_elements(name) if stride else ''
            merged.setdefault((name.replace('(i)', ''), hi, lo, stride or '',
                               count, enum_text(values)), []).append(version)
    rows = [(name, hi, lo, stride, count, ','.join(where), values)
            for (name, hi, lo, stride, count, values), where in sorted(
                merged.items(), key=lambda m: (m[0][2], m[0][0], m[1]))]
    out.table('nv_qmd', 'Fields of the queue meta data (the launch descriptor) by version, from '
              'the class headers of open-gpu-doc:\nname, hi, lo, stride and elements of indexed '
              'fields, versions, values.', rows)


def generate(facts, out):
    structs = generate_structs(facts, out)
    generate_names(facts, out, structs)
    generate_fields(facts, out)
    generate_methods(facts, out)
    generate_qmd(facts, out)
