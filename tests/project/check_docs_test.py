#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that tools/check_docs passes a true page and catches a page that lies."""
import os
import subprocess
import sys
import tempfile
import unittest

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'tools', 'check_docs')


def console(*lines):
    return 'Text.\n```console\n' + ''.join(line + '\n' for line in lines) + '```\n'


def check(page):
    """(exit code, output) for a page, with a build that holds `greet`, and `run`, which runs what
    follows `--`."""
    with tempfile.TemporaryDirectory() as build:
        with open(os.path.join(build, 'greet'), 'w', encoding='utf-8') as file:
            file.write('#!/bin/sh\necho "hello $1$WHO"\necho took 12 ms\necho bye\n')
        with open(os.path.join(build, 'run'), 'w', encoding='utf-8') as file:
            file.write('#!/bin/sh\nshift\nexec "$@"\n')
        for name in ('greet', 'run'):
            os.chmod(os.path.join(build, name), 0o755)
        with open(os.path.join(build, 'page.md'), 'w', encoding='utf-8') as file:
            file.write(page)
        done = subprocess.run([sys.executable, CHECK, build, os.path.join(build, 'page.md')],
                              capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


class Console(unittest.TestCase):
    def test_a_true_page_passes(self):
        code, text = check(console('$ build/greet you', 'hello you', 'took 12 ms', 'bye'))
        self.assertEqual((code, text), (0, 'page.md: 1 snippets, 0 wrong\n'))

    def test_variables_are_set(self):
        self.assertEqual(check(console('$ WHO=us build/greet', 'hello us', '…'))[0], 0)

    def test_a_program_that_ours_runs_is_of_the_build_too(self):
        self.assertEqual(check(console('$ build/run -- build/greet us', 'hello us', '…'))[0], 0)

    def test_dots_stand_for_what_changes(self):
        self.assertEqual(check(console('$ build/greet you', 'hello you', 'took … ms', 'bye'))[0], 0)
        self.assertEqual(check(console('$ build/greet you', '...', 'bye'))[0], 0)
        self.assertEqual(check(console('$ build/greet you', '…', 'took … s', '…'))[0], 1)

    def test_a_lie_is_caught(self):
        code, text = check(console('$ build/greet you', 'hello me', '…'))
        self.assertEqual(code, 1)
        self.assertIn('page.md:2: build/greet you', text)

    def test_missing_and_extra_lines_are_caught(self):
        self.assertEqual(check(console('$ build/greet you', 'hello you'))[0], 1)
        self.assertEqual(check(console('$ build/greet a', 'hello a', 'took 12 ms', 'bye', 'x'))[0], 1)

    def test_dots_may_stand_for_nothing(self):
        self.assertEqual(check(console('$ build/greet you', '…', 'hello you', '…', 'took … ms',
                                       'bye', '…'))[0], 0)
        self.assertEqual(check(console('$ build/greet you', 'hello you', '…', 'hello you', '…'))[0], 1)
        self.assertEqual(check(console('$ build/greet you', 'hello you', '…', 'took 12 ms'))[0], 1)

    def test_other_commands_are_not_run(self):
        self.assertEqual(check(console('$ rm -rf build', '$ ./tiny-dev demo', 'anything'))[0], 0)


class Quotes(unittest.TestCase):
    def test_lines_of_a_file_are_found(self):
        head = '```c++\n// tools/meson.build\n'
        self.assertEqual(check(head + "tiny_tool = executable('tiny', …\n```\n")[0], 0)
        code, text = check(head + "tiny_tool = nonsense\n```\n")
        self.assertEqual(code, 1)
        self.assertIn('tools/meson.build does not say', text)
        self.assertEqual(check('```c++\n// tools/none.h\nint x;\n```\n')[0], 1)


class Programs(unittest.TestCase):
    def test_a_named_program_is_run_by_console_lines(self):
        page = ('```c++\n// nobody.cpp\n#include "runtime/base/api.h"\n#include <cstdlib>\n'
                '#include <cstdio>\nint main() {\n  const char* who = std::getenv("WHO");\n'
                '  std::puts(who ? who : "nobody");\n}\n```\n```text\nnobody\n```\n')
        self.assertEqual(check(page + console('$ WHO=us ./nobody', 'us'))[0], 0)
        self.assertEqual(check(page + console('$ WHO=us ./nobody', 'them'))[0], 1)

    def test_a_program_that_does_not_compile_is_caught(self):
        code, text = check('```c++\nint main() { return nonsense; }\n```\n')
        self.assertEqual(code, 1)
        self.assertIn('page.md:1: does not compile', text)

    def test_a_fragment_is_left_alone(self):
        self.assertEqual(check('```c++\nnonsense;\n```\n')[0], 0)


if __name__ == '__main__':
    unittest.main()
