"""Removes the data that the commands do not use from ICU's data, which Foundation links: other languages than English and German, character
sets, sorting, units, boundaries of words, numbers as words, and transliterations.

usage: icu.py DATA REDUCED        two files in the format of ICU's .dat files; REDUCED is written

A .dat file has a header, whose first two bytes are its size; the number of items; for each item, sorted by name, the offsets of its name and
its data from the end of the header; the names; and the data.
"""
import re
import struct
import sys
from pathlib import Path

UNUSED = re.compile(r"\.(cnv|spp)$|^(brkitr|coll|rbnf|translit|unit)/|^(confusables|unames)\.")
LANGUAGE = re.compile(r"^(?:\w+/)?(?!res_index)([a-z]{2,3})(?:_\w+)?\.res$")
USED_LANGUAGES = {"en", "de"}


def is_used(path):
    language = LANGUAGE.search(path)
    return not UNUSED.search(path) and (not language or language[1] in USED_LANGUAGES)


def main(source, destination):
    data = Path(source).read_bytes()
    header_size, = struct.unpack_from("<H", data)
    header, body = data[:header_size], data[header_size:]
    count, = struct.unpack_from("<I", body)
    offsets = [struct.unpack_from("<II", body, 4 + 8 * index) for index in range(count)]
    ends = [start for _, start in offsets[1:]] + [len(body)]
    items = [(body[name:body.index(b"\0", name) + 1], body[start:end]) for (name, start), end in zip(offsets, ends)]
    kept = [item for item in items if is_used(item[0][:-1].decode().split("/", 1)[1])]
    if not 0 < len(kept) < count:
        sys.exit(f"icu.py: {source} has {count} items, of which {len(kept)} would be kept")
    names = b"".join(name for name, _ in kept)
    name_start = 4 + 8 * len(kept)
    data_start = name_start + len(names) + -(name_start + len(names)) % 16
    table, contents = struct.pack("<I", len(kept)), b""
    for name, item in kept:
        table += struct.pack("<II", name_start, data_start + len(contents))
        name_start += len(name)
        contents += item + bytes(-len(item) % 16)
    Path(destination).write_bytes(header + (table + names).ljust(data_start, b"\0") + contents)


if __name__ == "__main__":
    main(*sys.argv[1:])
