# SPDX-License-Identifier: MIT
"""AMD tables: KFD and amdgpu calls, PM4, SDMA, registers, AQL and kernel descriptors."""

# KFD ABI versions of the headers, oldest first; later rows win where a struct is the same size.
KFD_ABI = {'linux-6.1': '1.11', 'linux-6.12': '1.17', 'rocr': 'rocr', 'tinygrad': 'tinygrad'}


def leaf_members(members):
    """Members without those whose own members are listed too."""
    names = {name for name, *_ in members}
    parents = {name.rsplit('.', depth)[0] for name in names for depth in range(1, name.count('.') + 1)}
    return [m for m in members if m[0] not in parents]


def kfd_structs(facts, out):
    by_struct = {}
    for row in facts.rows('kfd_structs'):
        key = row['struct'], row['header']
        size, members = by_struct.setdefault(key, (int(row['total_size']), []))
        members.append((row['field'], int(row['offset']), int(row['size']),
                        int(row['elems'] or 1)))
    structs = {}
    for (struct, header), (size, members) in by_struct.items():
        members = sorted(leaf_members(members), key=lambda m: m[1])
        if header not in KFD_ABI:
            continue
        versions = structs.setdefault(struct, [])
        for known in versions:
            if known[1:] == (size, members):
                known[0].append(KFD_ABI[header])
                break
        else:
            versions.append(([KFD_ABI[header]], size, members))
    out.structs('kfd_structs', 'Argument structures of /dev/kfd and of amdgpu by ABI version.',
                [(struct, size, versions, members)
                 for struct in sorted(structs) for versions, size, members in structs[struct]])


def generate(facts, out):
    kfd_structs(facts, out)
