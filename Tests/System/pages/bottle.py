"""The bottle's page: why, polls, and commands with the bottle's own answer."""
from .browser import PageCase


class Bottle(PageCase):
    reminders = True

    def test_why_explains_each_kind(self):
        self.open("/bottle", ".why details")
        self.assertGreaterEqual(len(self.all(".why details")), 5)
        self.assertIn(self.text("[data-kind=pace] .why-kind strong"), ("comes", "silent"))
        self.click("[data-kind=pace] summary")
        self.wait("[data-kind=pace] .conditions li")
        self.type(".why-form input", "23:00")
        self.button("Explain")
        self.until(lambda: "22:00" in self.text("[data-kind=pace] .why-fact"), lambda: f"quiet hours: {self.text('[data-kind=pace] .why-fact')}")

    def test_every_command_stands_with_its_answer(self):
        self.open("/bottle", ".command")
        names = self.script("return [...document.querySelectorAll('.command')].map(e => e.dataset.command)")
        self.assertEqual(names, ["goal", "clock", "reminder", "light", "amount", "flash", "recalibrate"])
        self.button("Flash")
        answer = lambda: self.text("[data-command=flash] .answer")
        # The bottle's answer, or the sentence that says why there is none.
        self.until(lambda: answer() and answer() != "Asking the bottle…", "no answer")
        self.button("Recalibrate", "[data-command=recalibrate]")
        self.wait("dialog")
        self.button("Cancel", "dialog")
        self.assertEqual(self.text("[data-command=recalibrate] .answer"), "")

    def test_check_now_ends_in_a_line_of_the_polls(self):
        self.open("/bottle", ".bottle-line button")
        self.button("Check now")
        self.until(lambda: self.one(".bottle-line button").is_enabled(), "the check does not end")
        self.wait(".polls li")
        self.assertGreater(len(self.text(".polls li .row-text")), 3)
