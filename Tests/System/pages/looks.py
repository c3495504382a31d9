"""Accessibility and layout: axe, overflow and sizes of tap targets, in every width, light and dark, in both languages."""
import gzip
import pathlib

from selenium.webdriver.common.keys import Keys

from .bottle import TRACE, keep_polls
from .browser import PageCase, api, log, views

PAGES = {"/": ".vessel", "/history": ".month-day", "/waterline": ".page-waterline .card", "/bottle": ".command", "/settings": "[data-group=account]",
         "/welcome": ".page-welcome", "/watch": ".watch-litres", "/sign-in": "input.code"}
WIDGETS = {"/widget/small": "main svg", "/widget/large": "main svg"}
WIDTHS = {320: 640, 768: 1024, 1280: 900}


class Looks(PageCase):
    reminders = True

    def check(self, name):
        """Checks that a page fits its window, that its controls are large enough, and that no box cuts a text."""
        self.check_width(name)
        wrong = self.script("""
            const small = [...document.querySelectorAll('button, a[href], input, select, summary')]
              .filter(e => e.checkVisibility() && !e.closest('.unseen') && !e.classList.contains('skip')).map(e => [e, e.getBoundingClientRect()])
              // Seven days are next to each other: there the height is enough.
              .filter(([e, r]) => r.height < 43.5 || (r.width < 43.5 && !e.closest('.bars, .month')))
              .map(([e, r]) => `${e.outerHTML.slice(0, 90)} ${r.width}x${r.height}`);
            const squeezed = [...document.querySelectorAll('button, a.button, #nav a span, .setting-words')].filter(e => e.checkVisibility() && !e.closest('.unseen'))
              .filter(e => e.scrollWidth > e.clientWidth + 1 || (e.matches('.setting-words') && e.clientWidth < 100))
              .map(e => `${e.textContent} ${e.scrollWidth} in ${e.clientWidth}`);
            return [...small, ...squeezed];""")
        self.assertEqual(wrong, [], name)

    def test_every_page_in_every_width_light_and_dark(self):
        log(400)
        api("POST", "session")
        for kind in ("drink", "drink", "water"):
            api("POST", f"session/{kind}", {})
        keep_polls(self, *((f"2026061{day}T115900123", TRACE, b"btsnoop\0" * 999) for day in range(3)))
        for width, dark in views(*WIDTHS):
            self.emulate(width, WIDTHS[width], dark)
            for path, ready in (PAGES | WIDGETS).items():
                with self.subTest(path=path, width=width, dark=dark):
                    self.open(path, ready)
                    if path == "/bottle":
                        self.wait(".kept-polls details")
                    self.script("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
                    self.script("return Promise.all(document.getAnimations().filter(a => a.effect.getTiming().iterations !== Infinity).map(a => a.finished))")
                    self.check(f"{path} {width}")
                    self.check_accessibility(f"{path} {width} {'dark' if dark else 'light'}")
                    self.screenshot(f"{path.strip('/') or 'today'}-{width}-{'dark' if dark else 'light'}")

    def test_dialogs_and_messages_are_accessible(self):
        for dark in (False, True):
            self.emulate(320, 640, dark)
            self.open("/", ".quick .chip")
            self.click(".vessel")
            self.wait(".toast")
            self.check_accessibility("a message")
            # A message covers no control, and its text takes no tap from the element below it.
            covered = self.script("""
                return [...document.querySelectorAll('.quick .chip, .vessel, #nav a, .segments button, .bottle-line button, .toast span')].filter(e => e.checkVisibility()).filter(e => {
                  const box = e.getBoundingClientRect(), [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
                  return y < innerHeight && document.elementFromPoint(x, y)?.closest('.toast');
                }).map(e => e.textContent);""")
            self.assertEqual(covered, [])
            self.button("Custom")
            self.type("dialog input", "0")
            self.button("Add", "dialog")
            self.wait("dialog .error")
            self.check("a dialog")
            self.check_accessibility("a dialog with an error")

    def test_pages_fit_in_german_right_to_left_and_large_text(self):
        """A phone in German, from right to left, and at twice the size, where a page scrolls in one direction."""
        log(400)
        self.open("/sign-in", "input.code")
        for language, direction, width in (("de", "ltr", 320), ("en", "rtl", 320), ("en", "ltr", 180), ("de", "ltr", 180)):
            self.set_language(language)
            self.emulate(width, 640)
            for path, ready in PAGES.items():
                with self.subTest(path=path, language=language, direction=direction, width=width):
                    self.open(path, ready)
                    self.assertEqual(self.script("return document.documentElement.lang"), language)
                    self.script("document.documentElement.dir = arguments[0]", direction)
                    (self.check_width if width < 320 else self.check)(f"{path} in {language}, {direction}, {width}")

    def test_reduced_motion_stops_all_motion(self):
        self.emulate(1280, 900, still=True)
        self.open("/", ".vessel")
        self.wait(".halo-rainbow")
        self.wait_for_value(lambda: self.script("return document.getAnimations().filter(a => a.playState === 'running').length"), 0)
        log(2000)
        self.wait_for_text(".amount", "2,000 ml / 2,500 ml")
        self.button("+500 ml")
        self.wait_for_text(".headline", "Goal reached!")
        self.assertEqual(self.all(".confetti"), [])

    def test_the_keyboard_reaches_everything_and_the_focus_is_visible(self):
        self.open("/", ".vessel")
        focused = lambda: self.script("const e = document.activeElement; return [e.className || e.tagName, getComputedStyle(e).outlineStyle, parseFloat(getComputedStyle(e).outlineWidth)]")
        seen = []
        for _ in range(16):
            self.driver.switch_to.active_element.send_keys(Keys.TAB)
            name, style, width = focused()
            seen.append(name)
            if name != "BODY":
                self.assertTrue(style != "none" and width >= 2, f"{name}: {style} {width}")
        for name in ("skip", "vessel", "chip"):
            self.assertIn(name, " ".join(seen))
        self.script("document.querySelector('.vessel').focus()")
        self.driver.switch_to.active_element.send_keys(Keys.ENTER)
        self.totals(250)
        self.assertIn("vessel", self.script("return document.activeElement.className"), "the focus stays")

    def test_the_pages_are_small_and_load_nothing_from_elsewhere(self):
        folder = pathlib.Path(__file__).resolve().parents[3] / "Sources/CDashboard/pages"
        files = [each for each in folder.iterdir() if each.suffix in (".html", ".js", ".css", ".svg", ".webmanifest")]
        self.assertGreater(len(files), 20)
        self.assertLess(sum(len(gzip.compress(each.read_bytes(), 9)) for each in files), 150_000)
        for each in files:
            if each.suffix in (".html", ".js", ".css"):
                outside = [line for line in each.read_text().splitlines() if "https://" in line or "http://" in line and "www.w3.org" not in line]
                self.assertEqual([line for line in outside if "src=" in line or "url(" in line or "import" in line], [], each.name)
