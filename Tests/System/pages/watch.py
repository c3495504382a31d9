"""The watch's page (tracker spec B6, US-027, US-029), signing in, and the widgets: pages to embed with buttons that log."""
from . import browser
from .browser import PageCase, api, log, session, settings, state, tracker


class Watch(PageCase):
    def show(self, path="/watch", size=320):
        self.emulate(size, size)
        self.open(path, ".watch-litres")
        self.until(lambda: self.text(".watch-litres") != "--", "no state")

    def test_the_face_shows_the_day(self):
        log(200)
        self.show()
        now = state()
        self.wait_for_text(".watch-litres", now["litresText"])
        self.wait_for_text(".watch-status", now["statusText"])
        self.wait_for_text(".watch-age", now["lastDrinkAge"])
        self.wait_for_text(".watch-glasses", "1/13")
        self.wait_for_match(".watch-next", r"^\d\d:\d\d$")
        self.assertEqual(self.one(".watch-drop").get_attribute("data-urgency"), str(now["displayUrgency"]))
        self.assertFalse(self.one(".watch-sum").is_displayed())
        for size in (192, 240, 320):
            self.show("/watch?round", size)
            outside = self.script("""
                const r = innerWidth / 2;
                return [...document.querySelectorAll('.watch-words > *')].filter(e => e.getBoundingClientRect().width && !e.classList.contains('unseen')).filter(e => {
                  const b = e.getBoundingClientRect();
                  return [[b.left, b.top], [b.right, b.top], [b.left, b.bottom], [b.right, b.bottom]].some(([x, y]) => Math.hypot(x - r, y - r) > r);
                }).map(e => e.className);""")
            self.assertEqual(outside, [], f"outside of the round face at {size}")
            self.check_width(size)

    def test_a_reminder_covers_the_face_until_it_is_dismissed(self):
        self.show(size=240)
        settings(reminders__enabled=True)
        self.button("Dismiss", ".notices")
        self.wait_for_count(".notices .notice", 0)
        self.click(".watch-buttons button")
        self.totals(250)

    def test_taps_without_a_connection_count_once(self):
        self.show(size=240)
        self.offline()
        self.wait_for_match(".watch-as-of", "as of")
        for _ in range(3):
            self.click(".watch-buttons button")
        self.wait_for_match(".watch-as-of", "3 entries waiting")
        self.online()
        self.totals(750)
        self.wait_for_text(".watch-litres", "0.8L / 2.5L")
        self.wait_for_value(self.stored_writes, [])
        # A tap outlives the page. Its key has counted already the second time.
        for _ in range(2):
            self.script("localStorage.setItem('waterh.queue', JSON.stringify([{key: 'an-old-tap', method: 'POST', path: '/drinks', body: {ml: 200}, made: 0}]))")
            self.show()
            self.totals(950)
            self.wait_for_value(self.stored_writes, [])
        self.assertEqual(state()["dailyTotalMl"], 950)

    def test_the_watch_page_runs_a_session(self):
        self.show(size=240)
        self.button("Start session")
        self.until(session, "it does not start")
        for drinks in (1, 2):
            self.button("+ Drink")
            self.button("Beer", "dialog")
            self.wait_for_value(lambda: session()["drinks"], drinks)
            # Each drink shows a message about water over the whole face.
            self.button("Dismiss", ".notices")
        self.wait(".watch-sum.is-warning .gauge.is-warning")
        self.wait_for_text(".watch-sum .gauge-value", "+2")
        self.wait_for_text(".watch-sum > div:last-child p", "2 drinks · 0 waters")
        self.wait_for_text(".watch-due", "Drink water to return to center")
        self.button("+ Water")
        self.wait_for_value(lambda: session()["waters"], 1)
        self.button("End session")
        self.button("Cancel", "dialog")
        self.assertIsNotNone(session())
        self.button("End session", ".watch-session")
        self.button("End session", "dialog")
        self.wait_for_value(session, None)
        self.wait(".watch-session button")

    def test_sign_in_rejects_a_wrong_code(self):
        self.open("/sign-in", "input.code")
        self.type("input.code", "0000000000")
        self.button("Sign in")
        self.wait_for_match(".error", ".{10}")


class Widgets(PageCase):
    def test_a_widget_without_a_session_shows_the_day_and_logs_a_cup(self):
        log(100, 200, 300, 400)
        self.open("/widget/large", "main svg")
        lines = self.texts("p")
        self.assertEqual(lines[0], "1.0L / 2.5L")
        self.assertRegex(lines[1], r"^Next drink in (\d+ h )?\d+ min$")
        self.assertEqual([line.split("  ")[1] for line in lines[2:]], ["400 ml", "300 ml", "200 ml"])
        self.button("+250 ml")
        self.totals(1250)
        self.wait_for_value(lambda: self.texts("p")[0], "1.2L / 2.5L")
        # A reload repeats nothing.
        self.driver.refresh()
        self.wait("main svg")
        self.assertEqual(state()["dailyTotalMl"], 1250)
        for dark, colour in ((False, "rgb(255, 255, 255)"), (True, "rgb(23, 37, 52)")):
            self.emulate(340, 340, dark)
            self.driver.get(f"{browser.service.url}/widget/small.svg")
            self.assertEqual(self.script("return getComputedStyle(document.querySelector('.card')).fill"), colour)

    def test_a_widget_in_a_session_shows_its_entries_and_buttons(self):
        api("POST", "session")
        tracker("drink", "Double")
        self.open("/widget/large", "main svg")
        self.assertRegex(" ".join(self.texts("svg text")), r"\d\d:\d\d  Double 2")
        self.button("+ Drink")
        self.wait_for_value(lambda: session()["drinks"], 2)
        self.button("+ Water")
        self.wait_for_value(lambda: session()["waters"], 1)
