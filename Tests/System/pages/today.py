"""Today: the states of the main view (tracker spec A9), the halo, the cup, the list, confetti, and writes that wait."""
import datetime
import math
import re

from selenium.webdriver.common.action_chains import ActionChains

from . import browser
from .browser import PageCase, api, log, session, set_hour, settings, state, tracker

ROUND = 2 * math.pi * 115
AMOUNT = ".amount"
AWAY = r"As of \d\d:\d\d, the service does not answer\."

# Holds the next response with the state until `release()`.
HOLD = """
    const real = fetch; const held = new Promise((resolve) => { window.release = resolve; });
    window.fetch = async (path, options) => {
      const answer = await real(path, options);
      if (!String(path).endsWith('/state')) return answer;
      window.fetch = real; window.isHeld = true;
      await held;
      return answer;
    };
    document.dispatchEvent(new Event('visibilitychange'));"""


class Today(PageCase):
    def show(self):
        self.open("/", ".headline")
        self.until(lambda: self.text(".headline"), "no headline")

    def rows(self, count):
        self.wait_for_count(".drinks li", count)

    # The rows of A9.
    def test_the_countdown_runs_and_ends_at_the_goal(self):
        log(200)
        self.show()
        self.wait_for_text(".caption", "until next drink")
        minutes, seconds = self.text(".headline").split(":")
        first = int(minutes) * 60 + int(seconds)
        self.assertAlmostEqual(first, state()["timeUntilNext"], delta=3)
        self.until(lambda: self.text(".headline") != f"{minutes}:{seconds}", "the countdown does not move")
        self.assertFalse(self.one(".halo-rainbow").is_displayed())
        log(2000, 300)
        self.wait_for_text(".headline", "Goal reached!")
        self.assertFalse(self.one(".caption").is_displayed())
        self.assertEqual(self.text(".soon strong"), "")
        self.assertIsNone(state()["timeUntilNext"])

    def test_a_due_drink_shows_a_rainbow_but_not_at_night(self):
        self.show()
        self.wait_for_text(".headline", "A drink is due now.")
        self.wait(".halo-rainbow")
        self.assertEqual(state()["dailyTotalMl"], 0, "also if nothing was drunk (K-A15)")
        set_hour(2)
        self.wait_for_text(".headline", "Outside drinking hours")
        self.wait_until_hidden(".halo-rainbow")
        self.wait_for_text(".greeting", "Good night!")

    def test_amounts_are_shown_in_the_units_of_the_user(self):
        settings(hydration__units="oz")
        log(355)
        self.show()
        for words in ("12 oz / 84.5 oz", "+8.5 oz", "+3.4 oz"):
            self.until(lambda: words in self.script("return document.body.innerText"), words)
        self.assertNotRegex(self.script("return document.body.innerText"), r"\d ml\b")
        tracker("settings", "set", "hydration.units", "unset")
        self.wait_for_text(AMOUNT, "355 ml / 2,500 ml")

    def test_rows_show_amount_and_local_time_newest_first(self):
        self.show()
        self.wait_for_text(".drink-list .empty", "No drinks recorded yet")
        tracker("log", 100)
        log(1250, 330)
        self.rows(3)
        self.assertEqual(self.texts(".drinks li strong"), ["330 ml", "1,250 ml", "100 ml"])
        for time in self.texts(".drinks li time"):
            self.assertRegex(time, r"^14:\d\d$|^15:00$")

    def test_a_running_poll_and_its_error_are_shown(self):
        self.show()
        # The next poll of the service removes the error, perhaps before it is seen: the page notes what its line says.
        seen = self.script("""
            const error = document.querySelector('.error-line'), hint = document.querySelector('.error-hint'), words = each => each.checkVisibility() ? each.textContent : '';
            window.seen = [];
            new MutationObserver(() => seen.push([words(error), words(hint)]))
                .observe(error.parentElement, {subtree: true, childList: true, characterData: true, attributes: true});
            const button = [...document.querySelectorAll('.bottle-line button')].at(-1);
            button.click();
            const line = document.querySelector('.checking');
            return [!line.hidden, line.textContent, line.querySelector('.spinner') !== null, button.disabled];""")
        self.assertEqual(seen, [True, "Checking bottle...", True, True])

        def shown():
            browser.service.run("waterh-gateway", "poll", "--link", "unix:/nonexistent/bottle", code=5)
            return ["Bottle not found", "Could not find bottle. Make sure it's nearby."] in self.script("return seen")

        self.until(shown, lambda: f"the error line and its hint said {self.script('return seen')}")

    def test_the_halo_shows_progress_and_target(self):
        self.show()
        level = lambda: float(self.script("return document.querySelector('.layer.target').style.getPropertyValue('--level')"))
        self.until(lambda: abs(level() - state()["targetProgress"]) < 0.003, lambda: f"the target is at {level()}")
        now = state()
        self.assertGreaterEqual(now["deficitMl"], 25)
        self.wait_for_text(".behind", now["behindText"])
        target = self.script("const a = document.querySelector('.halo-target'); return [Number(a.getAttribute('stroke-dashoffset')), a.getAttribute('visibility'), a.dataset.urgency]")
        self.assertAlmostEqual(target[0], ROUND * (1 - level()), places=2)
        self.assertEqual(target[1:], ["visible", str(now["displayUrgency"])])
        # A few millilitres are shown as none.
        log(now["expectedMl"] - 8)
        self.wait_for_text(".behind", "On track")
        self.assertEqual((level(), self.one(".halo-target").get_attribute("visibility")), (0, "hidden"))
        api("POST", "reset-today")
        settings(hydration__goalMl=2000)
        arc = lambda: self.script("const a = document.querySelector('.halo-progress'); return [Number(a.getAttribute('stroke-dashoffset')), a.getAttribute('visibility')]")
        for amount, share in ((0, 0), (1000, 0.5), (1000, 1)):
            log(*[amount] * bool(amount))
            self.until(lambda: abs(arc()[0] - ROUND * (1 - share)) < 0.01, lambda: f"at {share} the arc is {arc()}")
            self.assertEqual(arc()[1], "visible" if share else "hidden")

    def test_a_tap_anywhere_on_the_cup_adds_exactly_one_cup(self):
        settings(hydration__cupMl=330)
        self.before_each_page("window.felt = []; Object.defineProperty(navigator, 'vibrate', {value: pattern => { felt.push(pattern); return true; }})")
        self.show()
        self.wait_for_text(".vessel-hint", "+330 ml")
        cup = self.one(".vessel")
        for number, (x, y) in enumerate(((0, 0), (-0.45, -0.45), (0.3, 0.45)), 1):
            size = cup.size
            ActionChains(self.driver).move_to_element_with_offset(cup, x * size["width"], y * size["height"]).click().perform()
            self.totals(330 * number)
        self.assertEqual(self.script("return felt"), [15] * 3)
        self.wait_for_value(lambda: self.script("return document.querySelector('.layer.water').style.getPropertyValue('--level')"), "0.396")
        self.click("[data-kind=figure]")
        self.show()
        self.assertEqual(self.one(".vessel").get_attribute("data-shape"), "figure", "the choice is remembered")
        self.click(".vessel")
        self.totals(1320)

    def test_pending_syncs_and_unread_notifications_are_shown(self):
        self.show()
        for sync, waiting, trouble, unread, lines in (
                ("idle", 0, None, 0, []), ("pending", 3, None, 2, ["3 changes waiting to sync."]),
                ("error", 1, "The sync server refused the token (401).", 0, ["The sync server refused the token (401). 1 change waiting to sync. Try again"])):
            with self.subTest(sync=sync):
                shown = self.replace_state(
                    {"sync": sync, "syncReport": {"waiting": waiting, "trouble": trouble, "refused": 0, "refusals": []}, "unread": unread, "notifications": "enabled"},
                    "[[...document.querySelectorAll('#status p')].filter((e) => e.checkVisibility()).map((e) => e.innerText.trim().replace(/\\s+/g, ' ')), document.querySelector('.unread').checkVisibility()]")
                self.assertEqual(shown, [lines, unread > 0])

    def test_quick_and_custom_amounts_are_logged(self):
        settings(hydration__quickAddMl=[150, 175])
        self.show()
        self.wait_for_value(lambda: [each.text for each in self.all(".quick button")], ["+150 ml", "+175 ml", "Custom"])
        self.button("+175 ml")
        self.totals(175)
        self.button("Custom")
        for wrong in ("0", "2001", "1.5", ""):
            self.type("dialog input", wrong)
            self.button("Add", "dialog")
            self.wait_for_match("dialog .error", "1 to 2000")
        self.type("dialog input", "2000")
        self.button("Add", "dialog")
        self.totals(2175)

    def test_confetti_appears_once_a_day(self):
        watch = "window.seen = 0; new MutationObserver(() => { seen = Math.max(seen, document.querySelectorAll('.confetti').length); }).observe(document.body, {childList: true})"
        log(2000)
        self.show()
        self.wait_for_text(AMOUNT, "2,000 ml / 2,500 ml")
        self.script(watch)
        self.button("+500 ml")
        self.wait_for_value(lambda: self.script("return seen"), 1)
        self.wait_until_hidden(".confetti")
        # Neither after a reload nor after an undo and a second crossing.
        self.show()
        self.wait_for_text(".headline", "Goal reached!")
        self.script(watch)
        api("POST", "undo")
        self.wait_for_text(AMOUNT, "2,000 ml / 2,500 ml")
        log(500)
        self.wait_for_text(AMOUNT, "2,500 ml / 2,500 ml")
        self.assertEqual(self.script("return seen"), 0)

    def test_drinks_are_edited_deleted_and_restored(self):
        log(200, 300)
        self.show()
        self.rows(2)
        self.click(".drinks li:first-child button[aria-label^=Edit]")
        self.type("dialog input[inputmode=decimal]", "350")
        self.button("Save", "dialog")
        self.totals(550)
        self.wait_for_text(".drinks li:first-child strong", "350 ml")
        self.click(".drinks li:last-child button[aria-label^=Delete]")
        self.totals(350)
        self.button("Undo", ".list-card")
        self.totals(550)
        self.rows(2)

    def test_undo_reverts_the_named_change_in_the_language_of_the_page(self):
        self.show()
        self.set_language("de")
        self.show()
        log(300)
        self.rows(1)
        # Today shows nothing of the session, so nothing of it is reverted here.
        api("POST", "session")
        api("POST", "session/drink", {})
        self.button("+500 ml")
        # The pointer keeps the message open.
        self.wait(".toast")
        self.script("document.querySelector('.toast').dispatchEvent(new Event('pointerenter'))")
        self.totals(800)
        api("POST", "session/water", {})
        # Another client's drink in between: the message reverts its own drink.
        log(200)
        self.totals(1000)
        self.button("Rückgängig", ".toast")
        self.totals(500)
        self.wait_for_text(".toast span", "Rückgängig gemacht: 500 ml")
        # The event with the new total can arrive before the response; until then the button does nothing more.
        for total, amount in ((300, 200), (0, 300)):
            self.button("Rückgängig", ".list-card")
            self.totals(total)
            self.until(lambda: f"Rückgängig gemacht: {amount} ml" in [one.text for one in self.all(".toast span")], f"{amount} ml are reverted")
        self.button("Rückgängig", ".list-card")
        self.wait_for_text(".toast.problem span", "Es gibt nichts zurückzunehmen.")
        self.assertEqual((session()["drinks"], session()["waters"]), (1, 1))

    def test_a_tap_whose_response_has_no_drink_offers_no_undo(self):
        """Undo would revert another client's drink."""
        self.show()
        self.script("""
            const real = fetch;
            window.fetch = async (path, options) => {
              const answer = await real(path, options);
              if (options?.method !== 'POST') return answer;
              const { drink: _, ...rest } = await answer.json();
              return new Response(JSON.stringify(rest), { status: answer.status, headers: { 'Content-Type': 'application/json' } });
            };""")
        self.click(".vessel")
        self.wait_for_text(".toast span", "250 ml logged")
        self.assertEqual([each.get_attribute("aria-label") for each in self.all(".toast button")], ["Close"])

    def test_a_drink_that_another_client_has_changed_is_reported(self):
        log(200)
        self.show()
        self.rows(1)
        # The row before the event of the other client's change.
        self.script("document.querySelector('.drinks li').drink.number = 4711")
        self.click(".drinks li button[aria-label^=Delete]")
        self.wait_for_match(".toast", "^This drink was changed or deleted on another device.")
        self.until(lambda: self.script("return document.querySelector('.drinks li').drink.number") != 4711, "the list is not read again")

    def test_a_demo_says_that_time_runs_faster(self):
        for width, height in ((320, 640), (412, 915)):
            self.emulate(width, height)
            self.open("/", ".quick .chip")
            self.assertFalse(self.one("#demo").is_displayed())
            words, foot, bar = self.replace_state({"service": {"speed": 480}}, """[document.getElementById('demo').checkVisibility() && document.getElementById('demo').textContent,
                Math.max(...[...document.querySelectorAll('.quick .chip')].map((e) => e.getBoundingClientRect().bottom)), document.getElementById('nav').getBoundingClientRect().top]""")
            self.assertIn("time runs 480 times as fast", words)
            self.assertLessEqual(foot, bar, "it covers the buttons")

    def test_the_page_says_how_old_it_is_and_keeps_taps(self):
        log(100)
        self.show()
        self.wait_for_text(AMOUNT, "100 ml / 2,500 ml")
        self.offline()
        self.wait_for_match("#staleness", AWAY)
        self.click(".vessel")
        self.click(".vessel")
        self.wait_for_match("#staleness", "2 entries waiting")
        self.online()
        self.totals(600)
        self.wait_until_hidden("#staleness")
        self.wait_for_text(AMOUNT, "600 ml / 2,500 ml")

    def test_a_slow_response_replaces_neither_a_newer_event_nor_a_lost_connection(self):
        self.show()
        self.wait_for_text(AMOUNT, "0 ml / 2,500 ml")
        for act, selector, expected in ((lambda: log(100), AMOUNT, "^100 ml / 2,500 ml"), (self.offline, "#staleness", AWAY)):
            self.script("window.isHeld = false;" + HOLD)
            self.until(lambda: self.script("return window.isHeld"), "no response is held")
            act()
            self.wait_for_match(selector, expected)
            # What waits for the response runs before the script ends.
            self.driver.execute_async_script("const done = arguments[0]; release(); setTimeout(done, 0);")
            self.assertRegex(self.text(selector), expected)
        self.online()
        self.wait_until_hidden("#staleness")

    def test_the_page_follows_a_clock_that_is_set_back(self):
        """Every later state has an earlier time than the state before the correction."""
        self.show()
        self.wait_for_text(AMOUNT, "0 ml / 2,500 ml")
        self.module("/live.js", "({ acceptState, live }) => acceptState({...live.state, timestamp: live.state.timestamp + 7200})")
        log(100)
        self.wait_for_text(AMOUNT, "100 ml / 2,500 ml")
        self.click(".vessel")
        self.wait_for_text(AMOUNT, "350 ml / 2,500 ml")
        self.assertTrue(self.module("/live.js", "({ serviceNow }) => Math.abs(serviceNow() - Date.now()) < 60_000"), "the page still has the old clock")

    def waits(self, *writes):
        """Opens the page with these writes waiting from before."""
        self.show()
        self.script("localStorage.setItem('waterh.queue', JSON.stringify(arguments[0].map(([path, body], index) => ({ key: `tap-${Date.now()}-${index}`, method: 'POST', path, body, made: Date.now() - 1000 }))))", writes)
        self.show()

    def test_two_pages_that_tap_at_the_same_moment_lose_nothing(self):
        """Each page writes its own tap, not the whole list."""
        away = "window.fetch = () => Promise.reject(new TypeError('the service is away'));"
        self.show()
        first = self.driver.current_window_handle
        self.driver.switch_to.new_window("tab")
        try:
            self.show()
            self.script(away + "window.seen = Storage.prototype.getItem; Storage.prototype.getItem = () => null;")
            second = self.driver.current_window_handle
            self.driver.switch_to.window(first)
            self.script(away)
            self.button("+100 ml")
            self.until(lambda: len(self.stored_writes()) == 1, self.stored_writes)
            self.driver.switch_to.window(second)
            self.button("+500 ml")
            self.script("Storage.prototype.getItem = window.seen")
        finally:
            for handle in set(self.driver.window_handles) - {first}:
                self.driver.switch_to.window(handle)
                self.driver.close()
            self.driver.switch_to.window(first)
        self.assertEqual(len(self.stored_writes()), 2)
        self.show()
        self.totals(600)
        self.wait_for_value(self.stored_writes, [])

    def test_taps_of_a_fast_clock_are_logged_after_its_correction(self):
        """The service rejects a time in the future; the page must not discard the tap."""
        ahead = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.waits(("/drinks", {"ml": 100, "at": ahead}), ("/drinks", {"ml": 250, "at": ahead}))
        self.totals(350)
        self.wait_for_value(lambda: self.stored_writes("queue", "refused"), [])
        self.assertFalse(self.one(".refusals").is_displayed())

    def test_a_rejected_write_stays_with_its_reason_until_it_is_discarded_or_sent_again(self):
        self.waits(("/session/water", {}), ("/drinks", {"ml": 5000}), ("/drinks", {"ml": 200}))
        self.totals(200)
        said = lambda: [[re.sub(r", \d\d:\d\d$", "", title), reason] for title, reason in zip(self.texts(".refusals .notice strong"), self.texts(".refusals .notice p"))]
        both = [["Not logged: Water", "There is no active session. Start one first."], ["Not logged: 5,000 ml", "5000 ml is outside the range of one drink: 1–2000 ml."]]
        self.wait_for_value(said, both)
        # Also after a reload.
        self.show()
        self.wait_for_value(said, both)
        self.button("Discard", ".refusals .notice:last-child")
        self.wait_for_value(said, both[:1])
        api("POST", "session")
        self.button("Try again", ".refusals")
        self.wait_until_hidden(".refusals")
        self.wait_for_value(lambda: session()["waters"], 1)
        self.assertEqual(self.stored_writes("refused"), [])
