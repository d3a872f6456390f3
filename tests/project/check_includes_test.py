#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plants broken include arrows and looks whether tools/check_includes names each of them."""
import os
import subprocess
import sys
import tempfile
import unittest

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'tools', 'check_includes')


def check(files, *arguments):
    """(exit code, output lines) over a tree of {path: text}, which is no git checkout."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), 'w', encoding='utf-8') as file:
                file.write(text)
        done = subprocess.run([sys.executable, CHECK, '--root', root, *arguments],
                              capture_output=True, text=True)
    return done.returncode, (done.stdout + done.stderr).splitlines()


class Arrows(unittest.TestCase):
    def rejects(self, path, include, because, **others):
        code, lines = check({path: f'#include {include}\n', **others})
        self.assertEqual(code, 1, lines)
        self.assertEqual(len(lines), 2, lines)  # one line for the arrow, one that counts
        self.assertTrue(lines[0].startswith(f'{path}:1: '), lines[0])
        self.assertIn(because, lines[0])

    def accepts(self, path, *includes):
        code, lines = check({path: ''.join(f'#include {i}\n' for i in includes)})
        self.assertEqual(code, 0, lines)

    def test_each_room_may_include_what_stands_below_it(self):
        self.accepts('frontend/tensor.cpp', '"engine/realize.h"', '"compiler/ir/node.h"',
                     '<rt_tiny/runtime/device.h>', '<vector>')
        self.accepts('engine/realize.cpp', '"compiler/ir/node.h"', '<rt_tiny/runtime/device.h>')
        self.accepts('compiler/opt/opt.cpp', '"compiler/ir/node.h"', '"runtime/base/log.h"')
        self.accepts('drivers/cpu/device.cpp', '"runtime/hwqueue/ring.h"', '"drivers/cpu/worker.h"')
        self.accepts('models/amd/isa.cpp', '"runtime/base/elf.h"', '"models/amd/isa.h"')
        self.accepts('tests/engine/a_test.cpp', '"drivers/cpu/worker.h"', '"compiler/ir/node.h"')

    def test_the_compiler_sees_only_the_base_of_the_runtime(self):
        self.rejects('compiler/ir/node.cpp', '<rt_tiny/runtime/device.h>', 'never a device')
        self.rejects('compiler/ir/node.cpp', '"engine/realize.h"', 'compiler may include only')

    def test_drivers_know_no_compiler_and_no_other_driver(self):
        self.rejects('drivers/amd/device.cpp', '"compiler/ir/node.h"', 'publishes a Target')
        self.rejects('drivers/amd/device.cpp', '"drivers/nv/rm.h"', 'do not include each other')
        self.rejects('drivers/cpu/device.cpp', '"drivers/null/device.h"', 'do not include each other')
        self.accepts('drivers/null/device.cpp', '"drivers/cpu/encoder.h"')
        self.accepts('drivers/builtin.cpp', '"drivers/cpu/device.h"', '"drivers/null/device.h"')

    def test_models_know_no_driver(self):
        self.rejects('models/amd/pm4.cpp', '"drivers/amd/pm4.h"', 'own decoder')

    def test_the_runtime_and_its_base_know_nothing_above(self):
        self.rejects('runtime/device.cpp', '"drivers/cpu/device.h"', 'vendor-neutral')
        self.rejects('runtime/base/log.cpp', '<rt_tiny/runtime/device.h>', 'below everything')

    def test_the_engine_knows_no_front_end_and_no_driver(self):
        self.rejects('engine/realize.cpp', '<rt_tiny/frontend/tensor.h>', 'engine may include only')
        self.rejects('engine/realize.cpp', '"drivers/cpu/device.h"', 'engine may include only')

    def test_nothing_in_the_library_includes_tests_or_tools(self):
        self.rejects('frontend/tensor.cpp', '"tests/frontend/helper.h"', 'frontend may include only')
        self.rejects('tools/tiny.cpp', '"tests/frontend/helper.h"', 'tools/ may not include tests/')

    def test_a_public_header_includes_no_private_one(self):
        umbrella = {'rt_tiny.h': '#include <rt_tiny/frontend/tensor.h>\n'}
        self.rejects('frontend/tensor.h', '"engine/realize.h"', 'would not be installed', **umbrella)
        self.rejects('runtime/device.h', '"runtime/hwqueue/ring.h"', 'would not be installed')
        self.rejects('runtime/device.h', '"runtime/base/dtype.h"', 'as <rt_tiny/')
        self.accepts('runtime/device.h', '<rt_tiny/runtime/base/dtype.h>')
        self.accepts('frontend/graph.h', '"engine/realize.h"')
        self.rejects('runtime/device.h', '"runtime/backend.h"', 'would not be installed')

    def test_an_own_header_comes_first(self):
        header, own, other = {'engine/realize.h': ''}, '#include "engine/realize.h"\n', '#include <vector>\n'
        self.assertEqual(check({**header, 'engine/realize.cpp': own + other})[0], 0)
        code, lines = check({**header, 'engine/realize.cpp': other + own})
        self.assertEqual(code, 1)
        self.assertIn('comes first', lines[0])

    def test_a_private_include_is_written_from_the_root(self):
        self.rejects('engine/realize.cpp', '"cache.h"', '"engine/cache.h"', **{'engine/cache.h': ''})

    def test_spaces_do_not_hide_an_include(self):
        code, _ = check({'models/a/b.cpp': '  #  include  "drivers/amd/pm4.h"  // why not\n'})
        self.assertEqual(code, 1)

    def test_an_empty_tree_is_an_error(self):
        self.assertEqual(check({})[0], 1)


class PublicHeaders(unittest.TestCase):
    def test_the_list_holds_the_public_headers_and_the_base_they_need(self):
        code, lines = check({
            'rt_tiny.h': '#include <rt_tiny/frontend/tensor.h>\n',
            'frontend/tensor.h': '#include <rt_tiny/runtime/device.h>\n',
            'frontend/cell.h': '', 'runtime/backend.h': '', 'runtime/device.h': '#include <rt_tiny/runtime/base/fd.h>\n',
            'runtime/base/fd.h': '', 'runtime/base/dtype.h': '', 'runtime/base/elf.h': '',
            'runtime/hwqueue/ring.h': '', 'engine/realize.h': ''}, '--list-public')
        self.assertEqual(code, 0)
        self.assertEqual(lines, ['frontend/tensor.h', 'rt_tiny.h', 'runtime/base/dtype.h',
                                 'runtime/base/fd.h', 'runtime/device.h'])


if __name__ == '__main__':
    unittest.main()
