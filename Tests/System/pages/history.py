"""History (tracker spec D3): bars with goal lines, weeks by keys and swipes, the streak, the month's three classes, a day's drinks."""
import datetime

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from .browser import PageCase, api, log, settings, state


class History(PageCase):
    def setUp(self):
        super().setUp()
        self.today = datetime.date.fromisoformat(state()["dayKey"])

    def day(self, ago):
        return (self.today - datetime.timedelta(days=ago)).isoformat()

    def log_at(self, ml, day, time="12:00"):
        api("POST", "drinks", {"ml": ml, "at": f"{day}T{time}"})

    def show(self):
        self.open("/history", ".bar")
        self.wait(".month-day")

    def test_history_shows_week_and_year_in_the_selected_units(self):
        self.log_at(1800, self.day(2))
        log(600)
        self.show()
        self.wait(".year-card")
        self.wait_for_count(".year-bar", 12)
        # Three days since the first drink, the one between them without any.
        self.assertRegex(self.text(".year-card .week-sum"), r"^Average 800 ml a day · Best day 1,800 ml, ")
        week = api("GET", "history")["days"]
        bars = self.script("return [...document.querySelectorAll('.bar')].map(b => [b.dataset.day, b.dataset.class, !!b.querySelector('.bar-fill'), !!b.querySelector('.bar-goal')])")
        self.assertEqual(bars, [[each["day"], each["class"] or "future", each["totalMl"] is not None, bool(each["goalMl"])] for each in week])
        lines = self.script("return [...document.querySelectorAll('.bar-goal')].map(b => Math.round(b.getBoundingClientRect().top * 4))")
        self.assertEqual(len(set(lines)), 1, "one goal is one line, also over a day without a drink")
        heights = self.script("const b = document.querySelector('.bar.is-today'); return ['--fill', '--goal'].map(n => Number(b.style.getPropertyValue(n)))")
        self.assertAlmostEqual(heights[0] / heights[1], 600 / 2500, places=3)
        for units, words, amount in (("ml", "Bars in litres", "0.6"), ("oz", "Bars in ounces", "20")):
            settings(hydration__units=units)
            self.show()
            self.wait_for_text(".bars-in", words)
            self.wait_for_text(".is-today .bar-amount", amount)

    def test_keys_and_swipes_change_the_week(self):
        self.show()
        first = lambda: self.script("return document.querySelector('.bar').dataset.day")
        monday = first()
        before = (datetime.date.fromisoformat(monday) - datetime.timedelta(days=7)).isoformat()
        for key, expected in ((Keys.ARROW_LEFT, before), (Keys.ARROW_RIGHT, monday)):
            self.one(".bars button").send_keys(key)
            self.wait_for_value(first, expected)
        ActionChains(self.driver).move_to_element(self.one(".bars")).click_and_hold().move_by_offset(150, 5).release().perform()
        self.wait_for_value(first, before)
        self.assertFalse(self.one("[aria-label='Next week']").get_property("disabled"))

    def open_day(self, day, *times):
        """Opens the list of a day, and waits until it shows drinks of these times."""
        if day[:7] != self.today.isoformat()[:7]:
            self.click("[aria-label='Previous month']")
        self.click(f".month-day[data-day='{day}']")
        self.rows_say(*times)

    def rows_say(self, *times):
        self.wait_for_value(lambda: self.texts(".day-card .drinks time"), list(times))

    def correct(self, time, right):
        self.click(f".day-card button[aria-label^=Edit][aria-label$='{time}']")
        self.assertEqual(self.one("dialog input[type=time]").get_property("value"), time)
        self.type("dialog input[type=time]", right)
        self.button("Save", "dialog")
        self.wait_until_hidden("dialog")

    def test_history_shows_the_streak_the_month_and_the_drinks_of_a_day(self):
        for ago, amount, time in ((1, 2000, "12:00"), (1, 500, "12:30"), (2, 2000, "12:00"), (2, 700, "12:30"), (3, 300, "12:00")):
            self.log_at(amount, self.day(ago), time)
        self.show()
        self.wait_for_text(".streak strong", "2 days in a row")
        for ago, kind in ((1, "met"), (2, "met"), (3, "partial"), (4, "none")):
            if self.day(ago)[:7] == self.today.isoformat()[:7]:
                self.wait_for_value(lambda: self.script("return document.querySelector(`.month-day[data-day='${arguments[0]}']`)?.dataset.class", self.day(ago)), kind)
        self.open_day(self.day(1), "12:30", "12:00")
        self.wait_for_text(".day-sum", "2,500 ml of 2,500 ml")
        # An edit moves the day's sum.
        self.click(".day-card button[aria-label^=Edit]")
        self.type("dialog input[inputmode=decimal]", "200")
        self.button("Save", "dialog")
        self.wait_for_text(".day-sum", "2,200 ml of 2,500 ml")

    def test_litres_are_rounded_as_by_the_service(self):
        """As C does: 50 ml are 0.1, and 350 ml are 0.3."""
        self.show()
        expected = ["%.1f" % (amount / 1000) for amount in range(5001)]
        for language, comma in (("en", "."), ("de", ",")):
            self.set_language(language)
            self.show()
            bars = self.module("/format.js", "({ mlShort }) => Array.from({ length: 5001 }, (_, amount) => mlShort(amount))")
            self.assertEqual(bars, [text.replace(".", comma) for text in expected])
        watch = self.module("/texts-de.js", "({ default: t }) => Array.from({ length: 5001 }, (_, amount) => t.litres({ units: 'ml', dailyTotalMl: amount, dailyGoalMl: 5000 - amount }))")
        self.assertEqual(watch, [f"{text} L / {other} L".replace(".", ",") for text, other in zip(expected, reversed(expected))])

    def test_a_corrected_time_stays_in_its_day(self):
        self.log_at(250, self.day(2), "23:50")
        self.log_at(111, self.day(1), "00:20")
        self.show()
        self.open_day(self.day(2), "00:20", "23:50")
        for time, right, then in (("23:50", "00:10", ("00:20", "00:10")), ("00:20", "23:40", ("00:10", "23:40"))):
            self.correct(time, right)
            self.rows_say(*then)
        self.wait_for_text(".day-sum", "361 ml of 2,500 ml")

    def test_a_corrected_time_has_the_zone_of_its_drink(self):
        """21:30 in New York, corrected to 21:00 in Berlin, must not move by six hours."""
        settings(day__zone="America/New_York")
        day = self.day(3)
        self.log_at(250, day, "21:30")
        settings(day__zone="Europe/Berlin")
        self.today = datetime.date.fromisoformat(state()["dayKey"])
        self.show()
        self.open_day(day, "21:30")
        self.correct("21:30", "21:00")
        self.rows_say("21:00")
        drink = api("GET", f"history?day={day}")["drinks"][0]
        self.assertEqual((drink["zone"], drink["day"]), ("America/New_York", day))

    def test_a_page_that_shows_today_follows_to_the_next_day(self):
        marked = lambda: self.script("return [...document.querySelectorAll('.bar[aria-pressed=true], .month-day[aria-pressed=true]')].map(each => each.dataset.day)")
        today = lambda: self.script("return [...document.querySelectorAll('.is-today')].map(each => each.dataset.day)")
        settings(day__zone="Pacific/Pago_Pago")
        before = state()["dayKey"]
        self.show()
        self.wait_for_value(marked, [before, before])
        # East of the date line it is tomorrow, or the day after.
        settings(day__zone="Pacific/Kiritimati")
        after = state()["dayKey"]
        self.assertGreater(after, before)
        self.until(lambda: marked() == [after, after] == today(), "the page stays at the day before")
        # A page that shows another day stays there.
        self.click("[aria-label='Previous week']")
        self.until(lambda: marked()[:1] != [after] or len(marked()) == 1, "the week before is not shown")
        self.click(".bar")
        chosen = marked()[0]
        self.assertLess(chosen, before)
        settings(day__zone="Pacific/Pago_Pago")
        log(111)
        # On a Sunday the week before has the day before, in both views.
        self.until(lambda: set(today()) <= {before}, "the day before has not begun again")
        self.assertEqual(marked()[0], chosen)
