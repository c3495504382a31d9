"""Today: the states of the main view (tracker spec A9), the halo, the cup, the list, confetti, and writes that wait."""
import datetime
import math
import re

from selenium.webdriver.common.action_chains import ActionChains

from .browser import PageCase, tracker
from . import browser

ROUND = 2 * math.pi * 115
AMOUNT = ".amount"

# Holds the next response of a path until `release()`.
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

    def log(self, *amounts):
        for amount in amounts:
            tracker("log", amount)

    def rows(self, count):
        self.until(lambda: len(self.all(".drinks li")) == count, f"{count} rows")

    def styles(self, selector, *properties):
        return self.script("const s = getComputedStyle(document.querySelector(arguments[0])); return arguments[1].map((each) => s.getPropertyValue(each).trim())", selector, properties)

    # The rows of A9.
    def test_counting_shows_the_countdown_and_its_caption(self):
        self.log(200)
        self.show()
        self.says(".caption", "until next drink")
        self.assertRegex(self.text(".headline"), r"^\d+:\d\d$")
        seconds = lambda: (lambda parts: int(parts[0]) * 60 + int(parts[1]))(self.text(".headline").split(":"))
        first = seconds()
        self.until(lambda: first - seconds() >= 2, "the countdown does not move")
        self.assertAlmostEqual(seconds(), tracker("status")["timeUntilNext"], delta=2)
        self.assertFalse(self.one(".halo-rainbow").is_displayed())

    def test_alerting_says_that_a_drink_is_due_and_shows_a_rainbow_over_the_whole_ring(self):
        self.show()
        self.says(".headline", "A drink is due now.")
        self.wait(".halo-rainbow")
        image, *animation = self.styles(".halo-rainbow", "background-image", "animation-duration", "animation-timing-function", "animation-iteration-count")
        self.assertEqual(re.findall(r"rgb\(([^)]*)\)", image), ["255, 0, 0", "255, 165, 0", "255, 255, 0", "0, 128, 0", "0, 0, 255", "128, 0, 128", "255, 0, 0"])
        self.assertEqual(animation, ["2s", "linear", "infinite"])
        # It turns, and its bounding box does too: its place in the halo does not.
        self.assertEqual(self.script("const r = document.querySelector('.halo-rainbow'); return [r.offsetLeft, r.offsetTop, r.offsetWidth, r.offsetHeight]"), [0, 0, 250, 250])
        self.assertEqual(tracker("status")["dailyTotalMl"], 0, "also if nothing was drunk (K-A15)")

    def test_outside_hours_says_so(self):
        self.hour(2)
        self.show()
        self.says(".headline", "Outside drinking hours")
        self.assertFalse(self.one(".halo-rainbow").is_displayed())

    def test_no_countdown_stays_when_the_goal_is_met(self):
        self.log(200)
        self.show()
        self.says(".caption", "until next drink")
        self.log(2000, 300)
        self.says(".headline", "Goal reached!")
        self.assertFalse(self.one(".caption").is_displayed())
        self.assertEqual(self.script("return document.querySelector('.soon strong').textContent"), "")
        self.assertIsNone(tracker("status")["timeUntilNext"])

    def test_amounts_are_shown_in_the_units_of_the_user(self):
        tracker("settings", "set", "hydration.units", "oz")
        self.log(355)
        self.show()
        said = lambda: self.script("return document.body.innerText")
        self.until(lambda: "12 oz" in said(), "the drink in ounces")
        for words in ("12 oz / 84.5 oz", "+8.5 oz", "+3.4 oz"):
            self.until(lambda: words in said(), words)
        self.assertNotRegex(said(), r"\d ml\b")
        tracker("settings", "set", "hydration.units", "unset")
        self.until(lambda: "355 ml" in said(), "and in millilitres again, at once")

    def test_rows_show_drop_local_time_and_amount_newest_first(self):
        self.show()
        self.says(".drink-list .empty", "No drinks recorded yet")
        self.log(100, 1250, 330)
        self.rows(3)
        rows = self.script("return [...document.querySelectorAll('.drinks li')].map(r => [r.querySelector('strong').textContent, r.querySelector('time').textContent, !!r.querySelector('svg')])")
        self.assertEqual([row[0] for row in rows], ["330 ml", "1,250 ml", "100 ml"])
        for row in rows:
            self.assertRegex(row[1], r"^14:\d\d$|^15:00$")
            self.assertTrue(row[2])

    def test_a_running_poll_shows_spinner_and_words(self):
        self.show()
        seen = self.script("""
            const button = [...document.querySelectorAll('.bottle-line button')].at(-1);
            button.click();
            const line = document.querySelector('.checking');
            return [!line.hidden, line.textContent, line.querySelector('.spinner') !== null, button.disabled];""")
        self.assertEqual(seen, [True, "Checking bottle...", True, True])

    def test_an_error_shows_a_red_line_and_its_hint(self):
        self.show()
        # The next poll of the service removes the error, perhaps before it is seen: the page notes what its line says.
        self.script("""
            const line = document.querySelector('.error-line'), hint = document.querySelector('.error-hint'), words = each => each.checkVisibility() ? each.textContent : '';
            window.seen = [];
            new MutationObserver(() => seen.push([words(line), words(hint), getComputedStyle(line).color]))
                .observe(line.parentElement, {subtree: true, childList: true, characterData: true, attributes: true});""")
        seen = lambda: self.script("return seen")

        def shown():
            browser.service.run("waterh-gateway", "poll", "--link", "unix:/nonexistent/bottle", code=5)
            return next((colour for line, hint, colour in seen() if [line, hint] == ["Bottle not found", "Could not find bottle. Make sure it's nearby."]), None)

        red, green, blue = map(int, re.findall(r"\d+", self.until(shown, lambda: f"the error line and its hint said {seen()}"))[:3])
        self.assertTrue(red > 150 and green < 80 and blue < 80, (red, green, blue))

    # The halo.
    def test_the_arc_is_progress_times_the_circumference(self):
        tracker("settings", "set", "hydration.goalMl", 2000)
        self.show()
        for amounts, share in (((), 0), ((1000,), 0.5), ((500,), 0.75), ((500,), 1)):
            self.log(*amounts)
            arc = lambda: self.script("const a = document.querySelector('.halo-progress'); return [Number(a.getAttribute('stroke-dasharray')), Number(a.getAttribute('stroke-dashoffset')), a.getAttribute('visibility')]")
            self.until(lambda: abs(arc()[1] - ROUND * (1 - share)) < 0.01, lambda: f"at {share} the arc is {arc()}")
            self.assertAlmostEqual(arc()[0], ROUND, places=3)
            self.assertEqual(arc()[2], "visible" if share else "hidden")

    def test_sizes_and_colours_are_those_of_the_specification(self):
        self.log(600)
        self.show()
        ring = self.script("const arc = document.querySelector('.halo-progress'); return ['r', 'stroke-width', 'stroke-linecap', 'transform'].map((each) => arc.getAttribute(each))")
        self.assertEqual(ring, ["115", "20", "round", "rotate(-90 125 125)"])
        for selector, values in {
            ".halo": {"height": "250px"}, ".halo-track": {"stroke-opacity": "0.2"}, ".halo-label": {"font-size": "37.5px"}, ".halo-drop": {"height": "20px"},
            ".halo-progress": {"transition-duration": "0.5s", "transition-timing-function": "ease-in-out"},
            "body": {"background-image": "linear-gradient(rgb(232, 244, 253), rgb(240, 248, 255))"}, ".card": {"background-color": "rgb(255, 255, 255)"},
            ".depth": {"background-image": "linear-gradient(rgb(66, 165, 245), rgb(30, 136, 229))"},
            ":root": {"--accent": "#1E88E5", "--secondary": "#90CAF9", "--text": "#1A1A2E", "--text-second": "#6B7B8D", "--success": "#66BB6A", "--amber": "#FFB300",
                      "--red": "#E53935", "--no-data": "#CFD8DC"},
        }.items():
            with self.subTest(selector):
                self.assertEqual(self.styles(selector, *values), list(values.values()))
        self.says(".halo-label", tracker("status")["haloLabel"])

    def test_the_target_is_at_expected_over_goal(self):
        self.show()
        state = tracker("status")
        self.assertGreaterEqual(state["deficitMl"], 25)
        level = lambda: float(self.script("return document.querySelector('.layer.target').style.getPropertyValue('--level')"))
        self.until(lambda: abs(level() - tracker("status")["targetProgress"]) < 0.003, lambda: f"the target is at {level()}")
        self.assertEqual(self.script("return document.querySelector('.layer.target').dataset.urgency"), str(state["displayUrgency"]))
        self.says(".behind", tracker("status")["behindText"])
        self.assertIn("behind target", self.text(".behind"))
        arc = lambda: self.script("const a = document.querySelector('.halo-target'); return [Number(a.getAttribute('stroke-dashoffset')), a.getAttribute('visibility'), a.dataset.urgency]")
        self.assertAlmostEqual(arc()[0], ROUND * (1 - level()), places=2)
        self.assertEqual(arc()[1:], ["visible", str(state["displayUrgency"])])
        # A few millilitres are shown as none.
        self.log(tracker("status")["expectedMl"] - 8)
        self.until(lambda: level() == 0 and arc()[1] == "hidden", "without a deficit no target is shown")
        self.says(".behind", "On track")
        self.assertIn(tracker("status")["deficitMl"], range(1, 25))

    # Drinking.
    def test_a_tap_anywhere_on_the_cup_adds_exactly_one_cup(self):
        tracker("settings", "set", "hydration.cupMl", 330)
        self.before_each_page("window.felt = []; Object.defineProperty(navigator, 'vibrate', {value: pattern => { felt.push(pattern); return true; }})")
        self.show()
        self.says(".vessel-hint", "+330 ml")
        cup = self.one(".vessel")
        for number, (x, y) in enumerate(((0, 0), (-0.45, -0.45), (0.3, 0.45)), 1):
            size = cup.size
            ActionChains(self.driver).move_to_element_with_offset(cup, x * size["width"], y * size["height"]).click().perform()
            self.totals(330 * number)
        self.assertEqual(self.script("return felt"), [15] * 3)

    def test_the_cup_fills_to_total_over_goal(self):
        self.log(1000)
        self.show()
        self.until(lambda: self.script("return document.querySelector('.layer.water').style.getPropertyValue('--level')") == "0.4", "the level")
        share = self.script("const v = document.querySelector('.vessel').getBoundingClientRect(); return v.height / innerHeight")
        self.assertAlmostEqual(share, 0.6, delta=0.02)

    def test_the_figure_is_a_choice_that_is_remembered(self):
        self.show()
        self.click("[data-kind=figure]")
        self.show()
        self.assertEqual(self.one(".vessel").get_attribute("data-shape"), "figure")
        self.click(".vessel")
        self.totals(250)

    def test_pending_syncs_and_unread_notifications_are_shown(self):
        self.show()
        for sync, waiting, trouble, unread, lines in (
                ("idle", 0, None, 0, []), ("pending", 3, None, 2, ["3 changes waiting to sync."]),
                ("error", 1, "The sync server refused the token (401).", 0, ["The sync server refused the token (401). 1 change waiting to sync. Try again"])):
            with self.subTest(sync=sync):
                shown = self.state_is(
                    {"sync": sync, "syncReport": {"waiting": waiting, "trouble": trouble, "refused": 0, "refusals": []}, "unread": unread, "notifications": "enabled"},
                    "[[...document.querySelectorAll('#status p')].filter((e) => e.checkVisibility()).map((e) => e.innerText.trim().replace(/\\s+/g, ' ')), document.querySelector('.unread').checkVisibility()]")
                self.assertEqual(shown, [lines, unread > 0])
        self.script("window.asked = []; window.fetch = (path) => { asked.push(path); return Promise.reject(new TypeError('away')); }")
        self.state_is({"sync": "error", "syncReport": {"waiting": 1, "trouble": "The sync server refused the token (401)."}},
                      "[...document.querySelectorAll('#status button')].find((e) => e.innerText === 'Try again').click()")
        self.until(lambda: "/api/v1/sync" in self.script("return asked"), "nothing is sent")

    def test_quick_and_custom_amounts(self):
        tracker("settings", "set", "hydration.quickAddMl", "150,175")
        self.show()
        self.until(lambda: [each.text for each in self.all(".quick button")] == ["+150 ml", "+175 ml", "Custom"], "the buttons")
        self.button("+175 ml")
        self.totals(175)
        for wrong in ("0", "2001", "1.5", ""):
            self.button("Custom")
            self.type("dialog input", wrong)
            self.button("Add", "dialog")
            self.wait("dialog .error")
            self.assertIn("1 to 2000", self.text("dialog .error"))
            self.button("Cancel", "dialog")
            self.gone("dialog")
        self.button("Custom")
        self.type("dialog input", "2000")
        self.button("Add", "dialog")
        self.totals(2175)

    def test_confetti_once_on_crossing_and_never_on_a_reload(self):
        watch = "window.seen = 0; new MutationObserver(() => { seen = Math.max(seen, document.querySelectorAll('.confetti').length); }).observe(document.body, {childList: true})"
        self.log(2000)
        self.show()
        self.says(AMOUNT, "2,000 ml / 2,500 ml")
        self.script(watch)
        self.button("+500 ml")
        self.until(lambda: self.script("return seen") == 1, "no confetti on the crossing")
        self.gone(".confetti")
        self.show()
        self.says(".headline", "Goal reached!")
        self.assertEqual(self.all(".confetti"), [])
        # Once a day: nothing after an undo and a second crossing.
        self.script(watch)
        tracker("undo")
        self.says(AMOUNT, "2,000 ml / 2,500 ml")
        self.log(500)
        self.says(AMOUNT, "2,500 ml / 2,500 ml")
        self.assertEqual(self.script("return seen"), 0)

    def test_undo_edit_delete(self):
        self.log(200, 300)
        self.show()
        self.rows(2)
        self.click(".drinks li:first-child button[aria-label^=Edit]")
        self.type("dialog input[inputmode=decimal]", "350")
        self.button("Save", "dialog")
        self.totals(550)
        self.says(".drinks li:first-child strong", "350 ml")
        self.click(".drinks li:last-child button[aria-label^=Delete]")
        self.totals(350)
        self.button("Undo", ".list-card")
        self.totals(550)
        self.rows(2)

    def test_undo_reverts_what_is_shown_here_in_the_language_of_the_page(self):
        self.show()
        self.speak("de")
        self.show()
        self.log(300)
        self.rows(1)
        # Today shows nothing of the session, so nothing of it is reverted here.
        tracker("session", "start")
        tracker("drink")
        self.button("+500 ml")
        # The pointer keeps the message open.
        self.wait(".toast")
        self.script("document.querySelector('.toast').dispatchEvent(new Event('pointerenter'))")
        self.totals(800)
        tracker("water")
        # Another client's drink in between: the message reverts its own drink.
        self.log(200)
        self.totals(1000)
        self.button("Rückgängig", ".toast")
        self.totals(500)
        self.says(".toast span", "Rückgängig gemacht: 500 ml")
        # The event with the new total can arrive before the response; until then the button does nothing more.
        for total, amount in ((300, 200), (0, 300)):
            self.button("Rückgängig", ".list-card")
            self.totals(total)
            self.until(lambda: f"Rückgängig gemacht: {amount} ml" in [one.text for one in self.all(".toast span")], f"{amount} ml are reverted")
        self.button("Rückgängig", ".list-card")
        self.says(".toast.problem span", "Es gibt nichts zurückzunehmen.")
        state = tracker("status")["waterline"]
        self.assertEqual((state["drinks"], state["waters"]), (1, 1))

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
        self.says(".toast span", "250 ml logged")
        self.assertEqual([each.get_attribute("aria-label") for each in self.all(".toast button")], ["Close"])

    def test_every_change_that_can_be_reverted_has_a_text_in_both_languages(self):
        self.show()
        for language, wanted in (("en", "the reset of 2 drinks"), ("de", "Leeren des Tages (2 Einträge)")):
            words = self.module(f"/texts-{language}.js", "({ default: table }) => Object.fromEntries(Object.entries(table.changes).map(([kind, words]) => [kind, words(kind === 'reset' ? 2 : '250 ml')]))")
            self.assertEqual(words["reset"], wanted)
            self.assertEqual(sorted(words), ["deleteDrink", "deleteWater", "deletion", "drink", "edit", "editDrink", "editWater", "exclusion", "log", "reset", "water"])
            self.assertEqual([kind for kind, text in words.items() if not text or "undefined" in text], [])

    def test_a_drink_that_another_client_has_changed_is_reported(self):
        self.log(200)
        self.show()
        self.rows(1)
        # The row before the event of the other client's change.
        self.script("document.querySelector('.drinks li').drink.number = 4711")
        self.click(".drinks li button[aria-label^=Delete]")
        self.until(lambda: (self.text(".toast") or "").startswith("This drink was changed or deleted on another device."), "it is not reported")
        self.until(lambda: self.script("return document.querySelector('.drinks li').drink.number") != 4711, "the list is not read again")

    def test_greetings_by_the_hour(self):
        self.show()
        for hour, words in ((3, "Good night!"), (4, "Good morning!"), (11, "Good morning!"), (12, "Good afternoon!"), (16, "Good afternoon!"), (17, "Good evening!"), (21, "Good evening!"), (22, "Good night!")):
            self.hour(hour)
            if tracker("status")["greeting"] == words:  # Not if the hour ended in between.
                self.says(".greeting", words)

    def test_a_demo_says_that_time_runs_faster_and_has_room_for_it(self):
        self.show()
        self.assertFalse(self.one("#demo").is_displayed())
        for width, height in ((320, 640), (360, 740), (412, 915)):
            with self.subTest(width=width):
                self.emulate(width, height)
                self.open("/", ".quick .chip")
                words, foot, bar = self.state_is({"service": {"speed": 480}}, """[document.getElementById('demo').checkVisibility() && document.getElementById('demo').textContent,
                    Math.max(...[...document.querySelectorAll('.quick .chip')].map((e) => e.getBoundingClientRect().bottom)), document.getElementById('nav').getBoundingClientRect().top]""")
                self.assertIn("time runs 480 times as fast", words)
                self.assertLessEqual(foot, bar)

    # Without a connection.
    def test_the_page_says_how_old_it_is_and_keeps_taps(self):
        self.log(100)
        self.show()
        self.says(AMOUNT, "100 ml / 2,500 ml")
        self.offline()
        self.until(lambda: re.match(r"As of \d\d:\d\d, the service does not answer\.", self.text("#staleness") or ""), "the lost connection is not reported")
        self.click(".vessel")
        self.click(".vessel")
        self.until(lambda: "2 entries waiting" in self.text("#staleness"), "the taps are not reported")
        self.online()
        self.totals(600)
        self.gone("#staleness")
        self.says(AMOUNT, "600 ml / 2,500 ml")

    def test_an_old_response_is_not_a_connection(self):
        self.show()
        self.says(AMOUNT, "0 ml / 2,500 ml")
        self.script(HOLD)
        self.until(lambda: self.script("return window.isHeld"), "no response is held")
        self.offline()
        away = lambda: "the service does not answer." in (self.text("#staleness") or "")
        self.until(away, "the lost connection is not reported")
        # What waits for the response runs before the script ends.
        self.driver.execute_async_script("const done = arguments[0]; release(); setTimeout(done, 0);")
        self.assertTrue(away(), "an old response hides the lost connection")
        self.online()
        self.gone("#staleness")

    def test_a_slow_response_does_not_replace_a_newer_event(self):
        self.show()
        self.says(AMOUNT, "0 ml / 2,500 ml")
        self.script(HOLD)
        self.until(lambda: self.script("return window.isHeld"), "no response is held")
        self.log(100)
        self.says(AMOUNT, "100 ml / 2,500 ml")
        self.driver.execute_async_script("const done = arguments[0]; release(); setTimeout(done, 0);")
        self.assertEqual(self.text(AMOUNT), "100 ml / 2,500 ml")

    def test_the_page_follows_a_clock_that_is_set_back(self):
        """Every later state has an earlier time than the state before the correction."""
        self.show()
        self.says(AMOUNT, "0 ml / 2,500 ml")
        self.module("/live.js", "({ acceptState, live }) => acceptState({...live.state, timestamp: live.state.timestamp + 7200})")
        self.log(100)
        self.says(AMOUNT, "100 ml / 2,500 ml")
        self.click(".vessel")
        self.says(AMOUNT, "350 ml / 2,500 ml")
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
            self.until(lambda: len(self.waiting()) == 1, self.waiting)
            self.driver.switch_to.window(second)
            self.button("+500 ml")
            self.script("Storage.prototype.getItem = window.seen")
        finally:
            for handle in set(self.driver.window_handles) - {first}:
                self.driver.switch_to.window(handle)
                self.driver.close()
            self.driver.switch_to.window(first)
        self.assertEqual(len(self.waiting()), 2)
        self.show()
        self.totals(600)
        self.until(lambda: not self.waiting(), self.waiting)

    def test_taps_of_a_fast_clock_are_logged_after_its_correction(self):
        """The service rejects a time in the future; the page must not discard the tap."""
        ahead = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.waits(("/drinks", {"ml": 100, "at": ahead}), ("/drinks", {"ml": 250, "at": ahead}))
        self.totals(350)
        self.until(lambda: not self.waiting("queue", "refused"), "something still waits")
        self.assertFalse(self.one(".refusals").is_displayed())

    def test_a_rejected_write_stays_with_its_reason_until_it_is_discarded_or_sent_again(self):
        self.waits(("/session/water", {}), ("/drinks", {"ml": 5000}), ("/drinks", {"ml": 200}))
        self.totals(200)
        said = lambda: self.script("return [...document.querySelectorAll('.refusals .notice')].map(each => [each.querySelector('strong').textContent.replace(/, \\d\\d:\\d\\d$/, ''), each.querySelector('p').textContent])")
        both = [["Not logged: Water", "There is no active session. Start one first."], ["Not logged: 5,000 ml", "5000 ml is outside the range of one drink: 1-2000 ml."]]
        self.until(lambda: said() == both, said)
        # Also after a reload.
        self.show()
        self.until(lambda: said() == both, said)
        self.button("Discard", ".refusals .notice:last-child")
        self.until(lambda: said() == both[:1], said)
        tracker("session", "start")
        self.button("Try again", ".refusals")
        self.gone(".refusals")
        self.until(lambda: tracker("status")["waterline"]["waters"] == 1, "the water is not logged")
        self.assertEqual(self.waiting("refused"), [])
