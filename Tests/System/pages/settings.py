"""Settings (tracker spec A11), the first visit (E8), presets, tokens, reset and purge."""
from . import browser
from .browser import PageCase, tracker


class Settings(PageCase):
    def show(self):
        self.open("/settings", ".group")
        self.wait("[data-group=account]")
        self.script("document.querySelectorAll('details').forEach((each) => { each.open = true; })")

    def setting(self, name):
        return tracker("settings", "get", name)[name]

    def becomes(self, name, wanted):
        self.until(lambda: self.setting(name) == wanted, lambda: f"{name} is {self.setting(name)}, not {wanted}")

    def note_changes(self):
        """`sent` has the bodies of the changes that the page sends."""
        self.script("window.sent = []; const real = fetch; window.fetch = (path, options) => { if (options?.method === 'PATCH') sent.push(JSON.parse(options.body)); return real(path, options); }")

    def field(self, name):
        return f"[data-setting='{name}']"

    def test_every_setting_is_shown_with_its_text(self):
        self.show()
        shown = set(self.script("return [...document.querySelectorAll('[data-setting]')].map(e => e.dataset.setting)"))
        self.assertEqual(set(tracker("settings", "get")) - shown, {"hydration.goalMl", "schedule.wake", "schedule.sleep"}, "those three are in the form of the goal")
        self.assertEqual(self.script("return [...document.querySelectorAll('.setting[class*=\" \"] small')].filter(e => e.textContent.trim().length < 8).length"), 0)

    def test_groups_are_closed_at_first_and_connections_come_last(self):
        self.emulate(360, 740)
        self.open("/settings", "[data-group=account]")
        names = self.script("return [...document.querySelectorAll('.groups > details')].map((e) => [e.dataset.group, e.open])")
        self.assertEqual([name for name, is_open in names if is_open], [])
        self.assertEqual([name for name, _ in names][-6:], ["health", "ntfy", "webhook", "http", "sync", "mqtt"])
        self.assertLess(self.script("return document.documentElement.scrollHeight"), 2600)
        # An address can name a group.
        self.open("/settings#reminders", "[data-setting='reminders.engine']")

    def test_a_goal_is_rounded_up_to_glasses(self):
        tracker("settings", "set", "hydration.goalMl", 1700)
        self.open("/", ".halo-label")
        self.says(".halo-label", "0/9")
        self.show()
        glasses = lambda: self.one(".goal-card input").get_property("value")
        self.assertEqual(glasses(), "9")
        self.click(".goal-card [aria-label=Less]")
        self.says(".goal-total", "1,600 ml total · 1.6 L")
        self.assertEqual(glasses(), "8")

    def notifications(self, permission, event):
        """A browser with this permission, in which a notification has this event."""
        self.before_each_page("""
            window.Notification = class {
              static permission = 'default';
              static requestPermission() { this.permission = '%s'; return Promise.resolve(this.permission); }
              constructor(title, options) { shown.push([title, options.body]); setTimeout(() => this['on%s']?.()); }
              close() {}
            };
            window.shown = [];""" % (permission, event))
        self.show()
        self.click(self.field("reminders.enabled"))

    def test_switching_reminders_on_shows_one_test_notification_and_says_so(self):
        for permission, event, words, count in (("granted", "show", "A test notification was shown.", 1), ("granted", "error", "was not shown", 1), ("denied", "show", "Notifications disabled", 0)):
            with self.subTest(permission=permission, event=event):
                tracker("settings", "set", "reminders.enabled", "false")
                self.notifications(permission, event)
                self.until(lambda: words in (self.text(".toast") or ""), lambda: f"it says {self.text('.toast')}")
                self.assertEqual(len([each for each in self.script("return shown") if "Test" in each[1]]), count)

    def test_a_change_is_saved_at_once_and_a_rejected_one_shows_its_rule(self):
        self.show()
        self.type(self.field("hydration.glassMl"), "300")
        self.becomes("hydration.glassMl", 300)
        self.type(self.field("hydration.glassMl"), "5000")
        error = lambda: self.script("return document.querySelector(arguments[0]).closest('.setting').querySelector('[role=alert]').textContent", self.field("hydration.glassMl"))
        self.until(lambda: "from 50 to 1000" in error(), lambda: f"the rule: {error()!r}")
        self.assertEqual(self.setting("hydration.glassMl"), 300)
        self.assertEqual(self.one(self.field("hydration.glassMl")).get_attribute("aria-invalid"), "true")
        self.click(self.field("reminders.backOnTrack"))
        self.becomes("reminders.backOnTrack", True)
        for name, typed, value in (("reminders.engine", "adaptive", "adaptive"), ("hydration.quickAddMl", "50, 60", [50, 60]),
                                   ("schedule.adaptive.start", "9", 9), ("schedule.adaptive.start", "", None)):
            self.type(self.field(name), typed)
            self.becomes(name, value)

    def test_cancel_changes_nothing(self):
        self.show()
        self.click(".goal-card [aria-label=More]")
        self.says(".goal-total", "2,600 ml total · 2.6 L")
        self.button("Cancel", ".goal-card")
        self.says(".goal-total", "2,500 ml total · 2.5 L")
        self.assertEqual(self.setting("hydration.goalMl"), 2500)

    def test_save_sends_only_what_was_edited(self):
        tracker("settings", "set", "hydration.goalMl", 1700)
        self.show()
        self.assertEqual(self.one(".goal-card input").get_property("value"), "9")
        self.says(".goal-total", "1,700 ml total · 1.7 L")
        self.note_changes()
        self.button("Save", ".goal-card")
        self.wait(".goal-card .saved")
        self.assertEqual(self.script("return sent"), [])
        self.assertEqual(self.setting("hydration.goalMl"), 1700)

        self.type(".goal-card select", "08:15")
        self.button("Save", ".goal-card")
        self.becomes("schedule.wake", "08:15")
        self.assertEqual(self.script("return sent"), [{"schedule.wake": "08:15"}])
        self.assertEqual(self.setting("hydration.goalMl"), 1700)
        self.click(".goal-card [aria-label=More]")
        self.button("Save", ".goal-card")
        self.becomes("hydration.goalMl", 1800)

    def test_presets(self):
        self.show()
        self.button("New preset")
        self.type("dialog input[type=text]", "Radler")
        self.type("dialog .field:nth-of-type(3) input", "16")
        self.button("Save", "dialog")
        named = lambda: {each["name"]: each for each in tracker("preset", "list")["presets"]}
        self.until(lambda: "Radler" in named(), "made")
        self.assertEqual(named()["Radler"]["sizeOz"], 16)
        self.click("[aria-label='Edit: Radler']")
        self.type("dialog input[type=text]", "Alster")
        self.button("Save", "dialog")
        self.until(lambda: "Alster" in named() and "Radler" not in named(), "changed")
        self.assertEqual(named()["Alster"]["sizeOz"], 16)
        self.click("[aria-label='Edit: Alster']")
        self.type("dialog .field:nth-of-type(3) input", "")
        self.button("Save", "dialog")
        self.until(lambda: named()["Alster"].get("sizeOz") is None, "the size is unset")
        self.click("[aria-label='Delete: Alster']")
        self.button("Delete", "dialog")
        self.until(lambda: "Alster" not in named(), "deleted")

    def test_tokens(self):
        self.show()
        self.button("New token")
        self.type("dialog input[type=text]", "kitchen script")
        self.button("Create", "dialog")
        token = self.wait("dialog input.secret").get_property("value")
        self.assertGreater(len(token), 16)
        self.button("Close", "dialog:has(input.secret)")
        open_tokens = lambda: [each["label"] for each in tracker("token", "list")["tokens"] if not each["isRevoked"]]
        self.assertIn("kitchen script", open_tokens())
        self.assertIn("view and log", self.script("return document.querySelector(`[aria-label='Revoke: kitchen script']`).closest('li').textContent"), "its scope is not shown")
        self.click("[aria-label='Revoke: kitchen script']")
        self.button("Revoke", "dialog")
        self.until(lambda: "kitchen script" not in open_tokens(), "revoked")

    def test_a_phone_without_access_to_settings_gets_no_first_visit(self):
        browser.purge()
        self.answer_with("/api/v1/access", "{ scope: 'log' }")
        self.open("/", ".page-today .vessel")
        self.click(".vessel")
        self.totals(250)
        self.assertFalse(self.driver.current_url.endswith("/welcome"))

    def test_every_rule_has_a_german_text(self):
        self.show()
        self.speak("de")
        self.show()
        said = self.module("/texts.js", "({ said }) => fetch('/api/v1/settings/catalogue').then((answer) => answer.json()).then((entries) => entries.map(({ name, rule }) => [name, rule, said(rule)]))")
        self.assertGreater(len(said), 60)
        for name, rule, german in said:
            self.assertNotEqual(german, rule, name)
            for word in (" must ", " unset", " from ", "o'clock", "hours", "steps"):
                self.assertNotIn(word, german, name)

    def test_a_button_that_is_pressed_twice_acts_once(self):
        self.show()
        self.script("""
            const real = fetch; window.held = []; window.posts = 0;
            window.fetch = async (path, options) => {
              if (options?.method === 'POST') { posts += 1; await new Promise((resolve) => held.push(resolve)); }
              return real(path, options);
            };""")
        self.button("New token")
        self.type("dialog input[type=text]", "pressed twice")
        self.script("const make = document.querySelector('dialog button[type=submit]'); make.click(); make.click();")
        self.until(lambda: self.script("return window.posts") == 1, "nothing is sent")
        self.script("document.querySelector('dialog button[type=submit]').click(); for (const go of held) go();")
        self.wait("dialog input.secret")
        self.button("Close", "dialog:has(input.secret)")
        self.assertEqual(self.script("return window.posts"), 1)
        self.assertEqual([each["label"] for each in tracker("token", "list")["tokens"]].count("pressed twice"), 1)

    def test_reset_today_asks_first(self):
        tracker("log", 500)
        self.show()
        self.button("Reset today", "[data-group=account]")
        self.button("Cancel", "dialog")
        self.assertEqual(self.total(), 500)
        self.button("Reset today", "[data-group=account]")
        self.button("Reset today", "dialog")
        self.totals(0)

    def test_the_welcome_keeps_what_was_typed_before_the_settings_arrived(self):
        self.before_each_page("""
            const real = fetch;
            window.fetch = async (path, options) => {
              if (String(path).endsWith('/settings')) await new Promise((go) => { window.release = go; });
              return real(path, options);
            };""")
        browser.purge()
        tracker("settings", "set", "waterline.intervalMinutes", 30)
        self.open("/welcome", ".page-welcome")
        self.type("main input[type=number]", "2200")
        self.until(lambda: self.script("return typeof window.release") == "function", "the settings are asked for")
        self.script("window.release()")
        interval = lambda: self.script("return document.querySelector('main select').value")
        self.until(lambda: interval() == "30", "the settings came")
        self.button("Skip")
        self.wait(".vessel")
        self.assertEqual(self.setting("hydration.goalMl"), 2200)

    def test_purge_requires_its_word_and_the_first_visit_follows(self):
        tracker("log", 500)
        self.show()
        self.button("Delete everything")
        self.type("dialog input", "yes")
        self.button("Delete everything", "dialog")
        self.wait("dialog .error")
        self.assertEqual(self.total(), 500)
        self.type("dialog input", "purge")
        self.button("Delete everything", "dialog")
        self.wait(".page-welcome")
        words = self.one("main").text
        self.assertIn("Waterline helps you pace and drink less by adding water breaks.", words)
        self.assertIn("This is a pacing tool. It does not estimate intoxication or guarantee how you'll feel tomorrow.", words)
        self.assertIn("Waterline sends gentle reminders to drink water during your session. Allow notifications to get pacing nudges.", words)
        self.type("main input[type=number]", "2200")
        self.button("Skip")
        self.wait(".vessel")
        self.assertEqual(self.setting("hydration.goalMl"), 2200)
        self.open("/", ".vessel")
        self.says(".amount", "0 ml / 2,200 ml")
        self.assertFalse(self.all(".page-welcome"), "once")
