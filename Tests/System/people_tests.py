#!/usr/bin/env python3
"""Two people in one house, in Debian's Chromium: each has pages of their own, and the house's address leads to whom it means.

usage: people_tests.py PRODUCTS [--shots FOLDER]
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest
import urllib.request

from pages import browser

LIMIT = 30
options = None


class People(browser.Patient, unittest.TestCase):
    """One service without a bottle, and two days."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="waterh-people-")
        folder = pathlib.Path(cls.folder.name)
        cls.list = folder / "waterh.toml"
        cls.list.write_text("".join(
            f'[[person]]\nname = "{name}"\nstore = "{folder}/{name}.sqlite"\ngoal = {goal}\nlink = "unix:{folder}/{name}.sock"\n'
            for name, goal in (("anna", 2200), ("ben", 3100))))
        environment = os.environ | {"XDG_RUNTIME_DIR": str(folder), "DBUS_SESSION_BUS_ADDRESS": ""}
        cls.environment = environment
        for name in ("anna", "ben"):
            subprocess.run([f"{options.products}/waterh-tracker", "setup", "--yes", "--notifications", "skip", "--person", name, "--config", cls.list],
                           check=True, capture_output=True, env=environment, timeout=LIMIT)
        cls.original = cls.list.read_text()
        cls.url = cls.start("127.0.0.1:0")
        cls.driver = browser.driver()

    @classmethod
    def start(cls, listen):
        log = pathlib.Path(cls.folder.name) / "log"
        with log.open("w") as words:
            cls.service = subprocess.Popen(
                [f"{options.products}/waterh-gateway", "run", "--config", cls.list, "--listen", listen, "--verbose"], env=cls.environment, stderr=words)
        end = time.monotonic() + LIMIT
        while not (found := re.search(r"http://127[0-9.:]*/", log.read_text())):
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.1)
        return found.group().rstrip("/")

    def setUp(self):
        """Each test begins with Anna and Ben, by those names, in a browser that knows nobody."""
        self.driver.get("about:blank")
        if self.list.read_text() != self.original:
            self.service.terminate()
            self.service.wait(LIMIT)
            self.list.write_text(self.original)
            self.start(self.url.removeprefix("http://"))
        self.driver.get(f"{self.url}/pair")
        self.driver.execute_script("localStorage.clear()")

    @classmethod
    def tearDownClass(cls):
        browser.close()
        cls.service.terminate()
        cls.service.wait(LIMIT)
        cls.folder.cleanup()

    def text(self, selector):
        return self.driver.execute_script("return document.querySelector(arguments[0])?.textContent ?? ''", selector)

    def at(self, path):
        self.until(lambda: self.driver.current_url == self.url + path, f"the page is not {path}")

    def total(self, name):
        with urllib.request.urlopen(f"{self.url}/api/v1/people/{name}/state", timeout=LIMIT) as answer:
            return json.load(answer)["dailyTotalMl"]

    def click(self, selector):
        self.until(lambda: self.driver.execute_script("const found = document.querySelector(arguments[0]); found?.click(); return !!found", selector), f"no {selector}")

    def test_the_house_leads_to_whom_it_means_and_a_choice_to_the_other(self):
        self.driver.get(f"{self.url}/history")
        self.at("/people/anna/history")
        self.until(lambda: self.text("#people") == "annaben", "nobody can be chosen")
        self.assertEqual(self.text("#people [aria-current]"), "anna")
        self.click('#people a[href="/people/ben/"]')
        self.at("/people/ben/")
        self.until(lambda: "3,100" in self.text("#main"), "it is not Ben's day")
        self.until(lambda: self.text("#people [aria-current]") == "ben", "who is shown is not marked")
        # A tap is in Ben's day and nowhere else, and the way to his other pages stays his.
        annas, bens = self.total("anna"), self.total("ben")
        self.click(".page-today .vessel")
        self.until(lambda: self.total("ben") == bens + 250, "the tap is not in Ben's day")
        self.assertEqual(self.total("anna"), annas)
        self.click('#nav a[href="/people/ben/history"]')
        self.at("/people/ben/history")
        self.driver.get(f"{self.url}/people/ben/watch")
        self.until(lambda: "250" in self.text("body") or "0.3" in self.text("body"), "the watch does not show Ben's day")
        if options.shots:
            pathlib.Path(options.shots).mkdir(parents=True, exist_ok=True)
            for name, width in (("wide", 1280), ("narrow", 360)):
                self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False})
                self.driver.get(f"{self.url}/people/ben/")
                self.until(lambda: self.text("#people") == "annaben" and "3,100" in self.text("#main"), "the page does not come")
                self.driver.save_screenshot(f"{options.shots}/people-{name}.png")

    def test_who_is_given_another_name_keeps_the_page_and_what_waits(self):
        """An adversary's finding: the page of the old name found nobody, and taps that waited there waited for ever."""
        annas, bens = self.total("anna"), self.total("ben")
        self.driver.get(f"{self.url}/people/anna/")
        self.until(lambda: "2,200" in self.text("#main") and self.driver.execute_script("return localStorage.getItem('waterh.ids')"), "it is not Anna's day")
        self.service.terminate()
        self.service.wait(LIMIT)
        self.until(lambda: "does not answer" in self.text("#staleness"), "it is not said that the service is away")
        for _number in range(2):
            self.click(".page-today .vessel")
        self.until(lambda: "2 taps wait" in self.text("#staleness"), "the taps do not wait")
        # Ben gets the name, too: what Anna drank is none of his.
        self.list.write_text(self.list.read_text().replace('name = "anna"', 'name = "anne"').replace('name = "ben"', 'name = "anna"'))
        self.start(self.url.removeprefix("http://"))
        self.at("/people/anne/")
        self.until(lambda: self.total("anne") == annas + 500, "the taps are not there")
        self.assertEqual(self.total("anna"), bens)
        self.until(lambda: self.text("#people [aria-current]") == "anne", "who is shown is not marked")
        self.assertEqual(self.driver.execute_script("return Object.keys(localStorage).filter(key => key.includes('queue'))"), [])

    def test_a_page_whose_name_is_given_to_somebody_else_shows_and_changes_nobody_elses_day(self):
        """An adversary's finding: with nothing waiting the open page showed the other's day, and Delete on it was done there."""
        annas, bens = self.total("anna"), self.total("ben")
        self.driver.get(f"{self.url}/people/anna/")
        self.until(lambda: "2,200" in self.text("#main") and self.driver.execute_script("return localStorage.getItem('waterh.ids')"), "it is not Anna's day")
        self.service.terminate()
        self.service.wait(LIMIT)
        self.until(lambda: "does not answer" in self.text("#staleness"), "it is not said that the service is away")
        self.list.write_text(self.list.read_text().replace('name = "anna"', 'name = "anne"').replace('name = "ben"', 'name = "anna"'))
        self.start(self.url.removeprefix("http://"))
        self.at("/people/anne/")
        self.until(lambda: "2,200" in self.text("#main") and "does not answer" not in self.text("#staleness"), "it is not the same day")
        self.assertEqual((self.total("anne"), self.total("anna")), (annas, bens))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("products")
    parser.add_argument("--shots", help="a folder for screenshots")
    options = parser.parse_args()
    unittest.main(argv=["people_tests"])
