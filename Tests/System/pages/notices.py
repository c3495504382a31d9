"""Notifications on an open page (tracker spec B7, C): each once, with its actions, removed when its reason is gone."""
from . import browser
from .browser import PageCase, api, log, session, set_hour, settings, state

# Every notification arrives twice, as after a lost connection. `shown` and `felt` are the notifications and vibrations, and `said` all texts
# about a deficit.
WATCH = """
    const Real = EventSource;
    window.EventSource = class extends Real {
      addEventListener(kind, use) { super.addEventListener(kind, kind === 'notify' ? event => { use(event); use(event); } : use); }
    };
    window.felt = [];
    Object.defineProperty(navigator, 'vibrate', {value: pattern => { felt.push(pattern); return true; }});
    window.shown = [];
    window.said = [];
    addEventListener('DOMContentLoaded', () => {
      new MutationObserver(changes => {
        for (const change of changes) for (const node of change.addedNodes) shown.push(node.dataset.kind);
      }).observe(document.getElementById('notices'), {childList: true});
      new MutationObserver(() => {
        for (const each of document.querySelectorAll('.behind, .headline')) if (each.checkVisibility() && each.textContent) said.push(each.textContent);
      }).observe(document.body, {childList: true, subtree: true, characterData: true});
    });"""
REMINDER = ".notice[data-kind=hydration-reminder]"


class Notices(PageCase):
    reminders = True

    def setUp(self):
        super().setUp()
        self.before_each_page(WATCH)

    def show(self, path="/", ready=".vessel"):
        self.open(path, ready)

    def remembered(self):
        """The state that the page has stored."""
        return self.script("return JSON.parse(localStorage.getItem('waterh.state'))?.state ?? {}")

    def test_an_opened_page_shows_each_due_notification_once(self):
        self.show()
        self.wait_for_text(f"{REMINDER} strong", "Hydration Reminder")
        self.assertIn("to catch up.", self.text(f"{REMINDER} p"))
        # A notification that arrives twice is shown once, and another page does not show it again.
        for total, shown in ((10, ["hydration-reminder"]), (20, [])):
            log(10)
            self.wait_for_match(".amount", f"^{total} ml")
            self.assertEqual(self.script("return shown"), shown)
            self.show()
        self.assertEqual(state()["remindersSent"], 1)

    def test_the_first_visit_shows_no_deficit_and_is_repeated_until_it_ends(self):
        browser.purge()
        set_hour(14)
        # A first visit that starts on another page gets the welcome on Today.
        self.open("/history", ".page-history")
        self.until(lambda: self.remembered().get("service", {}).get("setupDone") is False, "no state came")
        self.click("nav a[href='/']")
        for _ in range(2):
            self.wait(".page-welcome")
            log(10)
            total = state()["dailyTotalMl"]
            self.wait_for_value(lambda: self.remembered().get("dailyTotalMl"), total)
            self.assertEqual(self.script("return [shown, said]"), [[], []])
            self.show(ready=".page-welcome")
        self.assertEqual(state()["remindersSent"], 0)
        self.button("Skip")
        self.wait(REMINDER)
        self.click("nav a[href='/history']")
        self.wait(".page-history")
        self.driver.back()
        self.wait(".vessel")
        self.assertFalse(self.all(".page-welcome"), "it comes once")

    def test_without_a_connection_the_remembered_state_is_shown(self):
        browser.purge()
        set_hour(14)
        self.show(ready=".page-welcome")
        self.until(lambda: self.remembered().get("service", {}).get("setupDone") is False, "nothing is remembered")
        self.before_each_page("""
            const real = fetch;
            window.fetch = async (path, options) => { if (String(path).includes('/api/v1/')) throw new TypeError('away'); return real(path, options); };
            window.EventSource = class extends EventTarget { close() {} };""")
        self.show(ready=".vessel")

    def test_the_action_of_a_reminder_logs_one_cup(self):
        settings(hydration__cupMl=330)
        self.show()
        self.button("Log a cup", REMINDER)
        self.totals(330)
        self.wait_until_hidden(REMINDER)
        self.wait_for_text(".amount", "330 ml / 2,500 ml")
        self.assertEqual(state()["drinkCount"], 1)

    def test_the_goal_closes_a_reminder_and_an_undo_closes_the_goal_message(self):
        self.show()
        self.wait(REMINDER)
        log(2000, 500)
        self.wait_until_hidden(REMINDER)
        self.wait(".notice[data-kind=hydration-goal-reached]")
        api("POST", "undo")
        self.wait_until_hidden(".notice[data-kind=hydration-goal-reached]")

    def test_a_nudge_vibrates_and_logs_one_water(self):
        settings(reminders__enabled=False, waterline__timeReminders=False)
        for path, ready in (("/waterline", ".session-card"), ("/watch", ".watch-litres")):
            with self.subTest(path=path):
                api("POST", "session")
                self.show(path, ready)
                self.button("+ Drink")
                self.button("Beer", "dialog")
                self.button("Log Water", ".notices .notice[data-kind=waterline-per-drink]")
                self.wait_for_value(lambda: session()["waters"], 1)
                self.wait_for_count(".notices .notice", 0)
                self.assertEqual(self.script("return shown.filter(kind => kind === 'waterline-per-drink').length"), 1)
                self.assertIn([80, 60, 80], self.script("return felt"))
                self.assertEqual(session()["waters"], 1)
                api("POST", "session/end", {})
