"""Waterline: start, log in at most two taps, the gauge (tracker spec E5), timeline, summary (E6), past sessions, abandoned sessions (E3)."""
import datetime
import re

from .browser import PageCase, api, session, settings, tracker


class Waterline(PageCase):
    def show(self, ready=".page-waterline"):
        self.open("/waterline", ready)

    def start(self):
        api("POST", "session")
        self.show(".session-card")

    def entries(self, count):
        self.wait_for_count(".timeline li", count)

    def test_a_session_starts_and_has_drinks_and_waters(self):
        self.show(".start-card")
        self.wait(".idle-hint")
        self.wait_for_text(".past-card .empty", "No sessions yet")
        self.button("Start session")
        self.wait(".session-card")
        self.wait_for_text(".due", "Water due in: 1 drink")
        self.assertLess(*self.script("return ['.session-card .chips', '.session-actions'].map((e) => document.querySelector(e).getBoundingClientRect().top)"))
        # A water is one tap, and so is a preset; another drink has two.
        self.button("+ Water")
        self.wait_for_value(lambda: session()["waters"], 1)
        self.button("+ Drink")
        self.button("Beer", "dialog .chips")
        self.wait_for_value(lambda: session()["drinks"], 1)
        self.wait_until_hidden("dialog")
        self.button("Double", ".page-waterline .session-card .chips")
        self.wait_for_value(lambda: session()["standardDrinks"], 3)
        # Type, size and a corrected estimate.
        self.button("+ Drink")
        self.button("Wine", "dialog")
        self.button("Glass 6 oz", "dialog")
        self.assertEqual(self.one("dialog input").get_property("value"), "1.2")
        self.click("dialog [aria-label=More]")
        self.button("Log", "dialog")
        self.wait_for_value(lambda: session()["standardDrinks"], 4.3)
        tracker("preset", "delete", "Double")
        self.entries(4)
        self.assertEqual(self.texts(".timeline li strong")[:3], ["Water", "Beer", "Double"])

    def test_the_gauge_is_at_its_position(self):
        self.start()
        at = lambda: float(self.script("return document.querySelector('.gauge').style.getPropertyValue('--position')"))
        for change, position, warns in ((None, 0.5, False), (-3, 0.25, False), (3, 0.5, False), (2, 0.6667, True), (3.5, 0.9583, True), (2, 1, True)):
            if change and change < 0:
                for _ in range(-change):
                    api("POST", "session/water", {})
            elif change:
                api("POST", "session/drink", {"estimate": change})
            self.until(lambda: abs(at() - position) < 0.0001, lambda: f"the gauge is at {at()}, not at {position}")
            self.assertEqual("is-warning" in self.one(".gauge").get_attribute("class"), warns)
            self.assertEqual(self.text(".warning-text"), "Drink water to return to center" if warns else "")
        self.wait_for_text(".due", "Water due now")
        for position in (0, 1):
            covered = self.replace_state({"waterline": {"gauge": position}}, """(() => {
                document.getAnimations().forEach((each) => { try { each.finish(); } catch { /* One that never ends. */ } });
                const mark = document.querySelector('.gauge-mark').getBoundingClientRect();
                return [...document.querySelectorAll('.gauge-end')].filter((e) => e.getBoundingClientRect().top < mark.bottom && mark.top < e.getBoundingClientRect().bottom).map((e) => e.textContent);
              })()""")
            self.assertEqual(covered, [], f"the mark at {position} covers a word")

    def test_a_water_lowers_the_value_and_ends_the_warning(self):
        self.start()
        for _ in range(2):
            api("POST", "session/drink", {})
        self.wait_for_text(".warning-text", "Drink water to return to center")
        self.button("+ Water")
        self.wait_for_text(".due", "Water due in: 1 drink")
        self.wait_for_text(".warning-text", "")
        now = session()
        self.assertEqual((now["value"], now["sinceWater"], now["drinks"], now["waters"]), (1, 0, 2, 1))
        self.assertEqual(self.texts(".session-card .counts dd")[:2], ["2", "1"])

    def test_the_next_reminder_counts_down(self):
        settings(waterline__timeReminders=True, waterline__intervalMinutes=20)
        self.start()
        seconds = lambda: (lambda found: int(found[1]) * 60 + int(found[2]))(re.fullmatch(r"Next reminder: (\d+):(\d\d)", self.text(".reminder")))
        self.wait_for_match(".reminder", "^Next reminder: ")
        first = seconds()
        self.assertTrue(19 * 60 < first <= 20 * 60, first)
        self.until(lambda: seconds() < first, "it does not move")
        self.assertAlmostEqual(seconds(), session()["nextReminderSeconds"], delta=3)
        settings(waterline__timeReminders=False)
        self.wait_for_text(".reminder", "No reminder is due")

    def test_entries_are_edited_and_deleted(self):
        self.start()
        for kind in ("drink", "water"):
            api("POST", f"session/{kind}", {})
        self.entries(2)
        self.click(".timeline li[data-type=alcohol] button[aria-label^=Edit]")
        time = self.one("dialog input[type=time]").get_property("value")
        self.script("document.querySelector('dialog input[type=time]').value = ''")
        self.button("Save", "dialog")
        self.wait_for_text("dialog .error", "It must be a time like 14:05.")
        self.script("document.querySelector('dialog input[type=time]').value = arguments[0]", time)
        self.type("dialog input[type=number]", "2")
        self.button("Save", "dialog")
        self.wait_for_value(lambda: session()["standardDrinks"], 2)
        self.click(".timeline li[data-type=alcohol] button[aria-label^=Delete]")
        self.wait_for_value(lambda: self.script("return [...document.querySelectorAll('.timeline li')].map(each => each.dataset.type)"), ["water"])
        api("POST", "session/drink", {})
        self.entries(2)
        tracker("undo")
        self.entries(1)
        self.assertEqual(self.texts(".toast.problem"), [])

    def test_end_requires_a_confirmation_and_done_seals_the_session(self):
        self.start()
        for kind in ("drink", "water"):
            api("POST", f"session/{kind}", {})
        self.entries(2)
        self.button("End session")
        self.wait_for_text("dialog h2", "End this session?")
        self.button("Cancel", "dialog")
        self.assertIsNotNone(session())
        self.button("End session", ".session-card")
        self.button("End session", "dialog")
        self.wait(".summary-card .picture svg")
        self.assertIsNone(session())
        facts = dict(zip(self.texts(".summary-card .counts dt"), self.texts(".summary-card .counts dd")))
        self.assertEqual((facts["Drinks"], facts["Waters"], facts["Pacing adherence"], facts["Duration"]), ("1", "1 (8 oz)", "100 %", "0 min"))
        self.button("Done")
        self.wait_until_hidden(".summary-card")
        self.assertTrue(tracker("session", "show")["sealed"])
        self.click(".past-row")
        self.wait("dialog .summary")
        self.assertFalse(self.all("dialog .timeline button"), "a sealed session is read-only")

    def test_sessions_that_end_elsewhere_are_listed_up_to_five(self):
        self.start()
        tracker("session", "end", "--yes")
        self.wait(".summary-card")
        self.assertFalse(self.one(".session-card").is_displayed())
        for _ in range(5):
            api("POST", "session")
            api("POST", "session/end", {})
        self.show()
        self.wait_for_count(".past-row", 5)
        self.wait_until_hidden(".idle-hint")

    def test_an_abandoned_session_asks_whether_it_continues(self):
        begun = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(hours=13, minutes=5)
        tracker("session", "start", "--now", begun.strftime("%Y-%m-%dT%H:%M:%SZ"))
        self.show(".abandoned")
        self.wait_for_text(".abandoned p", "Your session has been running for 13 hours. End it?")
        self.button("Keep Going")
        self.wait_until_hidden(".abandoned")
        self.assertIsNone(session()["abandonedHours"])

    def test_hidden_details_stay_hidden(self):
        self.start()
        self.assertEqual(self.driver.title, "Hydration")
        self.button("Hide details")
        self.wait_until_hidden(".gauge")
        self.wait_until_hidden(".timeline")
        self.show(".session-card")
        self.assertFalse(self.one(".gauge").is_displayed(), "it stays hidden")
