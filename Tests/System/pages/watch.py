"""The watch's page (tracker spec B6, US-027, US-029), signing in, and the widgets: pages to embed with buttons that log."""
import re

from .browser import PageCase, tracker
from . import browser


class Watch(PageCase):
    def show(self, path="/watch", size=320):
        self.emulate(size, size)
        self.open(path, ".watch-litres")
        self.until(lambda: self.text(".watch-litres") != "--", "no state")

    def test_a_reminder_covers_the_face_until_it_is_dismissed(self):
        self.show(size=240)
        tracker("settings", "set", "reminders.enabled", "true")
        self.button("Dismiss", ".notices")
        self.until(lambda: not self.all(".notices .notice"), "it is not dismissed")
        self.click(".watch-buttons button")
        self.totals(250)

    def test_the_glance(self):
        tracker("log", 300)
        self.show()
        state = tracker("status")
        self.says(".watch-litres", state["litresText"])
        self.says(".watch-status", state["statusText"])
        self.says(".watch-age", state["lastDrinkAge"])
        self.assertEqual(self.one(".watch-drop").get_attribute("data-urgency"), str(state["displayUrgency"]))
        ring = self.script("const a = document.querySelector('.halo-progress'); return [a.getAttribute('stroke-width'), !!document.querySelector('.halo-track'), (2 * Number(a.getAttribute('r')) + 12) / Number(a.ownerSVGElement.viewBox.baseVal.width)]")
        self.assertEqual(ring[:2], ["12", True], "the stroke, and the track under it")
        self.assertAlmostEqual(ring[2], 0.9, places=3)

    def test_the_face_has_glasses_and_countdown_and_in_a_session_the_gauge_with_its_warning(self):
        tracker("log", 200)
        self.show()
        self.says(".watch-glasses", "1/13")
        self.until(lambda: re.fullmatch(r"\d\d:\d\d", self.text(".watch-next")), lambda: self.text(".watch-next"))
        self.assertFalse(self.one(".watch-sum").is_displayed())
        tracker("session", "start")
        for _ in range(2):
            tracker("drink")
        self.wait(".watch-sum.is-warning .gauge.is-warning")
        self.says(".watch-sum .gauge-value", "+2")
        self.says(".watch-sum > div:last-child p", "2 drinks · 0 waters")
        self.says(".watch-due", "Drink water to return to center")

    def test_a_round_face_keeps_its_words_inside(self):
        tracker("log", 300)
        for size in (192, 240, 320):
            self.show("/watch?round", size)
            outside = self.script("""
                const r = innerWidth / 2;
                return [...document.querySelectorAll('.watch-words > *')].filter(e => e.getBoundingClientRect().width && !e.classList.contains('unseen')).filter(e => {
                  const b = e.getBoundingClientRect();
                  return [[b.left, b.top], [b.right, b.top], [b.left, b.bottom], [b.right, b.bottom]].some(([x, y]) => Math.hypot(x - r, y - r) > r);
                }).map(e => e.className);""")
            self.assertEqual(outside, [], size)
            self.fits(size)

    def test_taps_without_a_connection_count_once(self):
        self.show(size=240)
        self.offline()
        self.until(lambda: "as of" in self.text(".watch-as-of"), "its age")
        for _ in range(3):
            self.click(".watch-buttons button")
        self.until(lambda: "3 entries waiting" in self.text(".watch-as-of"), "the taps")
        self.online()
        self.totals(750)
        self.says(".watch-litres", "0.8L / 2.5L")
        self.until(lambda: not self.waiting(), "the queue is empty")

    def test_taps_outlive_the_page(self):
        self.show()
        for _ in range(2):
            self.script("localStorage.setItem('waterh.queue', JSON.stringify([{key: 'an-old-tap', method: 'POST', path: '/drinks', body: {ml: 200}, made: 0}]))")
            self.show()
            self.totals(200)
            self.until(lambda: not self.waiting(), "it is not sent")
        self.assertEqual(self.total(), 200)

    def test_a_session_from_the_wrist(self):
        self.show(size=240)
        state = lambda: tracker("status")["waterline"]
        self.button("Start session")
        self.until(lambda: state(), "started")
        self.button("+ Drink")
        self.button("Beer", "dialog")
        self.until(lambda: state()["drinks"] == 1, "a drink")
        # Each drink shows a message about water over the whole face.
        self.button("Dismiss", ".notices")
        self.button("+ Water")
        self.until(lambda: state()["waters"] == 1, "a water")
        self.button("End session")
        self.button("Cancel", "dialog")
        self.assertIsNotNone(state())
        self.button("End session", ".watch-session")
        self.button("End session", "dialog")
        self.until(lambda: state() is None, "ended")
        self.wait(".watch-session button")

    def test_sign_in_rejects_a_wrong_code(self):
        self.open("/sign-in", "input.code")
        self.type("input.code", "0000000000")
        self.button("Sign in")
        self.wait(".error")
        self.assertGreater(len(self.text(".error")), 10)


class Widgets(PageCase):
    def test_without_a_session_the_day_and_a_button_that_logs_a_cup(self):
        for amount in (100, 200, 300, 400):
            tracker("log", amount)
        self.open("/widget/large", "main svg")
        lines = self.texts("p")
        self.assertEqual(lines[0], "1.0L / 2.5L")
        self.assertRegex(lines[1], r"^Next drink in (\d+ h )?\d+ min$")
        self.assertEqual([line.split("  ")[1] for line in lines[2:]], ["400 ml", "300 ml", "200 ml"])
        self.button("+250 ml")
        self.totals(1250)
        self.until(lambda: self.texts("p")[0] == "1.2L / 2.5L", lambda: self.texts("p"))
        # A reload repeats nothing.
        self.driver.refresh()
        self.wait("main svg")
        self.assertEqual(self.total(), 1250)

    def test_in_a_session_its_entries_and_buttons(self):
        tracker("session", "start")
        tracker("drink", "Double")
        state = lambda: tracker("status")["waterline"]
        self.open("/widget/large", "main svg")
        self.assertRegex(" ".join(self.texts("svg text")), r"\d\d:\d\d  Double 2")
        self.button("+ Drink")
        self.until(lambda: state()["drinks"] == 2, "a drink")
        self.button("+ Water")
        self.until(lambda: state()["waters"] == 1, "a water")

    def test_pictures_follow_the_colour_scheme(self):
        for dark, colour in ((False, "rgb(255, 255, 255)"), (True, "rgb(23, 37, 52)")):
            self.emulate(340, 340, dark)
            self.driver.get(f"{browser.service.url}/widget/small.svg")
            self.assertEqual(self.script("return getComputedStyle(document.querySelector('.card')).fill"), colour)
