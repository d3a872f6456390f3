#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Copies rows of the fact tables into tests/data/decode/amd_facts.tsv.gz: copy_amd_facts.py FACTS_DIR

Only cuts columns: the tests compare what the decoders print with the facts as they were extracted,
not with the tables that generate_amd.py makes of them. First column: the kind of row.
  pm4   generation packet opcode dword field hi lo
  enum  generation PACKET field value name
  sdma  version packet op sub_op dword field hi lo
  call  name number struct                     (KFD and amdgpu, encoded command)
"""
import gzip
import pathlib
import sys


def rows(folder, name):
    lines = [line for line in (folder / (name + '.tsv')).read_text().split('\n')
             if line and not line.startswith('#')]
    columns = lines[0].split('\t')
    for line in lines[1:]:
        cells = line.split('\t')
        yield dict(zip(columns, cells + [''] * (len(columns) - len(cells))))


def pm4(folder):
    opcodes = {}
    for r in rows(folder, 'amd_pm4'):
        if r['kind'] == 'opcode':
            opcodes[r['generation'], r['packet'].split('__')[0]] = r['value']
    for r in rows(folder, 'amd_pm4'):
        if not r['source'].startswith('pal'):
            continue
        if r['kind'] == 'field':
            opcode = opcodes.get((r['generation'], r['packet']))
            if opcode:
                yield ('pm4', r['generation'], r['packet'], opcode, r['dword'], r['field'], r['hi'],
                       r['lo'])
        elif r['kind'] == 'enum' and r['field'].count('__') >= 2:
            field, packet, name = r['field'].split('__')[:3]
            yield 'enum', r['generation'], packet[4:].upper(), field, r['value'], name


def sdma(folder):
    sources = {'4.0': 'linux', '5.0': 'linux', '5.2': 'pal', '6.0': 'linux', '7.0': 'pal'}
    for r in rows(folder, 'amd_sdma'):
        if r['source'] == sources.get(r['sdma_version']) and r['op'] and r['hi']:
            yield ('sdma', r['sdma_version'], r['packet'], r['op'], r['sub_op'] or '0', r['dword'],
                   r['field'].split('.')[-1], r['hi'], r['lo'])


def calls(folder):
    seen = set()
    for r in rows(folder, 'kfd_structs'):
        if r['ioctl']:
            seen.add(('call', r['ioctl'], r['number'], r['struct'], r['total_size']))
    yield from sorted(seen)
    for r in rows(folder, 'kfd_numbers'):
        if r['kind'] == 'ioctl' or r['name'].startswith('DRM_IOCTL_AMDGPU'):
            yield 'call', r['name'], r['value'], '', ''


def main():
    folder = pathlib.Path(sys.argv[1])
    out = pathlib.Path(__file__).resolve().parents[2] / 'data' / 'decode' / 'amd_facts.tsv.gz'
    text = ''.join('\t'.join(row) + '\n' for part in (pm4, sdma, calls) for row in part(folder))
    out.parent.mkdir(exist_ok=True)
    out.write_bytes(gzip.compress(text.encode('ascii'), 9, mtime=0))


if __name__ == '__main__':
    main()
