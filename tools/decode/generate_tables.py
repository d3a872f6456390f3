#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes tables/*.tsv from the fact tables: generate_tables.py FACTS_DIR [VENDOR …]

FACTS_DIR holds tables extracted mechanically from public headers; here they are cut down to what
decoding needs and written in the forms that table.h describes. One module a vendor
(generate_VENDOR.py) with `generate(facts, out)`; without VENDOR all of them run. Run again, it
writes the same bytes.
"""
import importlib
import pathlib
import sys

VENDORS = ['amd', 'nv', 'qcom']


class Facts:
    """The fact tables by name."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def text(self, path):
        """A file below the facts folder as text."""
        return (self.folder / path).read_text(encoding='utf-8')

    def rows(self, name):
        """Rows of NAME.tsv as dicts by column name (the first line without `#`)."""
        lines = [line for line in self.text(name + '.tsv').split('\n')
                 if line and not line.startswith('#')]
        columns = lines[0].split('\t')
        for line in lines[1:]:
            cells = line.split('\t')
            yield dict(zip(columns, cells + [''] * (len(columns) - len(cells))))


class Out:
    """Writes tables into one folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def table(self, name, about, rows):
        """Writes NAME.tsv: comment lines `about`, then the rows (tuples of cells, or strings)."""
        lines = ['# Generated, see generate_tables.py.'] + ['# ' + line for line in about.split('\n')]
        for row in rows:
            if isinstance(row, str):
                lines.append(row)
            else:
                lines.append('\t'.join(str(cell) for cell in row).rstrip('\t'))
        (self.folder / f'{name}.tsv').write_text('\n'.join(lines) + '\n', encoding='ascii')

    def structs(self, name, about, structs):
        """Writes a StructTable: structs is a list of (struct, size, versions, members), members a
        list of (name, offset, size, elements)."""
        rows = []
        for struct, size, versions, members in structs:
            rows.append((struct, size, ','.join(versions)))
            for member, offset, size_B, elements in members:
                cells = ['', member, offset, size_B]
                rows.append(tuple(cells + ([elements] if elements > 1 else [])))
        self.table(name, about, rows)


def merge_versions(by_version):
    """Groups versions with the same value: {version: value} -> [(versions, value)], in order."""
    groups = []
    for version, value in by_version.items():
        for versions, known in groups:
            if known == value:
                versions.append(version)
                break
        else:
            groups.append(([version], value))
    return groups


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    here = pathlib.Path(__file__).resolve().parent
    facts, out = Facts(sys.argv[1]), Out(here / 'tables')
    for vendor in sys.argv[2:] or VENDORS:
        importlib.import_module('generate_' + vendor).generate(facts, out)


if __name__ == '__main__':
    main()
