#!/usr/bin/env python3
"""The report of a capture in Debian's Chromium: opened from disk, light and dark, wide and narrow, with axe looking on.

usage: report_tests.py PRODUCTS [--brief] [--shots FOLDER]
"""
import argparse
import importlib.resources
import pathlib
import subprocess
import tempfile
import unittest

from pages import browser
from pages.looks import TAGS

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CAPTURES = ROOT / "captures"
BAD = "</script><img src=x onerror=\"document.title='broken'\">"
BAD_FILE = "<img src=x onerror=\"document.title='broken'\">.hex"
options = None


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="waterh-report-")
        folder = pathlib.Path(cls.folder.name)
        hostile = folder / BAD_FILE
        # A name that would break out, a write that is forbidden, an answer that never comes, a clock that goes back, a month that is none.
        hostile.write_text(f"name: WaterH{BAD}\n2026-02-02T22:21:20Z connected\n2026-02-02T22:21:21Z > FFE9 47 54 00 01 06\n"
                           "2026-02-02T22:21:22Z < FFE4 50 54 00 0F 0E 06 1A 02 02 16 15 0F 00 10 00 00 01 61 00\n"
                           "2026-02-02T22:21:10Z < FFE4 50 54 00 0F 0E 06 1A 0D 02 16 15 0F 00 10 00 00 01 61 00\n")
        (folder / "timeless.hex").write_text("- > FFE9 47 54 00 01 06\n- < FFE4 52 50 00 03 02 06 01\n")
        cls.pages = {name: cls.page(name, *files) for name, files in {
            "one": [CAPTURES / "boost_two-days.btsnoop"], "two": [CAPTURES / "boost_two-days.btsnoop", CAPTURES / "vita_reports-inside-log.pcapng"],
            "hostile": [hostile], "timeless": [folder / "timeless.hex"]}.items()}
        cls.driver = browser.driver()

    @classmethod
    def page(cls, name, *files):
        path = pathlib.Path(cls.folder.name) / f"{name}.html"
        subprocess.run([f"{options.products}/waterh-replay", "report", *map(str, files), "-o", str(path)], check=True, capture_output=True, timeout=60)
        return path.as_uri()

    @classmethod
    def tearDownClass(cls):
        browser.close()
        cls.folder.cleanup()

    # What a test of the service's pages has, without a service.
    until = browser.PageCase.until
    script = browser.PageCase.script
    emulate = browser.PageCase.emulate
    text = browser.PageCase.text

    def setUp(self):
        self.driver.get_log("browser")

    def tearDown(self):
        # The page's own policy is never met, nothing throws, nothing is asked for.
        self.assertEqual(self.driver.get_log("browser"), [])

    def open(self, name):
        self.driver.get(self.pages[name])
        self.until(lambda: self.text(".course ~ [aria-live]"), f"the timeline of {name} is not drawn")

    def said(self):
        return self.text("[aria-live]")

    def test_every_page_in_every_width_light_and_dark(self):
        for name in self.pages:
            for width, dark in browser.views(360, 768, 1280):
                with self.subTest(name=name, width=width, dark=dark):
                    self.emulate(width, 900, dark)
                    self.open(name)
                    self.assertLessEqual(self.script("return document.documentElement.scrollWidth - innerWidth"), 0, "wider than its window")
                    self.script(importlib.resources.files("axe_core_python").joinpath("axe.min.js").read_text())
                    found = self.driver.execute_async_script(
                        "const done = arguments[1]; axe.run(document, {runOnly: {type: 'tag', values: arguments[0]}}).then(done)", TAGS)
                    self.assertEqual([(each["id"], [node["html"][:200] for node in each["nodes"]][:3]) for each in found["violations"]], [])
                    self.assertGreater(len(found["passes"]), 10)
                    self.shot(f"report-{name}-{width}-{'dark' if dark else 'light'}")

    shot = browser.PageCase.shot

    def test_search_and_zoom(self):
        self.emulate(1280, 900)
        self.open("one")
        self.assertEqual(self.said(), "113 PDUs here.")
        type_ = "const f = document.querySelector('input[type=search]'); f.value = arguments[0]; f.dispatchEvent(new Event('input'))"
        self.script(type_, "ffe4 notification")
        self.until(lambda: self.said() == "15 PDUs found here.", self.said)
        self.assertEqual(self.script("return document.querySelectorAll('.list tbody tr').length"), 15)
        self.script(type_, "")
        self.until(lambda: self.said() == "113 PDUs here.", self.said)
        press = "document.querySelector(`[aria-label='${arguments[0]}']`).click()"
        self.script(press, "zoom in")
        self.until(lambda: self.said() != "113 PDUs here.", self.said)
        self.script(press, "show all")
        self.until(lambda: self.said() == "113 PDUs here.", self.said)
        # With a finger or a mouse: the second connection only.
        action = browser.webdriver.ActionChains(self.driver)
        course = self.driver.find_element(browser.By.CSS_SELECTOR, ".course")
        self.script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", course)
        width = course.rect["width"]
        action.move_to_element_with_offset(course, int(width * .2), 0).click_and_hold().move_by_offset(int(width * .296), 0).release().perform()
        self.until(lambda: self.said() == "58 PDUs here.", self.said)
        course.send_keys("0")
        self.until(lambda: self.said() == "113 PDUs here.", self.said)

    def test_what_a_hostile_device_is_called_stays_text(self):
        self.emulate(1280, 900)
        self.open("hostile")
        self.assertEqual(self.script("return document.querySelectorAll('img').length"), 0)
        self.assertNotEqual(self.driver.title, "broken")
        self.assertIn(BAD_FILE, self.text("main"))
        self.assertIn("Times go backwards once", self.text("#odd"))
        self.assertIn("−10.0 s", self.text("#short"))
        self.script("document.querySelector('.odd button').click()")
        self.until(lambda: self.script("return document.querySelector('.course .stroke-mark') !== null"), "the frame is not shown in the timeline")

    def test_two_side_by_side(self):
        self.emulate(1280, 900)
        self.open("two")
        boxes = self.script("return [...document.querySelectorAll('#course .panel')].map(each => each.getBoundingClientRect().top)")
        self.assertEqual(len(boxes), 2)
        self.assertEqual(boxes[0], boxes[1])

    def test_without_times_frames_are_the_axis(self):
        self.open("timeless")
        self.assertEqual(self.said(), "2 PDUs here.")
        self.assertIn("frame 1", self.text(".course"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("products")
    parser.add_argument("--shots", help="a folder for screenshots")
    parser.add_argument("--brief", action="store_true", help="two views of each page in the place of six")
    options, _ = parser.parse_known_args()
    browser.options = options
    unittest.main(argv=["report_tests"])
