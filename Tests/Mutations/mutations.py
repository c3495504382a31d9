#!/usr/bin/env python3
"""Breaks one guarantee at a time in a copy of the tree and checks that a test fails: see README.md.

usage: mutations.py ROOT [WORD]...     those mutations whose names contain a word
       mutations.py ROOT --check       only check that every edit still applies
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

# The limit of one test run in seconds, because a mutated program might hang.
LIMIT = 600


class Mutation:
    """A name, the tests that must fail (a filter of `swift test`), and edits: (file name, pattern, replacement)."""

    def __init__(self, name, tests, *edits):
        self.name, self.filter, self.edits = name, tests, edits
        self.targets = " ".join(sorted(set(re.findall(r"(\w+Tests)\\.", tests))))

    def apply(self, tree):
        """Changes the files and returns their former texts; raises ValueError where a pattern does not match once."""
        former = {}
        for file, pattern, replacement in self.edits:
            paths = list((tree / "Sources").rglob(file))
            if len(paths) != 1:
                raise ValueError(f"{len(paths)} files named {file}: expected 1")
            text = paths[0].read_text(encoding="utf-8")
            changed, count = re.subn(pattern, lambda _: replacement, text, flags=re.S)
            if count != 1:
                raise ValueError(f"{file}: {count} matches of {pattern}: expected 1")
            former.setdefault(paths[0], text)
            paths[0].write_text(changed, encoding="utf-8")
        return former


def restore(former):
    for path, text in former.items():
        path.write_text(text, encoding="utf-8")


MUTATIONS = [
    # Guarantee 1: journal before acknowledgement.
    Mutation("acknowledge-one-too-many", r"GatewayTests\.",
             ("Poll+Log.swift", r"UInt16\(records\.count \* DrinkRecord\.size\)",
              "UInt16((records.count + 1) * DrinkRecord.size)")),
    Mutation("acknowledge-unjournaled", r"GatewayTests\.",
             ("Poll+Log.swift", r"_ = try journal\.append\(entries\(records\)\)", "_ = journal")),
    Mutation("acknowledge-after-one-reading", r"GatewayTests\.|SimulationTests\.",
             ("ReadingAgreement.swift", r"readings\.count >= needed, let latest",
              "readings.count >= needed / 2, let latest")),
    Mutation("acknowledge-in-a-full-ring", r"GatewayTests\.|SimulationTests\.",
             ("ReadingAgreement.swift", r"latest\.count / 2\)", "0)")),
    Mutation("acknowledge-a-broken-frame", r"GatewayTests\.|SimulationTests\.",
             ("Poll+Log.swift", r"recordAnomaly\(\"a log frame is incomplete\"\)", "_ = reason")),
    Mutation("acknowledge-a-failed-write", r"GatewayTests\.",
             ("Poll+Log.swift", r"let outcomes = try journal\.append\(entries\)",
              "let outcomes = (try? journal.append(entries)) ?? entries.map { _ in .stored }"),
             ("Poll+Log.swift", r"_ = try journal\.append\(entries\(records\)\)",
              "_ = try? journal.append(entries(records))")),
    Mutation("commit-without-fsync", r"StoreTests\.",
             ("StoreOpening.swift", r"synchronous = FULL", "synchronous = NORMAL")),
    Mutation("acknowledge-after-a-gap", r"GatewayTests\.",
             ("Poll+Log.swift", r'recordAnomaly\("a log frame is incomplete"\)', "")),
    # Guarantee 2: a drink's identity comes from the bottle.
    Mutation("count-bookkeeping-records", r"BottleProtocolTests\.|GatewayTests\.|StoreTests\.",
             ("DrinkRecord.swift", r"\{ flag == 0 \}", "{ flag < 0x100 }")),
    Mutation("identity-from-all-bytes", r"StoreTests\.",
             ("JournalWriter.swift", r"first\(bottle, Data\(entry\.identity\)", "first(bottle, Data(entry.raw)")),
    Mutation("count-a-repeated-notification", r"BottleProtocolTests\.|GatewayTests\.",
             ("LogAssembler.swift", r"if value == previousValue, !completesHeader", "if value == previousValue, value.isEmpty, !completesHeader")),
    Mutation("year-from-the-host", r"BottleProtocolTests\.|TrackerCoreTests\.",
             ("DrinkRecord.swift", r"dialect == \.calendar \? 2000 \+ yearByte", "dialect == .calendar && yearByte > 99 ? 2000 + yearByte")),
    # Guarantee 3: the journal is the truth.
    Mutation("ignore-tombstones", r"StoreTests\.",
             ("Drinks/Drinks.swift", r"WHERE localDay = \? AND deleted = 0 ORDER BY", "WHERE localDay = ? ORDER BY")),
    Mutation("count-deleted-drinks", r"StoreTests\.",
             ("Drinks/Drinks.swift", r"localDay BETWEEN \? AND \? AND deleted = 0", "localDay BETWEEN ? AND ?")),
    Mutation("truncate-raw-bytes", r"StoreTests\.",
             ("JournalWriter.swift", r"bottle, Data\(entry\.raw\), verdict", "bottle, Data(entry.raw.prefix(8)), verdict")),
    # Adoption: only the store's own bottle is drained.
    Mutation("drain-another-bottle", r"GatewayTests\.",
             ("PollOptions+Ownership.swift", r"return candidates\.contains \{ \$0\.matches\(identity: identity, alias: alias\) \}",
              "return candidates.contains { $0.matches(identity: identity, alias: alias) } || !identity.isEmpty")),
    Mutation("acknowledge-a-released-bottle", r"GatewayTests\.",
             ("Poll+Log.swift", r"if hasResponded, try !journal\.isOwn\(bottle\)",
              "if hasResponded, false, try !journal.isOwn(bottle)")),
    # Access: who may read and write over HTTP.
    Mutation("write-from-another-origin", r"HTTPAPITests\.",
             ("Authenticator.swift", r"guard Self\.isOwnPage\(request\) else", "guard Self.isOwnPage(request) || !isSocket else")),
    Mutation("show-captures-without-admin", r"HTTPAPITests\.",
             ("BottleRoutes.swift", r"\"polls/kept/:poll\", needs: \.admin", '"polls/kept/:poll"')),
    Mutation("let-a-widget-token-read-everything", r"HTTPAPITests\.",
             ("Authenticator.swift", r"guard scope >= needed else", "guard scope >= needed || scope == .widget else")),
]


def own_place(root):
    """A copy of the tree and its build folder, mounted over the tree in a mount namespace of this process: SwiftPM
    stores absolute paths, so the build folder stays warm. Without a mount namespace the copy is built from nothing."""
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
    """Returns (success, output); success is None after the time limit. `targets`: test targets to build."""
    environment = {name: value for name, value in os.environ.items() if name not in ("MUTATIONS_TREE", "WATERH_TESTS")} | {"SWIFT_BACKTRACE": "enable=no"}
    environment["WATERH_SIM_SEEDS"] = "500"
    if targets:
        environment["WATERH_TESTS"] = targets
    with tempfile.TemporaryFile("w+") as said:
        # SwiftPM locks by path, and the path is shared with the original tree.
        process = subprocess.Popen(["swift", words[0], "--ignore-lock", *words[1:]], cwd=tree, stdout=said, stderr=subprocess.STDOUT, env=environment, start_new_session=True)
        try:
            good = process.wait(timeout=limit) == 0
        except subprocess.TimeoutExpired:
            good = None
        finally:
            # Also after a signal: no process may outlive its folder.
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
    """Builds and tests one mutation; returns (caught, description)."""
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


def check(root):
    """Applies every mutation to a copy of Sources."""
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="waterh-mutations-") as folder:
        tree = pathlib.Path(folder)
        shutil.copytree(root / "Sources", tree / "Sources")
        for mutation in MUTATIONS:
            try:
                restore(mutation.apply(tree))
            except ValueError as error:
                wrong += 1
                print(f"  {mutation.name}: {error}")
    print(f"mutations: {len(MUTATIONS) - wrong} of {len(MUTATIONS)} apply")
    return 1 if wrong else 0


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    root, wanted = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    if wanted == ["--check"]:
        return check(root)
    mutations = [m for m in MUTATIONS if not wanted or any(word in m.name for word in wanted)]
    if not mutations:
        print("mutations: no mutation has this name", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    tree, scratch = own_place(root)
    try:
        print(f"mutations: {len(mutations)}, in a copy of the tree", flush=True)
        caught, built = 0, None
        # Grouped by test targets, so that little is built between two mutations.
        for mutation in sorted(mutations, key=lambda m: m.targets):
            if mutation.targets != built:
                built = mutation.targets
                good, words = swift(tree, built, "build", "--build-tests")
                if not good:
                    print(words[-3000:])
                    print("mutations: the tree does not build")
                    return 1
            began = time.monotonic()
            try:
                former = mutation.apply(tree)
            except ValueError as error:
                print(f"  {mutation.name}: DOES NOT APPLY: {error}", flush=True)
                continue
            is_caught, words = test(tree, mutation)
            restore(former)
            caught += is_caught
            print(f"  {mutation.name}: {words} ({time.monotonic() - began:.0f} s)", flush=True)
        print(f"mutations: {caught} of {len(mutations)} caught")
        return 0 if caught == len(mutations) else 1
    finally:
        os.chdir("/")
        # The copy can be mounted over the path of the tree, so remove the original path of the copy.
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
