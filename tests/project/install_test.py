#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Installs a build into a fresh folder; builds and runs strangers' programs against it with plain
g++ and pkg-config.

    install_test.py BUILD PKG_CONFIG_NAME PROGRAM.cpp EXPECTED_OUTPUT
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIP = 77  # meson's exit code of a skipped test


def output(command, **keywords):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          **keywords)
    if done.returncode:
        sys.exit(f'{" ".join(command)}\nexit code {done.returncode}\n{done.stdout}')
    return done.stdout


def install(build, destdir):
    """Installs, and returns where the libraries lie."""
    output(['meson', 'install', '-C', build, '--no-rebuild', '--destdir', destdir])
    options = {o['name']: o['value'] for o in
               json.loads(output(['meson', 'introspect', '--buildoptions', build]))}
    return os.path.join(destdir + options['prefix'], options['libdir'])


def compile_outside(package, source, libraries, folder, sysroot):
    """Builds a copy of the program in a folder that knows nothing of the tree."""
    shutil.copy(source, folder)
    pkg_config = os.environ | {'PKG_CONFIG_LIBDIR': os.path.join(libraries, 'pkgconfig'),
                               'PKG_CONFIG_SYSROOT_DIR': sysroot}
    flags = output(['pkg-config', '--cflags', '--libs', package], env=pkg_config).split()
    output(['g++', '-Wall', '-Wextra', '-Wpedantic', '-Werror', os.path.basename(source), *flags,
            '-o', 'program'], cwd=folder)


def check_soname(libraries, package):
    name = f'lib{package}.so'
    text = output(['readelf', '-d', os.path.join(libraries, name)])
    if f'soname: [{name}.0]' not in text:
        sys.exit(f'{name} has not the soname {name}.0:\n{text}')


def defined_data(library):
    """Writable state a library exports or hides: the names of its data and bss symbols."""
    lines = output(['nm', '-C', '--defined-only', library]).splitlines()
    return {line.split(' ', 2)[2] for line in lines
            if line.split(' ', 2)[1] in 'bBdD' and ' tiny::' in line and 'typeinfo' not in line}


def check_no_second_copy(libraries):
    """The state of the core must not be linked a second time into the whole library."""
    both = defined_data(os.path.join(libraries, 'librt_tiny.so')) & \
        defined_data(os.path.join(libraries, 'librt_tiny_core.so'))
    if both:
        sys.exit('both libraries hold this state:\n' + '\n'.join(sorted(both)))


def run_installed(folder, libraries, root):
    """Runs the program; all of our libraries it loads must be the installed ones."""
    loads = os.path.join(root, 'loads')
    printed = output(['./program'], cwd=folder, env=os.environ | {
        'LD_LIBRARY_PATH': libraries, 'DEV': 'CPU', 'TINY_CACHE_DIR': os.path.join(root, 'cache'),
        'LD_DEBUG': 'files', 'LD_DEBUG_OUTPUT': loads})
    loaded = set()
    for name in os.listdir(root):
        if name.startswith('loads.'):
            with open(os.path.join(root, name), encoding='utf-8', errors='replace') as log:
                loaded |= set(re.findall(r'calling init: (\S*lib(?:rt_tiny|tiny_)\S*)', log.read()))
    strays = [path for path in loaded if not path.startswith(libraries)]
    if strays or not loaded:
        sys.exit(f'libraries that are not the installed ones: {strays or "none seen"}')
    return printed


def main():
    build, package, source, expected = sys.argv[1:5]
    if not all(map(shutil.which, ('g++', 'pkg-config', 'nm', 'readelf'))):
        print('needs g++, pkg-config, nm and readelf')
        return SKIP
    with tempfile.TemporaryDirectory() as root:
        sysroot, outside = os.path.join(root, 'sysroot'), os.path.join(root, 'outside')
        os.mkdir(outside)
        libraries = install(build, sysroot)
        check_soname(libraries, package)
        check_no_second_copy(libraries)
        compile_outside(package, source, libraries, outside, sysroot)
        printed = run_installed(outside, libraries, root)
    print(printed)
    if printed != expected:
        sys.exit(f'expected: {expected}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
