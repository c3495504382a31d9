#!/usr/bin/env python3
"""The packages in a fresh Debian in a folder: apt-get, every command, the service's page, upgrade, removal, and what is kept.

usage: package_tests.py FOLDER [SUITE]...

FOLDER: where `hardware/bench package` put the packages. SUITE: bookworm (default), trixie. As root.
Fresh systems are kept below WATERH_PACKAGE_SYSTEMS (default /var/tmp/waterh-package): each run works in a copy. Such a folder has no
systemd, and the package's scripts have to work without it. systemd_tests.py tests the service's life with systemd.
"""
import contextlib
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parents[2]
COMMANDS = ["waterh-emulator", "waterh-gateway", "waterh-replay", "waterh-tracker"]
LIMIT = 300
STORE = "/var/lib/waterh/waterh.sqlite"
failures = []


def end():
    """Prints the verdict and exits."""
    print(f"{len(failures)} failed" if failures else "All passed.")
    sys.exit(1 if failures else 0)


def check(title, is_met, detail=""):
    print(("ok      " if is_met else "FAILED  ") + title, flush=True)
    if not is_met:
        failures.append(title)
        print("        " + str(detail).strip().replace("\n", "\n        ")[-3000:], flush=True)


class System:
    """A Debian in a folder, with its own process IDs and, if requested, its own network."""

    def __init__(self, suite):
        base = pathlib.Path(os.environ.get("WATERH_PACKAGE_SYSTEMS", "/var/tmp/waterh-package")) / suite
        if not (base / "fresh").exists():
            print(f"A fresh {suite} goes into {base}", flush=True)
            shutil.rmtree(base, ignore_errors=True)
            base.parent.mkdir(parents=True, exist_ok=True)
            mirror = [os.environ["WATERH_DEBIAN_MIRROR"]] if "WATERH_DEBIAN_MIRROR" in os.environ else []
            environment = {key: value for key, value in os.environ.items() if key != "TMPDIR"}
            subprocess.run(["debootstrap", "--variant=minbase", suite, base, *mirror], check=True, stdout=subprocess.DEVNULL, env=environment)
            (base / "fresh").touch()
        self.work_folder = tempfile.mkdtemp(prefix="waterh-package-")
        self.root = pathlib.Path(self.work_folder) / "root"
        subprocess.run(["cp", "-a", "--reflink=auto", base, self.root], check=True)
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")

    def close(self):
        shutil.rmtree(self.work_folder, ignore_errors=True)

    def run(self, script, user=None, outer_script="", without_network=False, limit=LIMIT):
        """Runs the script in the folder with chroot. `outer_script` runs outside at the same time and then ends it. `without_network`: loopback only."""
        inner_command = ["chroot", str(self.root)]
        if user:
            inner_command += ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        inner_command += ["env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive",
                   "HOME=" + ("/var/lib/waterh" if user else "/root"), "sh", "-ec", script]
        words = ["unshare", "--mount", "--pid", "--fork", "--kill-child"] + (["--net"] if without_network else [])
        shell = f'mount -t proc proc "$0/proc"; mount --bind /dev "$0/dev"; {"ip link set lo up;" if without_network else ""} '
        shell += f'"$@" & inside=$!; {outer_script}; kill $inside; wait $inside' if outer_script else '"$@"'
        environment = {key: value for key, value in os.environ.items() if not key.startswith("WATERH")}
        try:
            return subprocess.run([*words, "sh", "-c", shell, str(self.root), *inner_command], capture_output=True, text=True, timeout=limit, env=environment)
        except subprocess.TimeoutExpired as timeout:
            return subprocess.CompletedProcess(words, 124, str(timeout.stdout), f"took longer than {limit} s: {timeout.stderr}")

    def path(self, absolute):
        return self.root / absolute.lstrip("/")

    def drinks(self):
        """The stored drinks as CSV."""
        return self.run(f"waterh-tracker export --format csv --store {STORE}", user="waterh").stdout


def output_of(result):
    return f"exit {result.returncode}\n{result.stdout}\n{result.stderr}"


def repackaged(package, folder, name, version, step=None):
    """The same package with another version; `step`: an additional migration of its stores. Returns its path."""
    work_folder = os.path.join(folder, name)
    subprocess.run(["dpkg-deb", "-R", package, work_folder], check=True)
    control = pathlib.Path(work_folder, "DEBIAN/control")
    control.write_text(re.sub(r"^Version: (.*)$", lambda found: f"Version: {version(found[1])}", control.read_text(), flags=re.M))
    if step:
        with open(os.path.join(work_folder, "usr/share/waterh/schema"), "a", encoding="utf-8") as file:
            file.write(step + "\n")
        known = pathlib.Path(work_folder, "DEBIAN/preinst")
        known.write_text(re.sub(r'^known="(.*) "$', rf'known="\1 {step} "', re.sub(r'^version="(.*)"$', lambda found: f'version="{version(found[1])}"', known.read_text(), flags=re.M), flags=re.M))
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "-b", work_folder, os.path.join(folder, f"{name}.deb")], check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(work_folder)
    return os.path.join(folder, f"{name}.deb")


def check_package(system, suite, package, archive, symbols):
    os.makedirs(system.path("/srv/packages"), exist_ok=True)
    shutil.copy(symbols, system.path("/srv/packages/waterh-dbgsym.deb"))
    shutil.copy(package, system.path("/srv/packages/waterh.deb"))
    shutil.copy(repackaged(package, system.work_folder, "later", lambda version: version + "+later"), system.path("/srv/packages/later.deb"))
    shutil.copy(archive, system.path("/srv/packages/waterh.tar.gz"))

    def step(title, script, **options):
        result = system.run(script, **options)
        check(f"{suite}: {title}", result.returncode == 0, output_of(result))
        return result

    step("apt-get update", "apt-get update -q")
    started = time.monotonic()
    result = step("apt-get install ./waterh.deb", "cd /srv/packages && apt-get install -y --no-install-recommends ./waterh.deb")
    print(f"        {time.monotonic() - started:.1f} s; brought with it: " + " ".join(re.findall(r"^Setting up (\S+)", result.stdout, re.M)), flush=True)

    # The commands.
    versions = step("every command prints its version", "; ".join(f"{command} --version" for command in COMMANDS)).stdout.split("\n")
    check(f"{suite}: all commands have the same version", len(set(versions[:4])) == 1 and versions[0].startswith("waterh-bench "), versions)
    linked = step("every required library is installed", "ldd /usr/bin/waterh-*").stdout
    check(f"{suite}: no Swift library is required", "not found" not in linked and "swift" not in linked, linked)
    demo = step("waterh-gateway demo --once", "cd / && waterh-gateway demo --once", without_network=True).stdout
    check(f"{suite}: the demo finds the shipped capture", "filled from boost_two-days.btsnoop" in demo and "40 received: 40 new" in demo, demo)
    step("the installed files match the package", "dpkg --verify waterh")
    # The commands of the README with the package and without a checkout. Those for owners get an emulated bottle.
    parts = re.findall(r"^## (.*?)$(.*?)(?=^## |\Z)", (HERE / "README.md").read_text(), re.M | re.S)
    blocks = [(title, kind, text) for title, part in parts for kind, text in re.findall(r"^```(sh|sh owner)\n(.*?)^```", part, re.M | re.S)]
    check(f"{suite}: the README has commands for owners, apps and captures", len(blocks) == 3, blocks)
    bottle = "export WATERH_LINK=unix:$B/bottle.sock; waterh-emulator run --link $WATERH_LINK --capture captures/boost_two-days.btsnoop --restamp today >$B/bottle & until grep -q ready $B/bottle; do sleep 0.1; done\n"
    for title, kind, text in blocks:
        step(f"README: {title}", "cd /usr/share/waterh; export HOME=$(mktemp -d); B=$HOME\n" + (bottle if kind == "sh owner" else "") + text, user="daemon", without_network=True)

    # The results of the package's scripts.
    modes = system.run("stat -c '%A %U:%G' /etc/waterh/waterh.toml /var/lib/waterh; systemctl --version >/dev/null 2>&1 || echo no systemd").stdout.split("\n")
    check(f"{suite}: the configuration and the drinks belong to the service", modes[:2] == ["-rw-r----- root:waterh", "drwxr-x--- waterh:waterh"], modes)
    wanted = system.path("/etc/systemd/system/multi-user.target.wants/waterh-gateway.service")
    check(f"{suite}: the service is enabled", wanted.is_symlink(), "no link in multi-user.target.wants")

    # The service with its shipped configuration.
    page = "for i in $(seq 300); do curl -fs http://127.0.0.1:8077/healthz && break; sleep 0.1; done; curl -fsS http://127.0.0.1:8077/ | grep -o '<title>.*</title>'"
    served = system.run("exec waterh-gateway run", user="waterh", outer_script=page, without_network=True)
    check(f"{suite}: waterh-gateway run with the shipped configuration shows its page", served.returncode == 0 and "<title>" in served.stdout, output_of(served))
    check(f"{suite}: the service creates its store", system.path(STORE).exists(), output_of(served))

    # The CI jobs for other projects, in an empty folder.
    for job, form in (("github-actions.yml", r"^ +- run: (.*)$"), ("gitlab-ci.yml", r"^    - (.*)$")):
        lines = re.findall(form, (HERE / "hardware/ci" / job).read_text(), re.M)
        check(f"{suite}: {job} installs the package and runs a test", any(".deb" in line for line in lines) and "python3 bottle.py" in lines, lines)
        prepare = f"mkdir /srv/{job} && cd /srv/{job} && cp /srv/packages/waterh.deb waterh_1.deb && cp /usr/share/doc/waterh/examples/ci/bottle.py ."
        step(f"{job}: {'; '.join(lines)}", "\n".join(["set -e", prepare, *lines, "grep -q '<testsuite' bottle.xml"]))

    step("a bottle is drained", """
        waterh-emulator run --link unix:/tmp/b.sock --control unix:/tmp/c.sock --capture /usr/share/waterh/captures/boost_two-days.btsnoop --restamp today >/tmp/ready &
        for i in $(seq 200); do grep -q ready /tmp/ready && break; sleep 0.1; done
        waterh-gateway poll --link unix:/tmp/b.sock
        kill $!""", user="waterh", without_network=True)
    drinks = system.drinks()
    check(f"{suite}: the drinks are kept", drinks.count("\n") >= 40, drinks)

    # A user's service next to the system's, whose store others cannot write.
    system.run("useradd --create-home person")
    user_service = system.run("exec env HOME=/home/person waterh-gateway run --listen 127.0.0.1:8078", user="person", outer_script=page.replace("8077", "8078"), without_network=True)
    check(f"{suite}: a user's own service has its own store next to the system's", user_service.returncode == 0 and system.path("/home/person/.local/state/waterh/waterh.sqlite").exists(), output_of(user_service))

    configuration = system.path("/etc/waterh/waterh.toml")
    configuration.write_text(configuration.read_text() + '\nlisten = "off"\n')
    step("an upgrade", "cd /srv/packages && apt-get install -y --no-install-recommends ./later.deb")
    check(f"{suite}: an upgrade keeps drinks and configuration", system.drinks() == drinks and 'listen = "off"' in configuration.read_text(), "")

    # An upgrade on a full disk fails and keeps the old version; with room it succeeds.
    full = system.run("""
        cp -a /usr/libexec/waterh /tmp/kept && mount -t tmpfs -o size=$(($(du -sk /tmp/kept | cut -f1) + 1024))k none /usr/libexec/waterh && cp -a /tmp/kept/. /usr/libexec/waterh/
        dpkg --force-downgrade -i /srv/packages/waterh.deb && exit 9
        dpkg-query -W -f='status ${db:Status-Status} ${Version}\\n' waterh; waterh-gateway --version; dpkg --verify waterh; dpkg --audit""")
    check(f"{suite}: an upgrade on a full disk fails with a message, and the old version works", full.returncode == 0 and "No space left on device" in full.stderr + full.stdout and
          re.search(r"^status installed .*[+]later$", full.stdout, re.M) is not None, output_of(full))
    step("the upgrade succeeds when the disk has room again", "cd /srv/packages && dpkg --force-downgrade -i waterh.deb && apt-get install -y --no-install-recommends ./later.deb")
    check(f"{suite}: a full disk loses no drink", system.drinks() == drinks and 'listen = "off"' in configuration.read_text(), "")

    # An upgrade that is killed while it unpacks.
    killed = system.run("""
        for attempt in $(seq 9); do
            dpkg --force-downgrade --unpack /srv/packages/waterh.deb & unpacking=$!
            for look in $(seq 20000); do
                set -- /usr/bin/*.dpkg-new /usr/lib/waterh*/*.dpkg-new
                if [ -e "$1" ] || [ -e "$2" ]; then break; fi
            done
            kill -KILL $unpacking || true
            # 137: it was killed before its end.
            wait $unpacking && code=0 || code=$?
            if [ $code = 137 ]; then break; fi
        done
        test $code = 137 || { echo "it was always over before it was killed"; exit 1; }
        dpkg --configure -a || true; dpkg --force-downgrade -i /srv/packages/waterh.deb && dpkg --verify waterh && test -z "$(dpkg --audit)\"""")
    check(f"{suite}: an upgrade that is killed while unpacking is repaired by the next one", killed.returncode == 0 and system.drinks() == drinks, output_of(killed))
    # A crash with the unit's environment, and with the symbols installed.
    unit = system.path("/lib/systemd/system/waterh-gateway.service").read_text()
    backtrace = re.search(r"^Environment=(SWIFT_BACKTRACE=.*)$", unit, re.M).group(1)
    step("installing the symbols", "dpkg -i /srv/packages/waterh-dbgsym.deb")
    serves = "for i in $(seq 300); do curl -fs http://127.0.0.1:8077/healthz && break; sleep 0.1; done"
    reported = 'for i in $(seq 600); do grep -q "Backtrace took" "$0/tmp/crash" && break; sleep 0.1; done'
    system.run(f"exec env '{backtrace}' waterh-gateway run --listen 127.0.0.1:8077 2>/tmp/crash", user="waterh",
               outer_script=f"{serves}; kill -SEGV $inside; {reported}; kill -KILL $inside", without_network=True)
    stack = system.path("/tmp/crash").read_text() if system.path("/tmp/crash").exists() else ""
    found = re.findall(r"^ *\d+ .* in waterh-gateway$", stack, re.M)
    check(f"{suite}: a crash prints a stack with names", "Program crashed" in stack and found and not any("<unknown>" in line for line in found), stack[-2000:])
    step("removing the symbols", "dpkg -r waterh-dbgsym")
    step("an upgrade again", "cd /srv/packages && apt-get install -y --no-install-recommends ./later.deb")

    purged = step("purging", "apt-get purge -y waterh")
    check(f"{suite}: a purge deletes the configuration", not system.path("/etc/waterh").exists() and not wanted.is_symlink(), output_of(purged))
    check(f"{suite}: a purge reports that the drinks are kept, with their path", "The drinks in /var/lib/waterh and their user waterh are kept" in purged.stdout and system.path(STORE).exists(), output_of(purged))
    own = step("another user can install and log after a purge", """
        export HOME=/home/person && cd && rm -rf .local && tar xzf /srv/packages/waterh.tar.gz && waterh-*/install.sh --prefix /home/person/.local
        .local/bin/waterh-tracker log 8oz && .local/bin/waterh-tracker status && .local/share/waterh/uninstall.sh""", user="person")
    check(f"{suite}: the drink is in that user's store", "237 ml" in own.stdout, output_of(own))
    # Earlier states: a user of that name in another group, a group without the user, drinks on another disk with an unknown owner.
    step("a user waterh in another group", """
        userdel waterh; groupdel waterh 2>/dev/null || true; groupadd folks && useradd -m -g folks waterh
        cd /srv/packages && apt-get install -y --no-install-recommends ./waterh.deb && test "$(stat -c %G /etc/waterh/waterh.toml)" = waterh
        apt-get purge -y waterh && userdel -r waterh 2>/dev/null; groupdel waterh""")
    moved = step("a group waterh without a user, drinks behind a symbolic link", """
        groupadd waterh && mkdir -p /srv/disk && mv /var/lib/waterh /srv/disk/waterh && ln -s /srv/disk/waterh /var/lib/waterh && chown -R 777:777 /srv/disk/waterh
        cd /srv/packages && apt-get install -y --no-install-recommends ./waterh.deb && stat -c %U:%G /srv/disk/waterh/waterh.sqlite
        apt-get purge -y waterh && rm /var/lib/waterh""")
    check(f"{suite}: the drinks belong to the service", "waterh:waterh" in moved.stdout, output_of(moved))
    elsewhere = step("a symbolic link to a missing disk", """
        ln -s /mnt/elsewhere /var/lib/waterh && cd /srv/packages && apt-get install -y --no-install-recommends ./waterh.deb && dpkg --audit && apt-get purge -y waterh
        rm /var/lib/waterh && mv /srv/disk/waterh /var/lib/waterh""")
    check(f"{suite}: a missing directory is reported", "/mnt/elsewhere, which does not exist" in elsewhere.stderr, output_of(elsewhere))
    step("installing after a purge", "cd /srv/packages && apt-get install -y --no-install-recommends ./waterh.deb")
    check(f"{suite}: a reinstallation after a purge has the drinks", system.drinks() == drinks, "")
    step("a second purge", "apt-get purge -y waterh && rm -r /var/lib/waterh")

    # The archive for other distributions.
    def files():
        return system.run("find / -xdev -type f ! -path '/proc/*' ! -path '/dev/*' ! -path '/srv/*' ! -path '/tmp/*' ! -path '/var/lib/waterh/*' | sort").stdout
    before = files()
    # A system without some of the libraries gets them from the archive.
    installed = step("install.sh of the archive", """
        rm /usr/lib/*/libarchive.so.13* /usr/lib/*/libcurl.so.4* /usr/lib/*/libmosquitto.so.1*
        cd /srv/packages && tar xzf waterh.tar.gz && cd waterh-*/ && ./install.sh && test -e /usr/local/lib/waterh/libcurl.so.4""")
    step("the commands of the archive run", "; ".join(f"/usr/local/bin/{command} --version" for command in COMMANDS))
    demo = step("the demo of the archive", "cd / && /usr/local/bin/waterh-gateway demo --once", without_network=True).stdout
    check(f"{suite}: the demo of the archive finds the shipped capture", "filled from boost_two-days.btsnoop" in demo, demo)
    step("a drink", f"waterh-tracker log 250 --store {STORE}", user="waterh")
    again = step("install.sh again", "cd /srv/packages/waterh-*/ && echo '# mine' >>/etc/waterh/waterh.toml && ./install.sh && tail -n 1 /etc/waterh/waterh.toml")
    check(f"{suite}: install.sh keeps a changed configuration", "# mine" in again.stdout, output_of(again))
    left = step("uninstall.sh", "/usr/local/share/waterh/uninstall.sh")
    more = sorted(set(files().split("\n")) - set(before.split("\n")))
    check(f"{suite}: uninstall.sh keeps only configuration and drinks", more == ["/etc/waterh/waterh.toml"] and system.path(STORE).exists(), "\n".join(more))
    check(f"{suite}: uninstall.sh reports that the drinks are kept", "are kept" in left.stdout and "To uninstall" in installed.stdout, output_of(left))

    # Below a home directory there is no system service, because its user cannot read the folder.
    person = step("install.sh as root, below a home", """
        cd /srv/packages/waterh-*/ && ./install.sh --prefix /root/local && /root/local/bin/waterh-tracker --version
        test ! -e /etc/systemd/system/waterh-gateway.service && /root/local/share/waterh/uninstall.sh""")
    check(f"{suite}: install.sh reports why there is no system service", "below a home directory, so no system service" in person.stdout, output_of(person))

    # Without root, below a home.
    step("install.sh without root", """
        cd /srv/packages/waterh-*/ && ./install.sh --prefix /var/lib/waterh/home && /var/lib/waterh/home/bin/waterh-tracker --version
        grep -r "^ExecStart=/var/lib/waterh/home/bin/" /var/lib/waterh/.config/systemd/user && /var/lib/waterh/home/share/waterh/uninstall.sh""", user="waterh")


def newest(folder, form):
    found = sorted(glob.glob(os.path.join(folder, form)), key=os.path.getmtime)
    if not found:
        sys.exit(f"package_tests.py: no {form} in {folder}; create it with hardware/bench package")
    return found[-1]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if os.geteuid() != 0:
        sys.exit("package_tests.py: requires root: sudo hardware/bench package --test")
    folder, suites = sys.argv[1], sys.argv[2:] or ["bookworm"]
    package, archive, symbols = newest(folder, "waterh_*.deb"), newest(folder, "waterh-*.tar.gz"), newest(folder, "waterh-dbgsym_*.deb")
    for suite in suites:
        with contextlib.closing(System(suite)) as system:
            check_package(system, suite, package, archive, symbols)
    end()


if __name__ == "__main__":
    main()
