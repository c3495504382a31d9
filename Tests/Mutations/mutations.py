#!/usr/bin/env python3
"""Breaks each promise on purpose, one place at a time, and looks whether a test notices: see README.md beside it.

usage: mutations.py ROOT [WORD]...
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
# A mutated program may wait for ever: that is noticed, too.
LIMIT = 600


class Mutation:
    """A patch whose first lines say what it breaks and who must notice: `name:` and `caught by:`, a filter of `swift test`."""

    def __init__(self, path):
        self.path = path
        head = path.read_text(encoding="utf-8").split("\n---", 1)[0].split("\ndiff ", 1)[0]
        fields = dict(re.findall(r"^([a-z ]+): (.+)$", head, re.M))
        try:
            self.name, self.filter = fields["name"], fields["caught by"]
        except KeyError as missing:
            raise SystemExit(f"mutations: {path.name} has no line '{missing.args[0]}: …'") from None
        # Test targets that are built for it; the commands' tests need everything.
        self.targets = " ".join(sorted(set(re.findall(r"(\w+Tests)\\\.", self.filter))))
        if not self.targets:
            raise SystemExit(f"mutations: the filter of {path.name} names no test target")
        if "CommandTests" in self.targets:
            self.targets = ""

    def apply(self, tree, *options):
        return subprocess.run(["git", "apply", "--whitespace=nowarn", *options, self.path], cwd=tree, capture_output=True, text=True)


def own_place(root):
    """A copy of the tree with its build folder, standing where the tree stands, for this process and its children only: build
    folders know their path, and so the copy's is warm. Where no mount namespace can be had, the copy stands beside, and builds anew."""
    if "MUTATIONS_TREE" in os.environ:
        tree = pathlib.Path(os.environ["MUTATIONS_TREE"])
        if subprocess.run(["mount", "--bind", tree, root], capture_output=True).returncode == 0:
            return root, tree
        return tree, tree
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="waterh-mutations-"))
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root, check=True, capture_output=True).stdout
    subprocess.run(["cp", "-a", "--parents", "--reflink=auto", *[n for n in names.decode().split("\0") if n and (root / n).exists()], scratch],
                   cwd=root, check=True)
    if (root / ".build").exists():
        subprocess.run(["cp", "-a", "--reflink=auto", root / ".build", scratch], check=True)
    os.environ["MUTATIONS_TREE"] = str(scratch)
    for unshare in (["unshare", "--mount"], ["unshare", "--user", "--map-root-user", "--mount"]):
        if subprocess.run([*unshare, "true"], capture_output=True).returncode == 0:
            os.execvp(unshare[0], [*unshare, "--propagation", "private", sys.executable, *sys.argv])
    return scratch, scratch


def swift(tree, targets, *words, limit=None):
    """(whether it went well, its words); `None` for whether, where it took too long. `targets`: test targets, all of them where it is empty."""
    environment = {name: value for name, value in os.environ.items() if name not in ("MUTATIONS_TREE", "WATERH_TESTS")} | {"SWIFT_BACKTRACE": "enable=no"}
    if targets:
        environment["WATERH_TESTS"] = targets
    with tempfile.TemporaryFile("w+") as said:
        # The copy is nobody else's, and SwiftPM's lock knows only the path where it stands.
        process = subprocess.Popen(["swift", words[0], "--ignore-lock", *words[1:]], cwd=tree, stdout=said, stderr=subprocess.STDOUT, env=environment, start_new_session=True)
        try:
            good = process.wait(timeout=limit) == 0
        except subprocess.TimeoutExpired:
            good = None
        finally:
            # Also when somebody stops us: nothing of it goes on in a folder that is no more.
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        said.seek(0)
        return good, said.read()


def failed_tests(words):
    """Names of the tests that failed, as Swift Testing prints them."""
    found = re.findall(r"Test (?!run with |case passing )(.+?) (?:recorded an issue|failed after|with \d+ test cases? failed)", words)
    return list(dict.fromkeys(name.strip('"`').removesuffix("()") for name in found))


def test(tree, mutation):
    """What became of one mutation: (whether it was caught as promised, in words)."""
    good, words = swift(tree, mutation.targets, "build", "--build-tests", limit=3 * LIMIT)
    if not good:
        errors = [line for line in words.splitlines() if "error:" in line]
        return False, f"does not compile: {(errors or ['?'])[0]}"
    good, words = swift(tree, mutation.targets, "test", "--skip-build", "--filter", mutation.filter, limit=LIMIT)
    if good is None:
        return True, f"caught by {mutation.filter} (it never ended)"
    if not good:
        names = failed_tests(words)
        return True, f"caught by {', '.join(names[:3]) or mutation.filter + ' (it crashed)'}{', …' if len(names) > 3 else ''}"
    if re.search(r"with 0 tests|No matching test", words):
        return False, f"NO TEST matches '{mutation.filter}'"
    return False, f"SURVIVED {mutation.filter}"


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    root, wanted = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    mutations = [m for m in map(Mutation, sorted(HERE.glob("*.patch"))) if not wanted or any(w in m.path.name or w in m.name for w in wanted)]
    if not mutations:
        print("mutations: no patch has such a name", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    tree, scratch = own_place(root)
    try:
        print(f"mutations: {len(mutations)}, in a copy of the tree", flush=True)
        caught, built = 0, None
        # Those of the same test targets one after the other: what is built changes least.
        for mutation in sorted(mutations, key=lambda m: (m.targets == "", m.targets)):
            if mutation.targets != built:
                built = mutation.targets
                good, words = swift(tree, built, "build", "--build-tests")
                if not good:
                    print(words[-3000:])
                    print("mutations: the tree does not build as it is")
                    return 1
            began = time.monotonic()
            applied = mutation.apply(tree)
            if applied.returncode != 0:
                print(f"  {mutation.path.stem}: NO LONGER APPLIES: {applied.stderr.strip().splitlines()[0]}", flush=True)
                continue
            is_caught, words = test(tree, mutation)
            mutation.apply(tree, "--reverse")
            caught += is_caught
            print(f"  {mutation.path.stem}: {words} ({time.monotonic() - began:.0f} s)", flush=True)
        print(f"mutations: {caught} of {len(mutations)} caught")
        return 0 if caught == len(mutations) else 1
    finally:
        os.chdir("/")
        # The copy may stand at the tree's own path here: its own path is the one to remove.
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
