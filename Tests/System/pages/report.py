"""The report of a capture, opened from disk, light and dark, wide and narrow, with axe."""
import pathlib
import tempfile

from selenium.webdriver import ActionChains

from . import browser
from .browser import BrowserCase, views

CAPTURES = pathlib.Path(__file__).resolve().parents[3] / "captures"
BAD = "</script><img src=x onerror=\"document.title='broken'\">"
BAD_FILE = "<img src=x onerror=\"document.title='broken'\">.hex"


class Report(BrowserCase):
    @classmethod
    def setUpClass(cls):
        folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="waterh-report-")))
        # A name with markup, a forbidden write, a missing response, a clock that goes back, an invalid month.
        (folder / BAD_FILE).write_text(f"name: WaterH{BAD}\n2026-02-02T22:21:20Z connected\n2026-02-02T22:21:21Z > FFE9 47 54 00 01 06\n"
                                       "2026-02-02T22:21:22Z < FFE4 50 54 00 0F 0E 06 1A 02 02 16 15 0F 00 10 00 00 01 61 00\n"
                                       "2026-02-02T22:21:10Z < FFE4 50 54 00 0F 0E 06 1A 0D 02 16 15 0F 00 10 00 00 01 61 00\n")
        (folder / "timeless.hex").write_text("- > FFE9 47 54 00 01 06\n- < FFE4 52 50 00 03 02 06 01\n")
        one = CAPTURES / "boost_two-days.btsnoop"
        files = {"one": [one], "two": [one, CAPTURES / "vita_reports-inside-log.pcapng"], "hostile": [folder / BAD_FILE], "timeless": [folder / "timeless.hex"]}
        cls.pages = {name: folder / f"{name}.html" for name in files}
        for name, captures in files.items():
            browser.service.run("waterh-replay", "report", *captures, "-o", cls.pages[name])

    def tearDown(self):
        self.assertEqual(self.driver.get_log("browser"), [])

    def open(self, name):
        self.driver.get(self.pages[name].as_uri())
        self.until(lambda: self.text(".course ~ [aria-live]"), f"the timeline of {name} is not drawn")

    def said(self):
        return self.text("[aria-live]")

    def test_every_page_in_every_width_light_and_dark(self):
        for name in self.pages:
            for width, dark in views(360, 768, 1280):
                with self.subTest(name=name, width=width, dark=dark):
                    self.emulate(width, 900, dark)
                    self.open(name)
                    self.check_width(name)
                    self.check_accessibility(name)
                    self.screenshot(f"report-{name}-{width}-{'dark' if dark else 'light'}")

    def test_a_report_supports_search_and_zoom(self):
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
        action = ActionChains(self.driver)
        course = self.one(".course")
        self.script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", course)
        width = course.rect["width"]
        action.move_to_element_with_offset(course, int(width * .2), 0).click_and_hold().move_by_offset(int(width * .296), 0).release().perform()
        self.until(lambda: self.said() == "58 PDUs here.", self.said)
        course.send_keys("0")
        self.until(lambda: self.said() == "113 PDUs here.", self.said)

    def test_a_hostile_device_name_is_shown_as_text(self):
        self.open("hostile")
        self.assertEqual(self.script("return document.querySelectorAll('img').length"), 0)
        self.assertNotEqual(self.driver.title, "broken")
        self.assertIn(BAD_FILE, self.text("main"))
        self.assertIn("Times go backwards once", self.text("#odd"))
        self.assertIn("−10.0 s", self.text("#short"))
        self.script("document.querySelector('.odd button').click()")
        self.until(lambda: self.script("return document.querySelector('.course .stroke-mark') !== null"), "the frame is not shown in the timeline")

    def test_a_report_compares_two_captures(self):
        self.open("two")
        boxes = self.script("return [...document.querySelectorAll('#course .panel')].map(each => each.getBoundingClientRect().top)")
        self.assertEqual(len(boxes), 2)
        self.assertEqual(boxes[0], boxes[1])

    def test_a_capture_without_times_has_a_frame_axis(self):
        self.open("timeless")
        self.assertEqual(self.said(), "2 PDUs here.")
        self.assertIn("frame 1", self.text(".course"))
