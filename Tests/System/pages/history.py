"""History (tracker spec D3): bars with goal lines, weeks by keys and swipes, the streak, the month's three classes, a day's drinks."""
import datetime

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from .browser import PageCase, tracker


class History(PageCase):
    def setUp(self):
        super().setUp()
        self.today = datetime.date.fromisoformat(tracker("status")["dayKey"])

    def day(self, ago):
        return (self.today - datetime.timedelta(days=ago)).isoformat()

    def show(self):
        self.open("/history", ".bar")
        self.wait(".month-day")

    def test_twelve_months_with_average_and_best_day(self):
        tracker("log", 1800, "--at", f"{self.day(2)}T12:00")
        tracker("log", 600)
        self.show()
        self.wait(".year-card")
        self.assertEqual(len(self.all(".year-bar")), 12)
        # Three days since the first drink, the one between them without any.
        self.assertRegex(self.text(".year-card .week-sum"), r"^Average 800 ml a day · Best day 1,800 ml, ")

    def test_seven_bars_with_goal_lines_and_none_for_days_to_come(self):
        tracker("log", 1000)
        self.show()
        week = tracker("history")["days"]
        bars = self.script("return [...document.querySelectorAll('.bar')].map(b => [b.dataset.day, b.dataset.class, !!b.querySelector('.bar-fill'), !!b.querySelector('.bar-goal')])")
        self.assertEqual([bar[:2] for bar in bars], [[each["day"], each["class"] or "future"] for each in week])
        for bar, each in zip(bars, week):
            self.assertEqual(bar[2:], [each["totalMl"] is not None, bool(each["goalMl"])])
        lines = self.script("return [...document.querySelectorAll('.bar-goal')].map(b => Math.round(b.getBoundingClientRect().top * 4))")
        self.assertEqual(len(set(lines)), 1, "one goal is one line, also over a day without a drink")
        heights = self.script("const b = document.querySelector('.bar.is-today'); return ['--fill', '--goal'].map(n => Number(b.style.getPropertyValue(n)))")
        self.assertAlmostEqual(heights[0] / heights[1], 1000 / 2500, places=3)

    def test_weeks_by_keys_and_by_swipe(self):
        self.show()
        first = lambda: self.script("return document.querySelector('.bar').dataset.day")
        monday = first()
        before = (datetime.date.fromisoformat(monday) - datetime.timedelta(days=7)).isoformat()
        self.one(".bars button").send_keys(Keys.ARROW_LEFT)
        self.until(lambda: first() == before, "the arrow key")
        self.one(".bars button").send_keys(Keys.ARROW_RIGHT)
        self.until(lambda: first() == monday, "and back")
        bars = self.one(".bars")
        ActionChains(self.driver).move_to_element(bars).click_and_hold().move_by_offset(150, 5).release().perform()
        self.until(lambda: first() == before, "the swipe")
        self.assertFalse(self.one("[aria-label='Next week']").get_property("disabled"))

    def test_streak_month_and_a_days_drinks(self):
        for ago, amount in ((1, 2000), (1, 500), (2, 2000), (2, 700), (3, 300)):
            tracker("log", amount, "--at", f"{self.day(ago)}T12:00")
        self.show()
        self.says(".streak strong", "2 days in a row")
        for ago, kind in ((1, "met"), (2, "met"), (3, "partial"), (4, "none")):
            if self.day(ago)[:7] == self.today.isoformat()[:7]:
                self.until(lambda: self.script("return document.querySelector(`.month-day[data-day='${arguments[0]}']`)?.dataset.class", self.day(ago)) == kind, f"{ago} days ago is not {kind}")
        if self.day(1)[:7] != self.today.isoformat()[:7]:
            self.click("[aria-label='Previous month']")
        self.click(f".month-day[data-day='{self.day(1)}']")
        self.says(".day-sum", "2,500 ml of 2,500 ml")
        self.until(lambda: len(self.all(".day-card .drinks li")) == 2, "its two drinks")

    def test_bars_are_labelled_in_the_units_of_the_user(self):
        tracker("log", 1500)
        self.show()
        label = lambda: self.text(".is-today .bar-amount")
        self.says(".bars-in", "Bars in litres")
        self.until(lambda: label() == "1.5", lambda: f"litres: {label()}")
        tracker("settings", "set", "hydration.units", "oz")
        self.show()
        self.says(".bars-in", "Bars in ounces")
        self.until(lambda: label() == "51", lambda: f"ounces: {label()}")

    def test_litres_are_rounded_as_by_the_service(self):
        """As C does: 50 ml are 0.1, and 350 ml are 0.3."""
        tracker("log", 350)
        self.show()
        wanted = ["%.1f" % (amount / 1000) for amount in range(5001)]
        self.assertEqual(tracker("status")["litresText"], f"{wanted[350]}L / {wanted[2500]}L")
        for language, comma in (("en", "."), ("de", ",")):
            self.speak(language)
            self.show()
            bars = self.module("/format.js", "({ mlShort }) => Array.from({ length: 5001 }, (_, amount) => mlShort(amount))")
            self.assertEqual(bars, [text.replace(".", comma) for text in wanted])
        watch = self.module("/texts-de.js", "({ default: t }) => Array.from({ length: 5001 }, (_, amount) => t.litres({ units: 'ml', dailyTotalMl: amount, dailyGoalMl: 5000 - amount }))")
        self.assertEqual(watch, [f"{text} L / {other} L".replace(".", ",") for text, other in zip(wanted, reversed(wanted))])

    def open_day(self, day, *times):
        """Opens the list of a day, and waits until it shows drinks of these times."""
        if day[:7] != self.today.isoformat()[:7]:
            self.click("[aria-label='Previous month']")
        self.click(f".month-day[data-day='{day}']")
        self.rows_say(*times)

    def correct(self, time, right):
        self.click(f".day-card button[aria-label^=Edit][aria-label$='{time}']")
        self.assertEqual(self.one("dialog input[type=time]").get_property("value"), time)
        self.type("dialog input[type=time]", right)
        self.button("Save", "dialog")
        self.gone("dialog")

    def rows_say(self, *times):
        rows = lambda: self.texts(".day-card .drinks time")
        self.until(lambda: rows() == list(times), lambda: f"the list says {rows()}, not {times}")

    def test_a_corrected_time_stays_in_its_day(self):
        day, next_day = self.day(2), self.day(1)
        tracker("log", 250, "--at", f"{day}T23:50")
        tracker("log", 111, "--at", f"{next_day}T00:20")
        self.show()
        self.open_day(day, "00:20", "23:50")
        for time, right, then in (("23:50", "00:10", ("00:20", "00:10")), ("00:20", "23:40", ("00:10", "23:40"))):
            self.correct(time, right)
            self.rows_say(*then)
        self.says(".day-sum", "361 ml of 2,500 ml")

    def test_a_page_that_shows_today_follows_to_the_next_day(self):
        marked = lambda: self.script("return [...document.querySelectorAll('.bar[aria-pressed=true], .month-day[aria-pressed=true]')].map(each => each.dataset.day)")
        begun = lambda: self.script("return [...document.querySelectorAll('.is-today')].map(each => each.dataset.day)")
        tracker("settings", "set", "day.zone", "Pacific/Pago_Pago")
        before = tracker("status")["dayKey"]
        self.show()
        self.until(lambda: marked() == [before, before], "today is not chosen")
        # East of the date line it is tomorrow, or the day after.
        tracker("settings", "set", "day.zone", "Pacific/Kiritimati")
        after = tracker("status")["dayKey"]
        self.assertGreater(after, before)
        self.until(lambda: marked() == [after, after] and begun() == [after, after], "the page stays at the day before")
        # A page that shows another day stays there.
        self.click("[aria-label='Previous week']")
        self.until(lambda: marked()[:1] != [after] or len(marked()) == 1, "the week before is not shown")
        self.click(".bar")
        chosen = marked()[0]
        self.assertLess(chosen, before)
        tracker("settings", "set", "day.zone", "Pacific/Pago_Pago")
        tracker("log", 111)
        self.until(lambda: begun() in ([], [before]) , "the day before has not begun again")
        self.assertEqual(marked()[0], chosen)

    def test_a_corrected_time_has_the_zone_of_its_drink(self):
        """21:30 in New York, corrected to 21:00 in Berlin, must not move by six hours."""
        tracker("settings", "set", "day.zone", "America/New_York")
        day = self.day(3)
        tracker("log", 250, "--at", f"{day}T21:30")
        tracker("settings", "set", "day.zone", "Europe/Berlin")
        self.today = datetime.date.fromisoformat(tracker("status")["dayKey"])
        self.show()
        self.open_day(day, "21:30")
        self.correct("21:30", "21:00")
        self.rows_say("21:00")
        drink = self.driver.execute_async_script("fetch(`/api/v1/history?day=${arguments[0]}`).then(a => a.json()).then(a => arguments[1](a.drinks))", day)[0]
        self.assertEqual((drink["zone"], drink["day"]), ("America/New_York", day))

    def test_an_edit_of_another_day_moves_its_bar(self):
        ago = 1 if self.today.weekday() > 0 else 0
        tracker("log", 300, "--at", f"{self.day(ago)}T12:00" if ago else "13:00")
        self.show()
        self.click(f".bar[data-day='{self.day(ago)}']")
        self.click(".day-card button[aria-label^=Edit]")
        self.type("dialog input[inputmode=decimal]", "2000")
        self.button("Save", "dialog")
        self.says(".day-sum", "2,000 ml of 2,500 ml")
        self.until(lambda: "2,000 ml of" in (self.one(f".bar[data-day='{self.day(ago)}']").get_attribute("aria-label") or ""), "the bar")
