"""Access for a phone: the code that `waterh-gateway invite` draws, and a tap whose responses are lost while the service restarts."""
import ipaddress
import re
import signal

import zxingcpp

from programs import Programs, free_port

from . import browser
from .browser import BrowserCase


def read_code(words):
    """The texts of the QR codes in a terminal: light on dark, two modules in one character."""
    rows = []
    for line in words.splitlines():
        if line and set(line) <= set("█▀▄ "):
            rows += [[mark in "█▀" for mark in line], [mark in "█▄" for mark in line]]
    size = 8
    width, height = len(rows[0]) * size, len(rows) * size
    pixels = b"".join(bytes(255 if light else 0 for light in row for _ in range(size)) * size for row in rows)
    found = zxingcpp.read_barcodes(memoryview(pixels).cast("B", shape=[height, width]))
    return [each.text for each in found if each.format == zxingcpp.BarcodeFormat.QRCode]


class Phone(BrowserCase):
    def setUp(self):
        super().setUp()
        self.programs, self.port = Programs(browser.options.products), free_port()
        self.addCleanup(self.programs.close)
        self.programs.tracker("setup", "--yes", "--notifications", "skip")
        self.programs.gateway(host="0.0.0.0", port=self.port)

    def restart(self):
        self.programs.stop("waterh-gateway", signal.SIGKILL)
        self.programs.gateway(host="0.0.0.0", port=self.port)

    def total(self):
        return self.programs.tracker("status")["dailyTotalMl"]

    def test_a_phone_signs_in_by_the_qr_code_and_its_tap_counts_once(self):
        words = self.programs.run("waterh-gateway", "invite", "--label", "phone")
        (address,) = read_code(words)
        self.assertIn(f"Open {address}\n", words)
        host = re.fullmatch(rf"http://([0-9.]+):{self.port}/sign-in#[0-9A-Z]{{10}}", address)
        self.assertFalse(ipaddress.ip_address(host[1]).is_loopback, "a phone cannot reach this machine's loopback address")
        base = address.partition("/sign-in#")[0]
        self.programs.url, self.programs.headers = base, {}
        self.assertEqual(self.programs.ask("GET", "/api/v1/state")[0], 401)

        # In one tab, a second link changes only the fragment. The page rejects the short code without a request.
        self.driver.get(f"{base}/sign-in#0000-000-0")
        self.wait(".error")
        self.driver.get(address)
        self.until(lambda: self.driver.current_url == f"{base}/", "the code does not grant access")
        self.wait(".vessel")
        self.assertFalse(self.script("return isSecureContext"), "all of it works without TLS")
        cookie = self.driver.get_cookies()[0]
        self.assertEqual((cookie["httpOnly"], cookie["sameSite"], cookie["domain"]), (True, "Strict", host[1]))

        # The service executes the request, and is killed before its response arrives; twice.
        self.script("""
            const real = fetch; window.keys = [];
            window.fetch = async (path, options) => {
              const answer = await real(path, options);
              if (options?.method !== 'POST' || keys.length === 3) return answer;
              keys.push(options.headers['Idempotency-Key']);
              if (keys.length === 3) return answer;
              await new Promise((resolve) => { window.lose = resolve; });
              throw new TypeError('the response is lost');
            };""")
        self.click(".vessel")
        for times in (1, 2):
            self.until(lambda: self.script("return keys.length") == times, f"it is not sent {times} times")
            self.assertEqual(self.total(), 250)
            self.restart()
            self.script("lose()")
        self.until(lambda: self.script("return keys.length") == 3, "it is not sent three times")
        self.assertEqual(len(set(self.script("return keys"))), 1)
        self.until(lambda: not self.script("return Object.keys(localStorage).some((key) => key.startsWith('waterh.queue'))"), "the tap still waits")
        self.assertEqual(self.total(), 250)
        self.wait_for_text(".amount", "250 ml / 2,500 ml")

        # The code works once. The cookie works after a restart, and not after its revocation.
        self.programs.url, self.programs.headers = base, {"Origin": base}
        self.assertEqual(self.programs.ask("POST", "/api/v1/sign-in", {"code": address[-10:]})[0], 403)
        token = next(each for each in self.programs.tracker("token", "list")["tokens"] if each["label"] == "phone")
        self.programs.tracker("token", "revoke", token["id"])
        self.assertEqual(self.programs.ask("GET", "/api/v1/state", Cookie=f"{cookie['name']}={cookie['value']}")[0], 401)
        self.driver.refresh()
        self.until(lambda: "/sign-in" in self.driver.current_url, "a revoked browser is not asked for a code")
