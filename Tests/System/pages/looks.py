"""Accessibility and layout: axe, overflow and sizes of tap targets, in every width, light and dark, in both languages."""
import gzip
import pathlib

from selenium.webdriver.common.keys import Keys

from .browser import PageCase, tracker, views

PAGES = {"/": ".vessel", "/history": ".month-day", "/waterline": ".page-waterline .card", "/bottle": ".command", "/settings": "[data-group=account]",
         "/welcome": ".page-welcome", "/watch": ".watch-litres", "/sign-in": "input.code"}
WIDGETS = {"/widget/small": "main svg", "/widget/large": "main svg"}
WIDTHS = {320: 640, 768: 1024, 1280: 900}


class Looks(PageCase):
    reminders = True

    def check(self, name):
        self.fits(name)
        small = self.script("""
            return [...document.querySelectorAll('button, a[href], input, select, summary')]
              .filter(e => e.checkVisibility() && !e.closest('.unseen') && !e.classList.contains('skip')).map(e => [e, e.getBoundingClientRect()])
              // Seven days are next to each other: there the height is enough.
              .filter(([e, r]) => r.height < 43.5 || (r.width < 43.5 && !e.closest('.bars, .month')))
              .map(([e, r]) => `${e.outerHTML.slice(0, 90)} ${r.width}x${r.height}`);""")
        self.assertEqual(small, [], name)
        # A word that its box cuts, and a sentence in a column of single words.
        squeezed = self.script("""
            return [...document.querySelectorAll('button, a.button, #nav a span, .setting-words')].filter(e => e.checkVisibility() && !e.closest('.unseen'))
              .filter(e => e.scrollWidth > e.clientWidth + 1 || (e.matches('.setting-words') && e.clientWidth < 100))
              .map(e => `${e.textContent} ${e.scrollWidth} in ${e.clientWidth}`);""")
        self.assertEqual(squeezed, [], name)

    def test_every_page_in_every_width_light_and_dark(self):
        tracker("log", 400)
        tracker("session", "start")
        tracker("drink")
        tracker("drink")
        tracker("water")
        for width, dark in views(*WIDTHS):
            self.emulate(width, WIDTHS[width], dark)
            for path, ready in (PAGES | WIDGETS).items():
                with self.subTest(path=path, width=width, dark=dark):
                    self.open(path, ready)
                    self.script("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
                    self.script("return Promise.all(document.getAnimations().filter(a => a.effect.getTiming().iterations !== Infinity).map(a => a.finished))")
                    self.check(f"{path} {width}")
                    self.axe(f"{path} {width} {'dark' if dark else 'light'}")
                    self.shot(f"{path.strip('/') or 'today'}-{width}-{'dark' if dark else 'light'}")

    def test_failed_polls(self):
        reason = "Acknowledgement not confirmed.\n"
        trace = "bottle: A4:C1:38:31:D1:D2, retail\nname: WaterH-Boost-24oz-with-a-name-that-is-longer-than-others\nreceived 500, new 480, known 20, suspect 0, unreadable 12, acknowledged 488, possibly acknowledged 12\n"
        self.keep([(f"2026061{day}T115900123", reason + trace, b"btsnoop\0" * 999) for day in range(3)])
        for width, dark in views(*WIDTHS):
            self.emulate(width, WIDTHS[width], dark)
            self.open("/bottle", ".kept-polls details")
            self.click(".kept-polls summary")
            self.wait(".kept-polls details[open] a.button")
            self.check(f"kept polls {width}")
            self.axe(f"kept polls {width} {'dark' if dark else 'light'}")
            self.shot(f"kept-polls-{width}-{'dark' if dark else 'light'}")

    def test_dialogs_and_messages(self):
        for dark in (False, True):
            self.emulate(320, 640, dark)
            self.open("/", ".vessel")
            self.click(".vessel")
            self.wait(".toast")
            self.axe("a message")
            self.button("Custom")
            self.type("dialog input", "0")
            self.button("Add", "dialog")
            self.wait("dialog .error")
            self.check("a dialog")
            self.axe("a dialog with an error")

    def test_a_message_covers_no_control(self):
        for width, height in ((320, 640), (360, 740), (768, 1024), (1280, 900)):
            with self.subTest(width=width):
                self.emulate(width, height)
                self.open("/", ".quick .chip")
                before = self.total()
                self.click(".vessel")
                self.totals(before + 250)
                self.wait(".toast")
                # The element at the middle of each visible control.
                covered = self.script("""
                    return [...document.querySelectorAll('.quick .chip, .vessel, #nav a, .segments button, .bottle-line button')].filter(e => e.checkVisibility()).filter(e => {
                      const box = e.getBoundingClientRect(), [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
                      const top = y < innerHeight && document.elementFromPoint(x, y);
                      return top && top.closest('.toast');
                    }).map(e => e.textContent);""")
                self.assertEqual(covered, [])
                # Its text takes no tap from the element below it.
                under = self.script("const box = document.querySelector('.toast span').getBoundingClientRect(); return !!document.elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2)?.closest('.toast')")
                self.assertFalse(under)
                self.button("Undo", ".toast")
                self.totals(before)

    def test_german_fits(self):
        self.open("/sign-in", "input.code")
        self.speak("de")
        self.emulate(320, 640)
        for path, ready in PAGES.items():
            with self.subTest(path=path):
                self.open(path, ready)
                self.assertEqual(self.script("return document.documentElement.lang"), "de")
                self.check(f"{path} in German")
        self.open("/", ".vessel")
        self.says("#title", "Trinken")

    def test_a_narrow_phone_at_twice_the_size_scrolls_in_one_direction(self):
        tracker("log", 400)
        self.open("/sign-in", "input.code")
        for language in ("en", "de"):
            self.speak(language)
            self.emulate(180, 400)
            for path, ready in PAGES.items():
                with self.subTest(path=path, language=language):
                    self.open(path, ready)
                    self.fits(path)

    def test_right_to_left_fits(self):
        for path, ready in PAGES.items():
            self.emulate(320, 640)
            self.open(path, ready)
            self.script("document.documentElement.dir = 'rtl'")
            self.check(f"{path} from right to left")

    def test_reduced_motion_stops_all_motion(self):
        self.emulate(1280, 900, still=True)
        self.open("/", ".vessel")
        self.wait(".halo-rainbow")
        running = lambda: self.script("return document.getAnimations().filter(a => a.playState === 'running').length")
        self.until(lambda: running() == 0, "an animation is running")
        tracker("log", 2000)
        self.says(".amount", "2,000 ml / 2,500 ml")
        self.button("+500 ml")
        self.says(".headline", "Goal reached!")
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
        self.assertTrue(any("skip" in name for name in seen) and any("vessel" in name for name in seen) and any("chip" in name for name in seen), seen)
        self.script("document.querySelector('.vessel').focus()")
        self.driver.switch_to.active_element.send_keys(Keys.ENTER)
        self.totals(250)
        self.assertIn("vessel", self.script("return document.activeElement.className"), "the focus stays")

    def test_the_pages_are_small(self):
        folder = pathlib.Path(__file__).resolve().parents[3] / "Sources/CDashboard/pages"
        files = [each for each in folder.iterdir() if each.suffix in (".html", ".js", ".css", ".svg", ".webmanifest")]
        self.assertGreater(len(files), 20)
        size = sum(len(gzip.compress(each.read_bytes(), 9)) for each in files)
        print(f"\n{len(files)} files, {size} bytes compressed", end=" ")
        self.assertLess(size, 150_000)
        for each in files:
            if each.suffix in (".html", ".js", ".css"):
                outside = [line for line in each.read_text().splitlines() if "https://" in line or "http://" in line and "www.w3.org" not in line]
                self.assertEqual([line for line in outside if "src=" in line or "url(" in line or "import" in line], [], each.name)

    def test_adjacent_fields_are_aligned(self):
        self.open("/sign-in", "input.code")
        for language in ("en", "de"):
            self.speak(language)
            for path, ready in (("/welcome", ".page-welcome .guardrail"), ("/settings", "[data-group=account]")):
                self.open(path, ready)
                ragged = self.script("""
                    return [...document.querySelectorAll('.goal-fields')].flatMap((all) => {
                      const fields = [...all.querySelectorAll('.field:not(.flag)')].map((e) => [e.getBoundingClientRect(), e.querySelector('input, select').getBoundingClientRect().bottom]);
                      return fields.flatMap(([box, foot], at) => fields.slice(at + 1).filter(([other, beside]) => other.top < box.bottom && box.top < other.bottom && Math.abs(beside - foot) > 1));
                    });""")
                self.assertEqual(ragged, [], f"{path} {language}")
        # And the line below keeps its distance.
        gap = self.script("const fields = document.querySelector('.device-card .goal-fields'); return fields.nextElementSibling.getBoundingClientRect().top - fields.getBoundingClientRect().bottom")
        self.assertGreaterEqual(gap, 8)
