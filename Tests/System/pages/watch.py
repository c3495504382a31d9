"""The watch's page (tracker law B6, US-027, US-029) and signing in."""
import re

from .browser import PageCase, tracker


class Watch(PageCase):
    def test_a_reminder_lies_over_the_face_until_it_is_put_away(self):
        self.emulate(240, 240)
        self.show()
        tracker("settings", "set", "reminders.enabled", "true")
        self.button("Dismiss", ".notices")
        self.until(lambda: not self.all(".notices .notice"), "put away")
        self.click(".watch-buttons button")
        self.totals(250)

    def show(self, path="/watch"):
        self.open(path, ".watch-litres")
        self.until(lambda: self.text(".watch-litres") != "--", "no state")

    def test_the_glance(self):
        tracker("log", 300)
        self.emulate(320, 320)
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
        self.emulate(320, 320)
        self.show()
        self.says(".watch-glasses", "1/13")
        self.until(lambda: re.fullmatch(r"\d\d:\d\d", self.text(".watch-next")), lambda: self.text(".watch-next"))
        self.assertEqual(self.script("return ['.watch-glasses', '.watch-next'].map((e) => getComputedStyle(document.querySelector(e)).fontSize)"), ["32px", "20px"])
        self.assertFalse(self.one(".watch-sum").is_displayed())
        tracker("session", "start")
        for _number in range(2):
            tracker("drink")
        self.wait(".watch-sum.is-warning .gauge.is-warning")
        self.says(".watch-sum .gauge-value", "+2")
        self.says(".watch-sum > div:last-child p", "2 drinks · 0 waters")
        self.says(".watch-due", "Drink water to return to center")

    def test_a_round_face_keeps_its_words_inside(self):
        tracker("log", 300)
        for size in (192, 240, 320):
            self.emulate(size, size)
            self.show("/watch?round")
            outside = self.script("""
                const r = innerWidth / 2;
                return [...document.querySelectorAll('.watch-words > *')].filter(e => e.getBoundingClientRect().width && !e.classList.contains('unseen')).filter(e => {
                  const b = e.getBoundingClientRect();
                  return [[b.left, b.top], [b.right, b.top], [b.left, b.bottom], [b.right, b.bottom]].some(([x, y]) => Math.hypot(x - r, y - r) > r);
                }).map(e => e.className);""")
            self.assertEqual(outside, [], size)
            self.assertLessEqual(self.script("return document.documentElement.scrollWidth"), size)

    def test_taps_wait_while_the_service_is_away_and_count_once(self):
        self.emulate(240, 240)
        self.show()
        self.offline()
        self.until(lambda: "as of" in self.text(".watch-as-of"), "its age")
        for _number in range(3):
            self.click(".watch-buttons button")
        self.until(lambda: "3 entries waiting" in self.text(".watch-as-of"), "the taps")
        self.online()
        self.totals(750)
        self.says(".watch-litres", "0.8L / 2.5L")
        self.until(lambda: not self.waiting(), "the queue is empty")

    def test_taps_outlive_the_page(self):
        self.show()
        self.script("localStorage.setItem('waterh.queue', JSON.stringify([{key: 'a-tap-of-yesterday', method: 'POST', path: '/drinks', body: {ml: 200}, made: 0}]))")
        self.show()
        self.totals(200)
        self.script("localStorage.setItem('waterh.queue', JSON.stringify([{key: 'a-tap-of-yesterday', method: 'POST', path: '/drinks', body: {ml: 200}, made: 0}]))")
        self.show()
        self.until(lambda: not self.waiting(), "sent again")
        self.assertEqual(self.total(), 200)

    def test_a_session_from_the_wrist(self):
        self.emulate(240, 240)
        self.show()
        state = lambda: tracker("status")["waterline"]
        self.button("Start session")
        self.until(lambda: state(), "started")
        self.button("+ Drink")
        self.button("Beer", "dialog")
        self.until(lambda: state()["drinks"] == 1, "a drink")
        # Each drink brings a word about water, over the whole face.
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

    def test_sign_in_refuses_a_wrong_code(self):
        self.open("/sign-in", "input.code")
        self.type("input.code", "0000000000")
        self.button("Sign in")
        self.wait(".error")
        self.assertGreater(len(self.text(".error")), 10)
