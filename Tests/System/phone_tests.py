#!/usr/bin/env python3
"""A phone's way in: `waterh-gateway invite` draws a code in the terminal, a program reads it as a camera would, Debian's Chromium opens what it says
over this machine's address in its network, and a tap whose answers are lost while the service is killed and started again counts once.

usage: phone_tests.py PRODUCTS
"""
import ipaddress
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import zxingcpp
from selenium.webdriver.common.by import By

from pages import browser

LIMIT = 30


def free_port():
    with socket.socket() as found:
        found.bind(("0.0.0.0", 0))
        return found.getsockname()[1]


def read_code(words):
    """The text of the QR code that stands in a terminal: light on dark, two modules in one character."""
    lines = [line for line in words.splitlines() if line and set(line) <= set("█▀▄ ")]
    rows = []
    for line in lines:
        rows.append([mark in "█▀" for mark in line])
        rows.append([mark in "█▄" for mark in line])
    size = 8
    width, height = len(rows[0]) * size, len(rows) * size
    pixels = b"".join(bytes(255 if light else 0 for light in row for _ in range(size)) * size for row in rows)
    found = zxingcpp.read_barcodes(memoryview(pixels).cast("B", shape=[height, width]))
    return [each.text for each in found if each.format == zxingcpp.BarcodeFormat.QRCode]


class Phone(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="waterh-phone-")
        folder = pathlib.Path(cls.folder.name)
        cls.store, cls.port, cls.log = folder / "t.sqlite", free_port(), folder / "log"
        cls.environment = os.environ | {"XDG_RUNTIME_DIR": str(folder), "DBUS_SESSION_BUS_ADDRESS": ""}
        cls.service = None
        cls.run_program("waterh-tracker", "setup", "--yes", "--notifications", "skip", "--store", cls.store)
        cls.start()
        cls.driver = browser.driver()

    @classmethod
    def tearDownClass(cls):
        browser.close()
        cls.service.terminate()
        cls.service.wait(LIMIT)
        cls.folder.cleanup()

    @classmethod
    def run_program(cls, name, *words):
        done = subprocess.run([f"{PRODUCTS}/{name}", *map(str, words)], capture_output=True, text=True, env=cls.environment, timeout=LIMIT)
        assert done.returncode == 0, f"{name} {words}: {done.stderr}"
        return done.stdout

    @classmethod
    def start(cls):
        with cls.log.open("a") as words:
            cls.service = subprocess.Popen(
                [f"{PRODUCTS}/waterh-gateway", "run", "--link", f"unix:{cls.folder.name}/no-bottle.sock", "--store", cls.store, "--listen", f"0.0.0.0:{cls.port}"],
                env=cls.environment, stderr=words)
        end = time.monotonic() + LIMIT
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{cls.port}/healthz", timeout=LIMIT):
                    return
            except OSError:
                assert time.monotonic() < end, cls.log.read_text()
                time.sleep(0.05)

    @classmethod
    def start_again(cls):
        """As after a loss of power: the process has no time to say anything."""
        cls.service.kill()
        cls.service.wait(LIMIT)
        cls.start()

    def until(self, condition, why):
        end = time.monotonic() + LIMIT
        while not (found := condition()):
            if time.monotonic() > end:
                self.fail(f"{why}; at {self.driver.current_url}: {self.driver.get_log('browser')}")
            time.sleep(0.05)
        return found

    def total(self):
        return json.loads(self.run_program("waterh-tracker", "status", "--json", "--store", self.store))["dailyTotalMl"]

    def test_the_picture_lets_a_phone_in_once_and_its_tap_counts_once_over_restarts(self):
        words = self.run_program("waterh-gateway", "invite", "--store", self.store, "--label", "phone")
        found = read_code(words)
        self.assertEqual(len(found), 1, words)
        address = found[0]
        self.assertIn(f"Open {address}\n", words)
        host = re.fullmatch(rf"http://([0-9.]+):{self.port}/sign-in#[0-9A-Z]{{10}}", address)
        self.assertIsNotNone(host, address)
        self.assertFalse(ipaddress.ip_address(host[1]).is_loopback, "a phone cannot reach this machine's loopback")
        base = address.partition("/sign-in#")[0]
        # Nobody looks from there without being let in.
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{base}/api/v1/state", timeout=LIMIT)
        self.assertEqual(refused.exception.code, 401)

        self.driver.get(address)
        self.until(lambda: self.driver.current_url == f"{base}/", "the code does not let it in")
        self.until(lambda: self.driver.find_elements(By.CSS_SELECTOR, ".vessel"), "the day is not shown")
        self.assertFalse(self.driver.execute_script("return isSecureContext"), "all of it works without TLS")
        cookie = self.driver.get_cookies()[0]
        self.assertEqual((cookie["httpOnly"], cookie["sameSite"], cookie["domain"]), (True, "Strict", host[1]))

        # The service does what it is told, and is killed before its answer arrives; twice.
        self.driver.execute_script("""
            const real = fetch; window.keys = [];
            window.fetch = async (path, options) => {
              const answer = await real(path, options);
              if (options?.method !== 'POST' || keys.length === 3) return answer;
              keys.push(options.headers['Idempotency-Key']);
              if (keys.length === 3) return answer;
              await new Promise((resolve) => { window.goOn = resolve; });
              throw new TypeError('the answer is lost');
            };""")
        self.until(lambda: self.driver.execute_script("document.querySelector('.vessel').click(); return true"), "the tap")
        for times in (1, 2):
            self.until(lambda: self.driver.execute_script("return keys.length") == times, f"it is not sent {times} times")
            self.assertEqual(self.total(), 250)
            self.start_again()
            self.driver.execute_script("goOn()")
        self.until(lambda: self.driver.execute_script("return keys.length") == 3, "it is not sent three times")
        self.assertEqual(len(set(self.driver.execute_script("return keys"))), 1)
        self.until(lambda: not self.driver.execute_script("return Object.keys(localStorage).filter((key) => key.startsWith('waterh.queue'))"), "the tap still waits")
        self.assertEqual(self.total(), 250)
        amount = lambda: self.driver.execute_script("return document.querySelector('.amount')?.textContent")
        self.until(lambda: amount() == "250 ml / 2,500 ml", lambda: amount())

        # The picture is good once; the cookie is good after a restart, and no longer when it was taken back.
        again = urllib.request.Request(f"{base}/api/v1/sign-in", json.dumps({"code": address[-10:]}).encode(), {"Content-Type": "application/json", "Origin": base})
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(again, timeout=LIMIT)
        self.assertEqual(refused.exception.code, 403)
        token = next(each for each in json.loads(self.run_program("waterh-tracker", "token", "list", "--json", "--store", self.store))["tokens"] if each["label"] == "phone")
        self.run_program("waterh-tracker", "token", "revoke", token["id"], "--store", self.store)
        yesterday = urllib.request.Request(f"{base}/api/v1/state", headers={"Cookie": f"{cookie['name']}={cookie['value']}"})
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(yesterday, timeout=LIMIT)
        self.assertEqual(refused.exception.code, 401)
        self.driver.refresh()
        self.until(lambda: "/sign-in" in self.driver.current_url, "who is let in no more is not asked for a code")


if __name__ == "__main__":
    PRODUCTS = sys.argv[1]
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
