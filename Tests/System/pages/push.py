"""Notifications while no page is open (tracker law Section 10.9): the switch on the page, and what its worker shows of what is pushed.

No push service of the internet is asked: the browser's own part is played by the page, and Chromium delivers what one would bring.
"""
import json

from .browser import PageCase, tracker
from . import browser

# A browser whose push service is nobody's.
PLAYED = """
    (() => {
      let kept = null;
      const key = new Uint8Array(65).fill(9);
      key[0] = 4;
      PushManager.prototype.getSubscription = async () => kept;
      PushManager.prototype.subscribe = async ({applicationServerKey, userVisibleOnly}) => {
        if (window.isUnreachable) throw new DOMException('Registration failed', 'AbortError');
        kept = {
          endpoint: 'https://push.example/page', options: {applicationServerKey: new Uint8Array(applicationServerKey).buffer, userVisibleOnly},
          getKey: name => name === 'auth' ? new Uint8Array(16).fill(1).buffer : key.buffer, unsubscribe: async () => { kept = null; return true; },
        };
        return kept;
      };
      window.forget = () => { kept = null; };
    })();
"""
SWITCH = "#push-switch"


class Push(PageCase):
    def setUp(self):
        super().setUp()
        self.before_each_page(PLAYED)
        self.allow("granted")

    def allow(self, setting):
        self.driver.execute_cdp_cmd("Browser.setPermission", {"permission": {"name": "notifications"}, "setting": setting, "origin": browser.options.url})

    def show(self):
        self.open("/settings", ".device-card")
        self.until(lambda: self.one(SWITCH).is_enabled(), "the switch")

    def browsers(self):
        return self.script("return fetch('/api/v1/push').then(answer => answer.json()).then(told => told.subscriptions.map(each => `${each.label} ${each.service}`))")

    def test_the_switch_brings_this_browser_and_takes_it_away(self):
        self.show()
        self.assertFalse(self.one(SWITCH).is_selected())
        self.assertEqual(self.browsers(), [])
        self.click(SWITCH)
        self.until(lambda: self.browsers(), "it is known")
        self.assertRegex(self.browsers()[0], r"^Chrome, Linux push\.example$")
        # Once more it is the same one; and while it is on, the page shows nothing of the system's beside it.
        self.assertTrue(self.script("return JSON.parse(localStorage.getItem('waterh.push'))"))
        self.click(SWITCH)
        self.until(lambda: self.browsers() == [], "it is gone")
        self.assertFalse(self.one(SWITCH).is_selected())

    def test_what_is_in_the_way_is_said_beside_it(self):
        self.show()
        self.script("window.isUnreachable = true")
        self.click(SWITCH)
        self.until(lambda: "cannot be reached" in (self.text("#push-error") or ""), "the push service")
        self.assertFalse(self.one(SWITCH).is_selected())
        self.allow("denied")
        self.click(SWITCH)
        self.until(lambda: "does not let this page" in (self.text("#push-error") or ""), "the permission")
        self.assertFalse(self.one(SWITCH).is_selected())
        self.assertEqual(self.browsers(), [])

    def test_a_purge_switches_it_off(self):
        self.show()
        self.click(SWITCH)
        self.until(lambda: self.browsers(), "it is known")
        tracker("purge", "--yes")
        tracker("setup", "--yes", "--notifications", "skip")
        self.show()
        self.until(lambda: not self.one(SWITCH).is_selected(), "off")
        self.click(SWITCH)
        self.until(lambda: self.browsers(), "for the new key")

    def deliver(self, text):
        self.driver.execute_cdp_cmd("ServiceWorker.deliverPushMessage", {"origin": browser.options.url, "registrationId": "0", "data": text})

    def shown(self):
        return self.script("""
            return navigator.serviceWorker.ready.then(it => it.getNotifications())
                .then(all => all.map(({title, body, tag, silent, actions}) => ({title, body, tag, silent, actions: actions.map(each => each.action)})))
        """)

    def test_the_worker_shows_what_is_pushed_each_in_the_place_of_the_last_of_its_kind(self):
        self.show()
        self.driver.execute_cdp_cmd("ServiceWorker.enable", {})
        self.addCleanup(self.driver.execute_cdp_cmd, "ServiceWorker.disable", {})
        self.addCleanup(self.script, "navigator.serviceWorker.ready.then(it => it.getNotifications()).then(all => all.forEach(each => each.close()))")
        told = {"title": "Hydration Reminder", "body": "Drink 500ml.", "tag": "hydration-reminder", "page": "/", "silent": False, "stays": True,
                "buttons": [{"action": "log-cup", "title": "Log a cup"}], "key": "k" * 64}
        # A worker that was started this moment may not be there yet: what it has not heard it is told again, in the place of the last.
        self.script("return navigator.serviceWorker.ready.then(it => Boolean(it.active))")
        self.until(lambda: self.shown() or self.deliver(json.dumps(told)), "a notification")
        self.deliver(json.dumps(told | {"body": "Drink 250ml.", "silent": True}))
        self.until(lambda: [each["body"] for each in self.shown()] == ["Drink 250ml."], "in its place")
        self.assertEqual(self.shown()[0], {"title": "Hydration Reminder", "body": "Drink 250ml.", "tag": "hydration-reminder", "silent": True, "actions": ["log-cup"]})
        # A push that says nothing of ours is shown as something, too: a browser takes the right away from a page that shows nothing.
        self.deliver("<html>")
        self.until(lambda: "Hydration" in [each["title"] for each in self.shown()], "whatever it is")
