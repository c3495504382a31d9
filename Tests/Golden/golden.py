#!/usr/bin/env python3
"""Golden files: compares the visible output of the programs with the files in Tests/Golden/expected.

usage: golden.py PRODUCTS [--accept FILE...]

PRODUCTS is the folder of the built programs. Exit codes: 0 no difference, 1 differences, 2 wrong use. See README.md.
"""
import difflib
import sys

sys.dont_write_bytecode = True
from bench import HERE, Bench  # noqa: E402
from views import make  # noqa: E402

EXPECTED = HERE / "expected"
# A difference in one of these needs a line in the CHANGELOG.
CONTRACTS = ["exit-codes.txt", "json-keys.txt", "mqtt-topics.txt", "option-names.txt"]


def show(name, old, new):
    if not old or not new:
        print(f"{name}: {'new file' if new else 'missing file'}")
        return
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), f"expected/{name}", f"now/{name}", "", "", 1, "")
    lines = [line if len(line) <= 200 else line[:200] + "…" for line in lines]
    print("\n".join(lines[:60] + ([f"… {len(lines) - 60} more lines"] if len(lines) > 60 else [])))


def main(arguments):
    if not arguments or arguments[0].startswith("-") or (len(arguments) > 1 and arguments[1] != "--accept"):
        print(__doc__, file=sys.stderr)
        return 2
    accepted = [name.removeprefix("Tests/Golden/").removeprefix("expected/") for name in arguments[2:]]
    if len(arguments) == 2:
        print("golden: --accept requires the names of files", file=sys.stderr)
        return 2
    bench = Bench(arguments[0])
    try:
        make(bench)
    finally:
        bench.close()
    expected = {str(path.relative_to(EXPECTED)): path.read_text() for path in EXPECTED.rglob("*") if path.is_file()}
    names = sorted(expected.keys() | bench.made.keys())
    if (unknown := [name for name in accepted if name not in names]):
        print(f"golden: unknown golden file {', '.join(unknown)}", file=sys.stderr)
        return 2
    different = [name for name in names if expected.get(name) != bench.made.get(name)]
    for name in [name for name in different if name in accepted]:
        path = EXPECTED / name
        if name in bench.made:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(bench.made[name])
        else:
            path.unlink()
        print(f"accepted {name}")
    different = [name for name in different if name not in accepted]
    for name in different:
        show(name, expected.get(name), bench.made.get(name))
    for name in CONTRACTS:
        if name in different + accepted and expected.get(name) != bench.made.get(name):
            print(f"{name} differs: add a line to the CHANGELOG")
    print(f"{len(names)} files, {len(different)} different")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
