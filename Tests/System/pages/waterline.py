"""Waterline: start, log in at most two taps, the gauge (tracker spec E5), timeline, summary (E6), past sessions, abandoned sessions (E3)."""
import datetime
import re
import time

from .browser import PageCase, tracker


class Waterline(PageCase):
    def test_a_hint_explains_the_first_session(self):
        self.open("/waterline", ".start-card")
        self.wait(".idle-hint")
        for words in (("session", "start"), ("session", "end", "--yes")):
            tracker(*words)
        self.open("/waterline", ".start-card")
        self.wait(".past li")
        self.gone(".idle-hint")

    def show(self, ready=".page-waterline"):
        self.open("/waterline", ready)

    def start(self):
        tracker("session", "start")
        self.show(".session-card")

    def state(self):
        return tracker("status")["waterline"]

    def test_the_gauges_mark_covers_neither_word_at_its_ends(self):
        self.start()
        for position in (0, 1):
            covered = self.state_is({"waterline": {"gauge": position}}, """(() => {
                document.getAnimations().forEach((each) => { try { each.finish(); } catch { /* One that never ends. */ } });
                const mark = document.querySelector('.gauge-mark').getBoundingClientRect();
                return [...document.querySelectorAll('.gauge-end')].filter((e) => e.getBoundingClientRect().top < mark.bottom && mark.top < e.getBoundingClientRect().bottom).map((e) => e.textContent);
              })()""")
            self.assertEqual(covered, [], f"at {position}")

    def test_start_is_prominent_and_starts(self):
        self.show(".start-card")
        self.assertGreaterEqual(self.one(".start-card button").size["height"], 44)
        self.says(".past-card .empty", "No sessions yet")
        self.button("Start session")
        self.wait(".session-card")
        self.assertTrue(self.state()["sessionId"])
        self.says(".due", "Water due in: 1 drink")

    def test_a_water_is_one_tap_and_a_drink_two(self):
        self.start()
        for words in ("+ Drink", "+ Water"):
            height = self.script("return [...document.querySelectorAll('button')].find(b => b.textContent === arguments[0]).getBoundingClientRect().height", words)
            self.assertGreaterEqual(height, 44)
        self.button("+ Water")
        self.until(lambda: self.state()["waters"] == 1, "one tap, one water")
        self.button("+ Drink")
        self.button("Beer", "dialog .chips")
        self.until(lambda: self.state()["drinks"] == 1, "two taps, one drink")
        self.gone("dialog")
        self.button("Double", ".page-waterline .session-card .chips")
        self.until(lambda: self.state()["standardDrinks"] == 3, "a preset's chip is one tap")

    def test_presets_are_above_the_buttons_and_the_timeline_names_them_in_the_order_of_time(self):
        self.start()
        tops = self.script("return ['.session-card .chips', '.session-actions'].map((e) => document.querySelector(e).getBoundingClientRect().top)")
        self.assertLess(*tops)
        tracker("drink", "Double")
        tracker("water")
        tracker("drink", "Glass of Wine")
        tracker("preset", "delete", "Double")
        self.until(lambda: len(self.all(".timeline li")) == 3, "three entries")
        self.assertEqual(self.texts(".timeline li strong"), ["Double", "Water", "Glass of Wine"])

    def test_type_size_and_estimate(self):
        self.start()
        self.button("+ Drink")
        self.button("Wine", "dialog")
        self.button("Glass 6 oz", "dialog")
        self.assertEqual(self.one("dialog input").get_property("value"), "1.2")
        self.click("dialog [aria-label=More]")
        self.button("Log", "dialog")
        self.until(lambda: self.state()["standardDrinks"] == 1.3, "the corrected estimate")

    def test_the_gauge_is_at_its_position(self):
        self.start()
        logs = [(None, 0.5, False), (-3, 0.25, False), (3, 0.5, False), (1, 0.5833, False), (1, 0.6667, True), (1, 0.75, True), (2, 0.9167, True), (2.5, 1, True)]
        for change, position, warns in logs:
            for _ in range(-change if change and change < 0 else 0):
                tracker("water")
            if change and change > 0:
                tracker("drink", "--estimate", change)
            at = lambda: float(self.script("return document.querySelector('.gauge').style.getPropertyValue('--position')"))
            self.until(lambda: abs(at() - position) < 0.0001, lambda: f"the gauge is at {at()}, not at {position}")
            self.assertEqual("is-warning" in self.one(".gauge").get_attribute("class"), warns)
            self.assertEqual(self.text(".warning-text"), "Drink water to return to center" if warns else "")
        self.says(".due", "Water due now")
        mark = self.script("return document.querySelector('.gauge-track').getBoundingClientRect().top")
        self.until(lambda: abs(self.script("const m = document.querySelector('.gauge-mark').getBoundingClientRect(); return m.top + m.height / 2") - mark) < 2, "the mark")

    def test_a_water_lowers_the_value_and_ends_the_warning(self):
        self.start()
        for _ in range(2):
            tracker("drink")
        self.says(".warning-text", "Drink water to return to center")
        self.says(".due", "Water due now")
        self.button("+ Water")
        self.says(".due", "Water due in: 1 drink")
        self.says(".warning-text", "")
        state = self.state()
        self.assertEqual((state["value"], state["sinceWater"], state["drinks"], state["waters"]), (1, 0, 2, 1))
        counts = self.script("return [...document.querySelectorAll('.session-card .counts dd')].slice(0, 2).map(d => d.textContent)")
        self.assertEqual(counts, ["2", "1"])

    def test_the_next_reminder_counts_down(self):
        tracker("settings", "set", "waterline.timeReminders", "true", "waterline.intervalMinutes", 20)
        self.start()
        seconds = lambda: (lambda found: int(found[1]) * 60 + int(found[2]))(re.fullmatch(r"Next reminder: (\d+):(\d\d)", self.text(".reminder")))
        self.until(lambda: (self.text(".reminder") or "").startswith("Next reminder: "), "the countdown")
        first = seconds()
        self.assertTrue(19 * 60 < first <= 20 * 60, first)
        self.until(lambda: first - seconds() >= 2, "it does not move")
        self.assertAlmostEqual(seconds(), self.state()["nextReminderSeconds"], delta=2)
        tracker("settings", "set", "waterline.timeReminders", "false")
        self.says(".reminder", "No reminder is due")

    def test_an_end_elsewhere_ends_it_here(self):
        self.start()
        tracker("session", "end", "--yes")
        begun = time.monotonic()
        self.wait(".summary-card")
        self.assertLess(time.monotonic() - begun, 2)
        self.assertFalse(self.one(".session-card").is_displayed())

    def test_entries_are_edited_and_deleted(self):
        self.start()
        tracker("drink")
        self.wait(".timeline li")
        self.click(".timeline button[aria-label^=Edit]")
        self.type("dialog input[type=number]", "2")
        self.button("Save", "dialog")
        self.until(lambda: self.state()["value"] == 2, "the estimate")
        self.click(".timeline button[aria-label^=Delete]")
        self.until(lambda: self.state()["drinks"] == 0, "the entry")

    def test_a_deleted_entry_leaves_the_timeline_and_the_others_stay_once(self):
        self.start()
        tracker("drink")
        tracker("water")
        self.until(lambda: len(self.all(".timeline li")) == 2, "two entries")
        self.click(".timeline li[data-type=alcohol] button[aria-label^=Delete]")
        self.until(lambda: self.script("return [...document.querySelectorAll('.timeline li')].map(each => each.dataset.type)") == ["water"], "one entry is left")
        tracker("drink")
        self.until(lambda: len(self.all(".timeline li")) == 2, "two entries again")
        tracker("undo")
        self.until(lambda: len(self.all(".timeline li")) == 1, "the reverted entry is gone")
        self.assertEqual([each.text for each in self.all(".toast.problem")], [])

    def test_an_empty_time_is_rejected(self):
        self.start()
        tracker("drink")
        self.wait(".timeline li")
        self.click(".timeline button[aria-label^=Edit]")
        self.script("document.querySelector('dialog input[type=time]').value = ''")
        self.button("Save", "dialog")
        self.says("dialog .error", "It must be a time like 14:05.")
        self.button("Cancel", "dialog")

    def test_end_asks_shows_the_summary_and_done_seals_it(self):
        self.start()
        tracker("drink")
        tracker("water")
        self.wait(".timeline li:nth-child(2)")
        self.button("End session")
        self.says("dialog h2", "End this session?")
        self.button("Cancel", "dialog")
        self.assertIsNotNone(self.state())
        self.button("End session", ".session-card")
        self.button("End session", "dialog")
        self.wait(".summary-card")
        self.assertIsNone(self.state())
        facts = self.script("return Object.fromEntries([...document.querySelectorAll('.summary-card .counts > div')].map(d => [d.querySelector('dt').textContent, d.querySelector('dd').textContent]))")
        self.assertEqual((facts["Drinks"], facts["Waters"], facts["Pacing adherence"], facts["Duration"]), ("1", "1 (8 oz)", "100 %", "0 min"))
        self.wait(".picture svg")
        self.button("Done")
        self.gone(".summary-card")
        self.assertTrue(tracker("session", "show")["sealed"])
        self.wait(".past-row")
        self.click(".past-row")
        self.wait("dialog .summary")
        self.assertFalse(self.all("dialog .timeline button"), "a sealed session is only read")

    def test_the_last_five_sessions(self):
        for _ in range(6):
            tracker("session", "start")
            tracker("session", "end", "--yes")
        self.show()
        self.until(lambda: len(self.all(".past-row")) == 5, "five")

    def test_an_abandoned_session_asks(self):
        begun = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(hours=13, minutes=5)
        tracker("session", "start", "--now", begun.strftime("%Y-%m-%dT%H:%M:%SZ"))
        self.show(".abandoned")
        self.says(".abandoned p", "Your session has been running for 13 hours. End it?")
        self.button("Keep Going")
        self.gone(".abandoned")
        self.assertIsNone(self.state()["abandonedHours"])

    def test_it_is_discreet(self):
        self.start()
        self.assertEqual(self.driver.title, "Hydration")
        self.assertEqual(self.all(".confetti"), [])
        self.button("Hide details")
        self.gone(".gauge")
        self.gone(".timeline")
        self.show(".session-card")
        self.assertFalse(self.one(".gauge").is_displayed(), "it stays hidden")
