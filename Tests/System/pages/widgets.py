"""Pages to embed: a picture, lines of text, and buttons that log."""
from .browser import PageCase, tracker


class Widgets(PageCase):
    def lines(self):
        return self.script("return [...document.querySelectorAll('p')].map((e) => e.textContent)")

    def test_without_a_session_the_day_and_a_button_that_logs_a_cup(self):
        for amount in (100, 200, 300, 400):
            tracker("log", amount)
        self.open("/widget/large", "main svg")
        lines = self.lines()
        self.assertEqual(lines[0], "1.0L / 2.5L")
        self.assertRegex(lines[1], r"^Next drink in \d+ min$")
        self.assertEqual([line.split("  ")[1] for line in lines[2:]], ["400 ml", "300 ml", "200 ml"])
        self.button("+250 ml")
        self.totals(1250)
        self.until(lambda: self.lines()[0] == "1.2L / 2.5L", self.lines)
        # Loading the page again repeats nothing.
        self.driver.refresh()
        self.wait("main svg")
        self.assertEqual(self.total(), 1250)

    def test_in_a_session_its_entries_and_buttons(self):
        tracker("session", "start")
        tracker("drink", "Double")
        state = lambda: tracker("status")["waterline"]
        self.open("/widget/large", "main svg")
        self.assertRegex(" ".join(self.script("return [...document.querySelectorAll('svg text')].map((e) => e.textContent)")), r"\d\d:\d\d  Double 2")
        self.button("+ Drink")
        self.until(lambda: state()["drinks"] == 2, "a drink")
        self.button("+ Water")
        self.until(lambda: state()["waters"] == 1, "a water")

    def test_pictures_follow_the_colour_scheme(self):
        for dark, colour in ((False, "rgb(255, 255, 255)"), (True, "rgb(23, 37, 52)")):
            self.emulate(340, 340, dark)
            self.driver.get(self.script("return location.origin") + "/widget/small.svg")
            self.assertEqual(self.script("return getComputedStyle(document.querySelector('.card')).fill"), colour)
