#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the totals that tools/suites reads from logs of suites that pass, fail, crash and skip."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

SUITES = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'tools', 'suites')


def entry(stdout, result='OK', returncode=0):
    return {'name': 'rt_tiny:fast / a', 'stdout': stdout, 'result': result, 'returncode': returncode}


def totals(*entries):
    """(exit code, last line) of `suites totals`."""
    with tempfile.NamedTemporaryFile('w', suffix='.json') as log:
        log.write(''.join(json.dumps(e) + '\n' for e in entries))
        log.flush()
        done = subprocess.run([sys.executable, SUITES, 'totals', log.name],
                              capture_output=True, text=True)
    return done.returncode, (done.stdout.splitlines() or [done.stderr])[-1]


class Totals(unittest.TestCase):
    def test_cases_of_all_suites_are_summed(self):
        self.assertEqual(totals(entry('All tests passed (9 assertions in 4 test cases)\n'),
                                entry('All tests passed (1 assertion in 1 test case)\n')),
                         (0, '5 passed, 0 failed'))

    def test_failed_cases_are_counted_one_by_one(self):
        text = 'test cases: 7 | 5 passed | 2 failed\nassertions: 70 | 65 passed | 5 failed\n'
        self.assertEqual(totals(entry(text, 'FAIL', 2)), (1, '5 passed, 2 failed'))

    def test_a_case_that_should_fail_and_does_has_passed(self):
        text = 'test cases: 3 | 2 passed | 1 failed as expected\n'
        self.assertEqual(totals(entry(text)), (0, '3 passed, 0 failed'))

    def test_all_cases_failed(self):
        self.assertEqual(totals(entry('test cases: 2 | 2 failed\n', 'FAIL', 2)),
                         (1, '0 passed, 2 failed'))

    def test_a_crash_is_a_failure_even_after_a_clean_summary(self):
        text = 'All tests passed (9 assertions in 4 test cases)\n'
        self.assertEqual(totals(entry(text, 'FAIL', -11)), (1, '4 passed, 1 failed'))

    def test_a_suite_that_dies_silently_is_a_failure(self):
        self.assertEqual(totals(entry('', 'TIMEOUT', -15)), (1, '0 passed, 1 failed'))

    def test_a_script_counts_as_one(self):
        self.assertEqual(totals(entry('fine\n'), entry('', 'FAIL', 1)), (1, '1 passed, 1 failed'))

    def test_nothing_run_is_an_error(self):
        self.assertEqual(totals(), (1, '0 passed, 0 failed'))
        self.assertEqual(totals(entry('No tests ran\n')), (1, '0 passed, 0 failed'))
        self.assertEqual(totals(entry('', 'SKIP', 77)), (1, '0 passed, 0 failed'))

    def test_only_the_closing_line_counts(self):
        text = 'All tests passed (1 assertion in 1 test case)\n' \
               'test cases:  9 |  6 passed |  3 failed\n'
        self.assertEqual(totals(entry(text, 'FAIL', 3))[1], '6 passed, 3 failed')


if __name__ == '__main__':
    unittest.main()
