"""Notifications on an open page (tracker spec B7, C): each once, with its actions, removed when its reason is gone."""
from . import browser
from .browser import PageCase, tracker

# Every notification arrives twice, as after a lost connection; vibrations are noted.
TWICE = """
    const Real = EventSource;
    window.EventSource = class extends Real {
      addEventListener(kind, use) { super.addEventListener(kind, kind === 'notify' ? event => { use(event); use(event); } : use); }
    };
    window.felt = [];
    Object.defineProperty(navigator, 'vibrate', {value: pattern => { felt.push(pattern); return true; }});
    window.shown = [];
    addEventListener('DOMContentLoaded', () => new MutationObserver(changes => {
      for (const change of changes) for (const node of change.addedNodes) shown.push(node.dataset.kind);
    }).observe(document.getElementById('notices'), {childList: true}));
"""
REMINDER = ".notice[data-kind=hydration-reminder]"


class Notices(PageCase):
    reminders = True

    def setUp(self):
        super().setUp()
        self.before_each_page(TWICE)

    def show(self, path="/", ready=".vessel"):
        self.open(path, ready)

    def test_an_opened_page_shows_once_what_is_due(self):
        self.show()
        self.wait(REMINDER)
        self.says(f"{REMINDER} strong", "Hydration Reminder")
        self.assertIn("to catch up.", self.text(f"{REMINDER} p"))
        tracker("log", 10)
        self.until(lambda: (self.text(".amount") or "").startswith("10 ml"), "the state")
        self.assertEqual(self.script("return shown"), ["hydration-reminder"], "a notification that comes twice is shown once")
        self.assertEqual(tracker("status")["remindersSent"], 1)
        # Another page does not show it again.
        self.open("/", ".vessel")
        tracker("log", 10)
        self.until(lambda: (self.text(".amount") or "").startswith("20 ml"), "the state")
        self.assertEqual(self.script("return shown"), [])

    def watch_for_behind(self):
        """`said` has all texts about a deficit that a page showed, from its start on."""
        self.before_each_page("""
            window.said = [];
            addEventListener('DOMContentLoaded', () => new MutationObserver(() => {
              for (const each of document.querySelectorAll('.behind, .headline')) if (each.checkVisibility() && each.textContent) said.push(each.textContent);
            }).observe(document.body, {childList: true, subtree: true, characterData: true}));""")

    def test_no_deficit_is_shown_before_the_welcome(self):
        browser.purge()
        self.hour(14)
        self.watch_for_behind()
        self.show(ready=".page-welcome")
        # Nor with a later state.
        tracker("log", 10)
        self.until(lambda: self.script("return JSON.parse(localStorage.getItem('waterh.state')).state.dailyTotalMl") == 10, "the state")
        self.assertEqual(self.script("return [shown, said]"), [[], []])
        self.assertEqual(tracker("status")["remindersSent"], 0)
        self.button("Skip")
        self.wait(REMINDER)

    def leave_the_first_visit(self):
        browser.purge()
        self.hour(14)
        self.show(ready=".page-welcome")
        self.until(lambda: self.script("return JSON.parse(localStorage.getItem('waterh.state'))?.state.service.setupDone === false"), "nothing is remembered")

    def test_an_interrupted_first_visit_is_repeated(self):
        self.leave_the_first_visit()
        self.watch_for_behind()
        self.show(ready=".page-welcome")
        self.assertEqual(self.script("return [shown, said]"), [[], []])
        self.button("Skip")
        self.wait(".vessel")
        # Asked once.
        self.show(ready=".vessel")
        self.assertFalse(self.all(".page-welcome"))

    def test_a_first_visit_that_starts_on_another_page_gets_the_welcome_on_today(self):
        browser.purge()
        self.hour(14)
        self.watch_for_behind()
        self.open("/history", ".page-history")
        self.until(lambda: self.script("return JSON.parse(localStorage.getItem('waterh.state'))?.state.service.setupDone === false"), "no state came")
        self.click("nav a[href='/']")
        self.wait(".page-welcome")
        self.assertEqual(self.script("return [shown, said]"), [[], []])
        self.button("Skip")
        self.wait(".vessel")
        self.click("nav a[href='/history']")
        self.wait(".page-history")
        self.driver.back()
        self.wait(".vessel")
        self.assertFalse(self.all(".page-welcome"), "asked once")

    def test_without_a_connection_the_remembered_state_is_shown(self):
        self.leave_the_first_visit()
        self.before_each_page("""
            const real = fetch;
            window.fetch = async (path, options) => { if (String(path).includes('/api/v1/')) throw new TypeError('away'); return real(path, options); };
            window.EventSource = class extends EventTarget { close() {} };""")
        self.show(ready=".vessel")

    def test_its_action_logs_one_cup(self):
        tracker("settings", "set", "hydration.cupMl", 330)
        self.show()
        self.button("Log a cup", REMINDER)
        self.totals(330)
        self.gone(REMINDER)
        self.says(".amount", "330 ml / 2,500 ml")
        self.assertEqual(tracker("status")["drinkCount"], 1)

    def test_the_goal_closes_it_and_an_undo_closes_the_message_about_the_goal(self):
        self.show()
        self.wait(REMINDER)
        for amount in (2000, 500):
            tracker("log", amount)
        self.gone(REMINDER)
        self.wait(".notice[data-kind=hydration-goal-reached]")
        tracker("undo")
        self.gone(".notice[data-kind=hydration-goal-reached]")

    def test_a_nudge_vibrates_and_logs_one_water(self):
        for path, ready in (("/waterline", ".session-card"), ("/watch", ".watch-litres")):
            with self.subTest(path=path):
                tracker("settings", "set", "reminders.enabled", "false", "waterline.timeReminders", "false")
                tracker("session", "start")
                self.show(path, ready)
                self.button("+ Drink")
                self.button("Beer", "dialog")
                self.button("Log Water", ".notices .notice[data-kind=waterline-per-drink]")
                self.until(lambda: tracker("status")["waterline"]["waters"] == 1, "one water")
                self.until(lambda: not self.all(".notices .notice"), "put away")
                self.assertEqual(self.script("return shown.filter(kind => kind === 'waterline-per-drink').length"), 1)
                self.assertIn([80, 60, 80], self.script("return felt"))
                self.assertEqual(tracker("status")["waterline"]["waters"], 1)
                tracker("session", "end", "--yes")
