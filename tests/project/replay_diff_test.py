#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks what tools/replay_diff says of two folders of recorded kernels."""
import os
import subprocess
import sys
import tempfile
import unittest

DIFF = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'tools', 'replay_diff')


def compare(old, new):
    """(exit code, output lines) for two {file name: text}."""
    with tempfile.TemporaryDirectory() as root:
        for side, kernels in (('old', old), ('new', new)):
            os.mkdir(os.path.join(root, side))
            for name, text in kernels.items():
                with open(os.path.join(root, side, name), 'w', encoding='utf-8') as file:
                    file.write(text)
        done = subprocess.run([sys.executable, DIFF, os.path.join(root, 'old'),
                               os.path.join(root, 'new')], capture_output=True, text=True)
    return done.returncode, done.stdout.splitlines()


A, B, C = 'a' * 32, 'b' * 32, 'c' * 32


class Compare(unittest.TestCase):
    def test_equal_folders_do_not_differ(self):
        kernels = {f'{A}-add.ll': 'add\n', f'{B}-mul.ll': 'mul\n'}
        self.assertEqual(compare(kernels, kernels), (0, ['replay: 2 kernels, 0 differ']))

    def test_a_change_is_shown_as_a_diff_under_the_kernel_name(self):
        code, lines = compare({f'{A}-add.ll': 'one\ntwo\n'}, {f'{B}-add.ll': 'one\nthree\n'})
        self.assertEqual(code, 1)
        self.assertEqual(lines[0], 'changed: add')
        self.assertIn('-two', lines)
        self.assertIn('+three', lines)
        self.assertEqual(lines[-1], 'replay: 1 kernels, 1 differ')

    def test_added_and_removed_kernels_are_named(self):
        code, lines = compare({f'{A}-add.ll': 'x\n'}, {f'{B}-mul.ll': 'y\n', f'{C}-sub.ll': 'z\n'})
        self.assertEqual(code, 1)
        self.assertEqual(lines, ['removed: add', 'added: mul', 'added: sub',
                                 'replay: 2 kernels, 3 differ'])

    def test_one_name_may_stand_for_several_kernels(self):
        old = {f'{A}-add.ll': 'p\nq\n', f'{B}-add.ll': 'r\ns\n'}
        new = {f'{A}-add.ll': 'p\nq\n', f'{C}-add.ll': 'r\nt\n'}
        code, lines = compare(old, new)
        self.assertEqual((code, lines[-1]), (1, 'replay: 2 kernels, 1 differ'))
        self.assertIn('-s', lines)

    def test_a_missing_folder_is_an_error(self):
        self.assertNotEqual(subprocess.run([sys.executable, DIFF, '/nonexistent/a', '/nonexistent/b'],
                                           capture_output=True).returncode, 0)


if __name__ == '__main__':
    unittest.main()
