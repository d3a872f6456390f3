#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes tables/drm_structs.tsv and drm_calls.tsv from the headers of libdrm-dev: extract_drm.py

The layouts are those that clang computes (-fdump-record-layouts); the numbers come from the
preprocessor. Display calls (mode setting) keep their names only. Facts tables have the structures of
amdgpu that compute programs use in a newer version: see generate_amd.py; those are left out here.
"""
import pathlib
import re
import subprocess
import tempfile

from generate_tables import Out

INCLUDE = '/usr/include/libdrm'
HEADERS = ['drm.h', 'amdgpu_drm.h']
SIZES = {'__u64': 8, '__s64': 8, 'unsigned long': 8, 'long': 8, '__kernel_size_t': 8,
         '__u32': 4, '__s32': 4, 'int': 4, 'unsigned int': 4, 'drm_magic_t': 4, '__u16': 2,
         'unsigned short': 2, '__u8': 1, 'char': 1, 'unsigned char': 1}
LINE = re.compile(r'^\s*(\d+) \|(\s+)(.*?)(?: (\w+))?$')


def clang(*args, text):
    return subprocess.run(['clang++', f'-I{INCLUDE}', '-x', 'c++', *args, '-'], input=text,
                          capture_output=True, text=True, check=True).stdout


def members(lines):
    """(path, offset, size, elements) of one dumped record."""
    stack, found = [], []
    parsed = [LINE.match(line) for line in lines]
    parsed = [m for m in parsed if m]
    for i, match in enumerate(parsed):
        depth = (len(match[2]) - 3) // 2
        following = parsed[i + 1] if i + 1 < len(parsed) else None
        parent = following and (len(following[2]) - 3) // 2 > depth
        name = match[4] if not match[3].endswith(('struct', 'union')) else ''
        stack = stack[:depth] + [name or '']
        if parent:
            continue
        count = 1
        ctype = match[3]
        array = re.match(r'(.*?)\s*\[(\d*)\]$', ctype)
        if array:
            ctype, count = array[1], int(array[2] or 0)
        size = 8 if ctype.endswith('*') else 4 if ctype.startswith('enum') else SIZES.get(
            ctype.removeprefix('const '))
        path = '.'.join(part for part in stack if part)
        found.append([path, int(match[1]), size and size * count, count])
    return found


def structs(text):
    seen = {}
    for block in text.split('*** Dumping AST Record Layout')[1:]:
        lines = block.strip('\n').split('\n')
        head = re.match(r'\s*0 \| (?:struct|union) (drm_\w+)$', lines[0])
        size = re.search(r'\[sizeof=(\d+)', block)
        if not head or head[1].startswith('drm_mode') or not size:
            continue
        found = [m for m in members(lines[1:]) if m[0] and m[3]]
        for i, member in enumerate(found):  # arrays of structures: up to what follows
            if member[2] is None:
                later = [m[1] for m in found if m[1] > member[1]] + [int(size[1])]
                member[2], member[3] = min(later) - member[1], 1
        seen[head[1]] = (head[1], int(size[1]), ['libdrm-2.4.114'], [tuple(m) for m in found])
    return seen


def numbers(include, names):
    """The values of macros, as a program prints them."""
    program = include + '#include <stdio.h>\nint main() {' + ''.join(
        f'printf("{n} %#lx\\n", (unsigned long){n});' for n in names) + '}'
    with tempfile.TemporaryDirectory() as folder:
        binary = pathlib.Path(folder) / 'numbers'
        clang('-o', str(binary), text=program)
        text = subprocess.run([binary], capture_output=True, text=True, check=True).stdout
    return {name: int(value, 0) for name, value in map(str.split, text.splitlines())}


def main():
    out = Out(pathlib.Path(__file__).resolve().parent / 'tables')
    include = ''.join(f'#include <{h}>\n' for h in HEADERS)
    macros = clang('-E', '-dM', text=include)
    names = sorted(set(re.findall(r'#define (DRM_IOCTL_\w+) ', macros)) - {'DRM_IOCTL_BASE'})
    kinds = dict(re.findall(r'#define (DRM_IOCTL_\w+)\s+DRM_IO\w*\s*\(.*?(?:,\s*(?:struct|union) '
                            r'(\w+))?\s*\)\n', macros))
    structure_names = sorted(set(kinds.values()) - {''} | set(re.findall(
        r'^(?:struct|union) (drm_\w+)', clang('-E', text=include), re.M)))
    program = include + ''.join(f'unsigned long size_{i} = sizeof({s});\n'
                                for i, s in enumerate(structure_names))
    layouts = structs(clang('-fsyntax-only', '-Xclang', '-fdump-record-layouts', text=program))
    known = {line.split('\t')[0] for line in (out.folder / 'kfd_structs.tsv').read_text().split('\n')}
    out.structs('drm_structs', 'By extract_drm.py: structures of drm.h and amdgpu_drm.h of libdrm 2.4.114.',
                [s for name, s in sorted(layouts.items()) if name not in known])
    rows = [(name, f'{value & 0xffff:#x}', kinds.get(name, ''))
            for name, value in numbers(include, names).items()]
    rows.sort(key=lambda r: int(r[1], 0))
    out.table('drm_calls', 'By extract_drm.py: calls of drm.h and amdgpu_drm.h of libdrm 2.4.114: name, type << 8 | nr, '
              'structure.', rows)


if __name__ == '__main__':
    main()
