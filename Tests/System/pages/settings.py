"""Settings (tracker spec A11), the first visit (E8), presets, tokens, reset and purge."""
from . import browser
from .browser import PageCase, api, log, settings, state


class Settings(PageCase):
    def show(self):
        self.open("/settings", ".group")
        self.wait("[data-group=account]")
        self.script("document.querySelectorAll('details').forEach((each) => { each.open = true; })")

    def setting(self, name):
        return api("GET", f"settings/{name}")[name]

    def saved(self, name, expected):
        self.wait_for_value(lambda: self.setting(name), expected)

    def field(self, name):
        return f"[data-setting='{name}']"

    def test_every_setting_is_shown_and_groups_are_closed_at_first(self):
        self.emulate(360, 740)
        self.open("/settings", "[data-group=account]")
        names = self.script("return [...document.querySelectorAll('.groups > details')].map((e) => [e.dataset.group, e.open])")
        self.assertEqual([name for name, is_open in names if is_open], [])
        self.assertEqual([name for name, _ in names][-6:], ["health", "ntfy", "webhook", "http", "sync", "mqtt"])
        self.show()
        shown = set(self.script("return [...document.querySelectorAll('[data-setting]')].map(e => e.dataset.setting)"))
        self.assertEqual(set(api("GET", "settings")) - shown, {"hydration.goalMl", "schedule.wake", "schedule.sleep"}, "those three are in the form of the goal")
        self.assertEqual(self.script("return [...document.querySelectorAll('.setting[class*=\" \"] small')].filter(e => e.textContent.trim().length < 8).length"), 0)
        # An address can name a group.
        self.open("/settings#reminders", self.field("reminders.engine"))

    def test_the_goal_is_shown_in_glasses_and_saved_only_if_it_was_edited(self):
        settings(hydration__goalMl=1700)
        self.open("/", ".halo-label")
        self.wait_for_text(".halo-label", "0/9")
        self.show()
        self.assertEqual(self.one(".goal-card input").get_property("value"), "9")
        self.wait_for_text(".goal-total", "1,700 ml total · 1.7 L")
        self.script("window.sent = []; const real = fetch; window.fetch = (path, options) => { if (options?.method === 'PATCH') sent.push(JSON.parse(options.body)); return real(path, options); }")
        self.button("Save", ".goal-card")
        self.wait(".goal-card .saved")
        self.assertEqual(self.script("return sent"), [])
        self.type(".goal-card select", "08:15")
        self.button("Save", ".goal-card")
        self.saved("schedule.wake", "08:15")
        self.assertEqual(self.script("return sent"), [{"schedule.wake": "08:15"}])
        self.click(".goal-card [aria-label=Less]")
        self.wait_for_text(".goal-total", "1,600 ml total · 1.6 L")
        self.button("Cancel", ".goal-card")
        self.wait_for_text(".goal-total", "1,700 ml total · 1.7 L")
        self.assertEqual(self.setting("hydration.goalMl"), 1700)
        self.click(".goal-card [aria-label=More]")
        self.button("Save", ".goal-card")
        self.saved("hydration.goalMl", 1800)

    def test_enabling_reminders_shows_one_test_notification_and_reports_it(self):
        for permission, event, words, count in (("granted", "show", "A test notification was shown.", 1), ("granted", "error", "was not shown", 1), ("denied", "show", "Notifications disabled", 0)):
            with self.subTest(permission=permission, event=event):
                settings(reminders__enabled=False)
                # A browser with this permission, in which a notification has this event.
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
                self.wait_for_match(".toast", words)
                self.assertEqual(len([each for each in self.script("return shown") if "Test" in each[1]]), count)

    def test_a_change_is_saved_at_once_and_a_rejected_one_shows_its_rule(self):
        self.show()
        for name, typed, value in (("hydration.glassMl", "300", 300), ("reminders.engine", "adaptive", "adaptive"), ("hydration.quickAddMl", "50, 60", [50, 60]),
                                   ("schedule.adaptive.start", "9", 9), ("schedule.adaptive.start", "", None)):
            self.type(self.field(name), typed)
            self.saved(name, value)
        self.click(self.field("reminders.backOnTrack"))
        self.saved("reminders.backOnTrack", True)
        self.type(self.field("hydration.glassMl"), "5000")
        self.wait_for_match(f".setting:has({self.field('hydration.glassMl')}) [role=alert]", "from 50 to 1000")
        self.assertEqual(self.one(self.field("hydration.glassMl")).get_attribute("aria-invalid"), "true")
        self.assertEqual(self.setting("hydration.glassMl"), 300)

    def test_presets_are_managed_in_the_settings(self):
        named = lambda: {each["name"]: each.get("sizeOz") for each in api("GET", "presets")["presets"]}
        before = named()
        self.show()
        self.button("New preset")
        for name, ounces, size in (("Radler", "16", 16), ("Alster", "", None)):
            self.type("dialog input[type=text]", name)
            self.type("dialog .field:nth-of-type(3) input", ounces)
            self.button("Save", "dialog")
            self.wait_for_value(named, before | {name: size})
            self.click(f"[aria-label='Edit: {name}']")
        self.button("Cancel", "dialog")
        self.click("[aria-label='Delete: Alster']")
        self.button("Delete", "dialog")
        self.wait_for_value(named, before)

    def test_tokens_are_created_once_shown_and_revoked(self):
        labels = lambda: [each["label"] for each in api("GET", "tokens")["tokens"] if not each["isRevoked"]]
        self.show()
        # A button that is pressed twice acts once.
        self.script("""
            const real = fetch; window.held = []; window.posts = 0;
            window.fetch = async (path, options) => {
              if (options?.method === 'POST') { posts += 1; await new Promise((resolve) => held.push(resolve)); }
              return real(path, options);
            };""")
        self.button("New token")
        self.type("dialog input[type=text]", "kitchen script")
        self.script("const make = document.querySelector('dialog button[type=submit]'); make.click(); make.click();")
        self.wait_for_value(lambda: self.script("return posts"), 1)
        self.script("document.querySelector('dialog button[type=submit]').click(); for (const go of held) go();")
        self.assertGreater(len(self.wait("dialog input.secret").get_property("value")), 16)
        self.button("Close", "dialog:has(input.secret)")
        self.assertEqual(self.script("return posts"), 1)
        self.assertEqual(labels().count("kitchen script"), 1)
        self.assertIn("view and log", self.script("return document.querySelector(`[aria-label='Revoke: kitchen script']`).closest('li').textContent"), "its scope is not shown")
        self.click("[aria-label='Revoke: kitchen script']")
        self.button("Revoke", "dialog")
        self.until(lambda: "kitchen script" not in labels(), "it is not revoked")

    def test_a_phone_without_access_to_settings_gets_no_first_visit(self):
        browser.purge()
        self.replace_response("/api/v1/access", "{ scope: 'log' }")
        self.open("/", ".page-today .vessel")
        self.click(".vessel")
        self.totals(250)
        self.assertFalse(self.driver.current_url.endswith("/welcome"))

    def test_every_rule_has_a_german_text(self):
        self.show()
        self.set_language("de")
        self.show()
        said = self.module("/texts.js", "({ said }) => fetch('/api/v1/settings/catalogue').then((answer) => answer.json()).then((entries) => entries.map(({ name, rule }) => [name, rule, said(rule)]))")
        self.assertGreater(len(said), 60)
        for name, rule, german in said:
            self.assertNotEqual(german, rule, name)
            self.assertNotRegex(german, " must | unset| from |o'clock|hours|steps", name)

    def test_rejected_requests_have_german_texts(self):
        browser.purge()
        self.show()
        self.set_language("de")
        self.show()
        requests = [["undo", {"of": "today"}], ["drinks", {"ml": 9999}], ["session/end", {}], ["sync", {}]]
        requests += [["import", text] for text in ("", "hello", "\x1f\x8b\x08", "[{}]", "PK\x03\x04", "<x", "startDate,value_ml\n2026-02-03,x")]
        answers = self.module("/texts.js", """({ said }, requests) => Promise.all(requests.map(([path, body]) => fetch(`/api/v1/${path}`, {
            method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body),
            headers: { 'Content-Type': typeof body === 'string' ? 'application/octet-stream' : 'application/json' },
        }).then((answer) => answer.json()).then((problem) => [path, problem.detail, said(problem.detail)])))""", requests)
        for path, detail, german in answers:
            self.assertTrue(detail, path)
            self.assertNotEqual(german, detail, path)

    def test_reset_today_requires_a_confirmation(self):
        log(500)
        self.show()
        self.button("Reset today", "[data-group=account]")
        self.button("Cancel", "dialog")
        self.assertEqual(state()["dailyTotalMl"], 500)
        self.button("Reset today", "[data-group=account]")
        self.button("Reset today", "dialog")
        self.totals(0)

    def test_purge_requires_its_word_and_the_first_visit_follows(self):
        log(500)
        self.show()
        self.button("Delete everything")
        self.type("dialog input", "yes")
        self.button("Delete everything", "dialog")
        self.wait("dialog .error")
        self.assertEqual(state()["dailyTotalMl"], 500)
        self.type("dialog input", "purge")
        self.button("Delete everything", "dialog")
        self.wait(".page-welcome")
        # The first visit keeps what was typed before the settings arrived.
        browser.purge()
        self.before_each_page("""
            const real = fetch;
            window.fetch = async (path, options) => {
              if (String(path).endsWith('/settings')) await new Promise((go) => { window.release = go; });
              return real(path, options);
            };""")
        self.open("/welcome", ".page-welcome")
        self.type("main input[type=number]", "2200")
        self.wait_for_value(lambda: self.script("return typeof window.release"), "function")
        self.script("window.release()")
        self.button("Skip")
        self.wait(".vessel")
        self.open("/", ".vessel")
        self.wait_for_text(".amount", "0 ml / 2,200 ml")
        self.assertFalse(self.all(".page-welcome"), "it comes once")
