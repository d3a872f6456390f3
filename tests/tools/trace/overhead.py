#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the recorder costs a program that touches no GPU, in instructions (callgrind counts them).

    overhead.py BUILD [--limit PERCENT]

Prints one line a program: instructions without and with the recorder, and the difference. Exits 1
where a program that works (rather than one that only opens files) is above the limit.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

WORK = [sys.executable, '-c', 'import zlib; d=b"".join(b"%d," % (i*i) for i in range(60000));'
        'print(len(zlib.compress(d, 9)))']
FILES = ['find', '/usr/include', '-name', '*.h', '-size', '+100k']
START = ['true']


def instructions(command, environment):
    done = subprocess.run(['valgrind', '--tool=callgrind', '--callgrind-out-file=/dev/null', '--']
                          + command, capture_output=True, text=True, env=os.environ | environment)
    found = re.search(r'Collected : (\d+)', done.stderr)
    if done.returncode or not found:
        sys.exit(f'{command[0]}: {done.stderr[-800:]}')
    return int(found[1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('build')
    parser.add_argument('--limit', type=float, default=2.0)
    arguments = parser.parse_args()
    recorder = os.path.join(os.path.abspath(arguments.build), 'tools/trace/libtiny_trace.so')
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, 't.tinytrace')
        subprocess.run([os.path.join(arguments.build, 'tools/tiny'), 'trace', '--quiet', '--out',
                        trace, 'true'], check=True, stderr=subprocess.DEVNULL)
        traced = {'LD_PRELOAD': recorder, 'RT_TINY_TRACE': f'1:trap:scrub:1:{trace}'}
        for name, command, counts in (('start', START, False), ('files', FILES, False),
                                      ('work', WORK, True)):
            plain, with_recorder = instructions(command, {}), instructions(command, traced)
            percent = 100 * (with_recorder - plain) / plain
            print(f'{name:6} {plain:>13,} {with_recorder:>13,}  +{with_recorder - plain:,}'
                  f'  {percent:+.2f} %')
            if counts and percent > arguments.limit:
                status = 1
    return status


if __name__ == '__main__':
    sys.exit(main())
