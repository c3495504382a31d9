"""`vm` as its caller sees it: variables, folders and readers. Runs outside of the VM.

usage: vm_interface.py VM [OPTION...]      OPTION: for each VM
"""
import os
import subprocess
import sys
import tempfile
import unittest

VM = [sys.argv[1], "--quiet", *sys.argv[2:], "--adapters", "0", "--no-bluetoothd", "--timeout", "100", "--"]


class VMInterface(unittest.TestCase):
    def run_vm(self, *command, into="", **variables):
        """The output, the error output, and the exit codes of the pipe."""
        with tempfile.TemporaryFile("w+") as codes:
            done = subprocess.run(["bash", "-c", f'"$@" {into}; echo "${{PIPESTATUS[*]}}" >&{codes.fileno()}', "bash", *VM, *command], env=os.environ | variables,
                                  capture_output=True, text=True, timeout=200, pass_fds=[codes.fileno()])
            codes.seek(0)
            return done.stdout, done.stderr, codes.read().strip()

    def test_variables_and_folders_of_the_caller_arrive(self):
        # The first names have a meaning for bash; the others are variables of the VM's scripts.
        names = "POSIXLY_CORRECT BASH_ENV ADAPTERS BLUETOOTHD COMMAND FOLDER HOST_PATH LIMIT LOGS OTHER_FILES RW SYSTEMD USER_MODE box err log out process shared work words"
        given = {name: f"mine {number}" for number, name in enumerate(names.split())}
        with tempfile.TemporaryDirectory(dir=".") as folder:
            odd = os.path.basename(folder) + "/a, b 'c'"
            os.mkdir(odd)
            output, errors, code = self.run_vm("sh", "-c", "env; exit 7", TMPDIR=odd, **given)
            self.assertEqual(os.listdir(odd), [])
        self.assertEqual(code, "7", errors)
        self.assertEqual([name for name, value in given.items() if f"{name}={value}" not in output.splitlines()], [])

    def test_output_that_cannot_be_written_is_reported(self):
        for into, code in ((">/dev/full", "125"), ("2>&-", "7"), (">&-", "7")):
            with self.subTest(into):
                _, errors, found = self.run_vm("sh", "-c", "echo out; echo err >&2; exit 7", into=into)
                self.assertEqual(found, code, errors)
                self.assertTrue("could not be written" in errors or code == "7", errors)

    def test_nothing_outlives_a_vm_that_is_killed(self):
        with tempfile.TemporaryDirectory() as folder:
            vm = subprocess.Popen([*VM, "sh", "-c", "echo up; sleep 300"], env=os.environ | {"TMPDIR": folder}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual(vm.stdout.readline(), b"up\n")
            vm.kill()
            # A process that survives holds the pipes.
            vm.communicate(timeout=30)

    def test_a_slow_reader_gets_everything_and_one_that_ends_ends_the_vm(self):
        output, errors, codes = self.run_vm("sh", "-c", "seq 300000; exit 3", into="| (sleep 6; sha256sum)")
        known = subprocess.run("seq 300000 | sha256sum", shell=True, capture_output=True, text=True).stdout
        self.assertEqual((output, codes), (known, "3 0"), errors)
        output, errors, codes = self.run_vm("sh", "-c", "while echo more; do :; done; sleep 90", into="| head -n 1")
        self.assertEqual((output, codes), ("more\n", "141 0"), errors)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
