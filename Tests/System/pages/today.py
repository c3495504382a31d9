"""Today: the states of the main view (tracker law A9), the halo, the cup, the list, confetti."""
import datetime
import math
import re
import subprocess

from selenium.webdriver.common.action_chains import ActionChains

from .browser import PageCase, tracker
from . import browser

ROUND = 2 * math.pi * 115


class Today(PageCase):
    def show(self, ready=".headline"):
        self.open("/", ready)
        self.until(lambda: self.text(".headline"), "no headline")

    # The rows of A9.
    def test_counting_shows_the_countdown_and_its_caption(self):
        tracker("log", 200)
        self.show()
        self.says(".caption", "until next drink")
        self.assertRegex(self.text(".headline"), r"^\d+:\d\d$")
        seconds = lambda: (lambda parts: int(parts[0]) * 60 + int(parts[1]))(self.text(".headline").split(":"))
        first = seconds()
        self.until(lambda: first - seconds() >= 2, "the countdown stands still")
        due = tracker("status")["timeUntilNext"]
        self.assertAlmostEqual(seconds(), due, delta=2)
        self.assertFalse(self.one(".halo-rainbow").is_displayed())

    def test_alerting_says_that_a_drink_is_due_and_shows_a_rainbow_over_the_whole_ring(self):
        self.show()
        self.says(".headline", "A drink is due now.")
        self.wait(".halo-rainbow")
        style = self.script("const s = getComputedStyle(document.querySelector('.halo-rainbow')); return [s.backgroundImage, s.animationDuration, s.animationTimingFunction, s.animationIterationCount]")
        self.assertEqual(re.findall(r"rgb\(([^)]*)\)", style[0]), ["255, 0, 0", "255, 165, 0", "255, 255, 0", "0, 128, 0", "0, 0, 255", "128, 0, 128", "255, 0, 0"])
        # It turns, so its box does too: its place in the halo does not.
        self.assertEqual(self.script("const r = document.querySelector('.halo-rainbow'); return [r.offsetLeft, r.offsetTop, r.offsetWidth, r.offsetHeight]"), [0, 0, 250, 250], "the whole ring")
        self.assertEqual(style[1:], ["2s", "linear", "infinite"])
        self.assertEqual(tracker("status")["dailyTotalMl"], 0, "also where nothing was drunk (K-A15)")

    def test_outside_hours_says_so(self):
        self.hour(2)
        self.show()
        self.says(".headline", "Outside drinking hours")
        self.assertFalse(self.one(".halo-rainbow").is_displayed())

    def test_goal_reached_says_so(self):
        for amount in (2000, 500):
            tracker("log", amount)
        self.show()
        self.says(".headline", "Goal reached!")

    def test_no_countdown_stays_when_the_goal_is_met(self):
        tracker("log", 200)
        self.show()
        self.says(".caption", "until next drink")
        for amount in (2000, 300):
            tracker("log", amount)
        self.says(".headline", "Goal reached!")
        self.assertFalse(self.one(".caption").is_displayed())
        self.assertEqual(self.script("return document.querySelector('.soon strong').textContent"), "")
        self.assertIsNone(tracker("status")["timeUntilNext"])

    def test_amounts_are_shown_in_the_units_of_the_person(self):
        tracker("settings", "set", "hydration.units", "oz")
        tracker("log", 355)
        self.show()
        said = lambda: self.script("return document.body.innerText")
        self.until(lambda: "12 oz" in said(), "the drink in ounces")
        for words in ("12 oz / 84.5 oz", "+8.5 oz", "+3.4 oz"):
            self.until(lambda: words in said(), words)
        self.assertNotRegex(said(), r"\d ml\b")
        tracker("settings", "set", "hydration.units", "unset")
        self.until(lambda: "355 ml" in said(), "and in millilitres again, at once")

    def test_an_empty_list_says_so(self):
        self.show()
        self.wait(".drink-list .empty")
        self.says(".drink-list .empty", "No drinks recorded yet")

    def test_rows_show_drop_local_time_and_amount_newest_first(self):
        for amount in (100, 1250, 330):
            tracker("log", amount)
        self.show()
        self.until(lambda: len(self.all(".drinks li")) == 3, "three rows")
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
        # The service's own bottle is there, and its next poll takes the error back, maybe before anybody looks: the page itself writes down
        # what its line said, and another gateway fails until it did.
        self.script("""
            const line = document.querySelector('.error-line'), hint = document.querySelector('.error-hint'), words = each => each.checkVisibility() ? each.textContent : '';
            window.told = [];
            new MutationObserver(() => told.push([words(line), words(hint), getComputedStyle(line).color]))
                .observe(line.parentElement, {subtree: true, childList: true, characterData: true, attributes: true});""")
        told = lambda: self.script("return told")

        def shown():
            subprocess.run([f"{browser.options.programs}/waterh-gateway", "poll", "--link", "unix:/nonexistent/bottle", "--store", browser.options.store],
                           capture_output=True, timeout=60)
            return next((colour for line, hint, colour in told() if [line, hint] == ["Bottle not found", "Could not find bottle. Make sure it's nearby."]), None)

        colour = self.until(shown, lambda: f"the error line and its hint said {told()}")
        red, green, blue = map(int, re.findall(r"\d+", colour)[:3])
        self.assertTrue(red > 150 and green < 80 and blue < 80, (red, green, blue))

    # The halo's geometry.
    def test_the_arc_is_progress_times_the_circumference(self):
        tracker("settings", "set", "hydration.goalMl", 2000)
        self.show()
        for amount, share in ((None, 0), (1000, 0.5), (500, 0.75), (500, 1)):
            if amount:
                tracker("log", amount)
            arc = lambda: self.script("const a = document.querySelector('.halo-progress'); return [Number(a.getAttribute('stroke-dasharray')), Number(a.getAttribute('stroke-dashoffset')), a.getAttribute('visibility')]")
            self.until(lambda: abs(arc()[1] - ROUND * (1 - share)) < 0.01, lambda: f"at {share} the arc is {arc()}")
            self.assertAlmostEqual(arc()[0], ROUND, places=3)
            self.assertEqual(arc()[2], "visible" if share else "hidden")

    def test_the_ring_is_as_the_law_draws_it(self):
        tracker("log", 600)
        self.show()
        ring = self.script("""
            const arc = document.querySelector('.halo-progress'), track = getComputedStyle(document.querySelector('.halo-track')), box = document.querySelector('.halo').getBoundingClientRect();
            const label = getComputedStyle(document.querySelector('.halo-label')), drop = document.querySelector('.halo-drop').getBoundingClientRect(), style = getComputedStyle(arc);
            return [arc.getAttribute('r'), arc.getAttribute('stroke-width'), arc.getAttribute('stroke-linecap'), arc.getAttribute('transform'), box.height, track.strokeOpacity, label.fontSize, drop.height, style.transitionDuration, style.transitionTimingFunction];""")
        self.assertEqual(ring, ["115", "20", "round", "rotate(-90 125 125)", 250, "0.2", "37.5px", 20, "0.5s", "ease-in-out"])
        self.says(".halo-label", tracker("status")["haloLabel"])

    def test_the_target_stands_behind_at_expected_over_goal(self):
        self.show()
        state = tracker("status")
        self.assertGreaterEqual(state["deficitMl"], 25)
        level = lambda: float(self.script("return document.querySelector('.layer.target').style.getPropertyValue('--level')"))
        self.until(lambda: abs(level() - tracker("status")["targetProgress"]) < 0.003, lambda: f"the target is at {level()}")
        self.assertEqual(self.script("return document.querySelector('.layer.target').dataset.urgency"), str(state["displayUrgency"]))
        self.says(".behind", tracker("status")["behindText"])
        self.assertIn("behind target", self.text(".behind"))
        # The same behind the halo's own arc.
        arc = lambda: self.script("const a = document.querySelector('.halo-target'); return [Number(a.getAttribute('stroke-dashoffset')), a.getAttribute('visibility'), a.dataset.urgency]")
        self.assertAlmostEqual(arc()[0], ROUND * (1 - level()), places=2)
        self.assertEqual(arc()[1:], ["visible", str(state["displayUrgency"])])
        # A few millilitres are shown as none.
        tracker("log", tracker("status")["expectedMl"] - 8)
        self.until(lambda: level() == 0 and arc()[1] == "hidden", "where nothing is behind no target is shown")
        self.says(".behind", "On track")
        self.assertIn(tracker("status")["deficitMl"], range(1, 25))

    # Drinking.
    def test_a_tap_anywhere_on_the_cup_adds_exactly_one_cup(self):
        tracker("settings", "set", "hydration.cupMl", 330)
        self.show()
        self.says(".vessel-hint", "+330 ml")
        cup = self.one(".vessel")
        for number, (x, y) in enumerate(((0, 0), (-0.45, -0.45), (0.3, 0.45)), 1):
            size = cup.size
            ActionChains(self.driver).move_to_element_with_offset(cup, x * size["width"], y * size["height"]).click().perform()
            self.totals(330 * number)

    def test_the_cup_fills_to_total_over_goal(self):
        tracker("log", 1000)
        self.show()
        self.until(lambda: self.script("return document.querySelector('.layer.water').style.getPropertyValue('--level')") == "0.4", "the level")
        share = self.script("const v = document.querySelector('.vessel').getBoundingClientRect(); return v.height / innerHeight")
        self.assertAlmostEqual(share, 0.6, delta=0.02)

    def test_what_moves_moves_by_transforms(self):
        self.show()
        moved = self.script("return document.querySelector('.vessel').getAnimations({subtree: true}).flatMap(a => a.effect.getKeyframes().flatMap(k => Object.keys(k))).filter(k => !['offset', 'easing', 'composite', 'computedOffset', 'transform'].includes(k))")
        self.assertEqual(moved, [])
        self.assertEqual(self.script("return document.querySelector('.vessel').getAnimations({subtree: true}).filter(a => a.animationName === 'wave').length"), 2, "the waves")

    def test_a_tap_is_felt_where_the_device_can(self):
        self.before_each_page("window.felt = []; Object.defineProperty(navigator, 'vibrate', {value: pattern => { felt.push(pattern); return true; }})")
        self.show()
        self.click(".vessel")
        self.totals(250)
        self.assertEqual(self.script("return felt"), [15])

    def test_the_colours_are_the_laws(self):
        self.show()
        names = ["background-top", "background-bottom", "primary", "secondary", "accent", "card", "text", "text-second", "success", "amber", "red", "no-data"]
        colours = self.script("const s = getComputedStyle(document.documentElement); return arguments[0].map(n => s.getPropertyValue('--' + n).trim())", names)
        self.assertEqual(colours, ["#E8F4FD", "#F0F8FF", "#42A5F5", "#90CAF9", "#1E88E5", "#FFFFFF", "#1A1A2E", "#6B7B8D", "#66BB6A", "#FFB300", "#E53935", "#CFD8DC"])
        painted = self.script("return [getComputedStyle(document.body).backgroundImage, getComputedStyle(document.querySelector('.depth')).backgroundImage, getComputedStyle(document.querySelector('.card')).backgroundColor]")
        self.assertEqual(painted, ["linear-gradient(rgb(232, 244, 253), rgb(240, 248, 255))", "linear-gradient(rgb(66, 165, 245), rgb(30, 136, 229))", "rgb(255, 255, 255)"])

    def test_the_figure_is_a_choice_that_is_remembered(self):
        self.show()
        self.click("[data-kind=figure]")
        self.assertEqual(self.one(".vessel").get_attribute("data-shape"), "figure")
        self.show()
        self.assertEqual(self.one(".vessel").get_attribute("data-shape"), "figure")
        self.click(".vessel")
        self.totals(250)

    def test_what_waits_for_the_sync_server_and_unread_notifications_are_shown(self):
        self.show()
        shown = lambda: self.driver.execute_async_script("""
            const [more, done] = [arguments[0], arguments[1]];
            import('/live.js').then(({ acceptState, live }) => {
              acceptState({...live.state, ...more});
              done([[...document.querySelectorAll('#status p')].filter((e) => e.checkVisibility()).map((e) => e.innerText.trim().replace(/\\s+/g, ' ')), document.querySelector('.unread').checkVisibility()]);
            });""", {"sync": sync, "syncReport": {"waiting": waiting, "trouble": trouble, "refused": 0, "refusals": []}, "unread": unread, "notifications": "enabled"})
        for sync, waiting, trouble, unread, lines in (
                ("idle", 0, None, 0, []), ("pending", 3, None, 2, ["3 changes waiting to sync."]),
                ("error", 1, "The sync server refused the token (401).", 0, ["The sync server refused the token (401). 1 change waiting to sync. Try again"])):
            with self.subTest(sync=sync):
                self.assertEqual(shown(), [lines, unread > 0])
        self.script("window.asked = []; window.fetch = (path) => { asked.push(path); return Promise.reject(new TypeError('away')); }")
        self.button("Try again", "#status")
        self.until(lambda: "/api/v1/sync" in self.script("return asked"), "nothing is sent")

    def test_quick_amounts_are_the_settings(self):
        tracker("settings", "set", "hydration.quickAddMl", "150,175")
        self.show()
        self.until(lambda: [each.text for each in self.all(".quick button")] == ["+150 ml", "+175 ml", "Custom"], "the buttons")
        self.button("+175 ml")
        self.totals(175)

    def test_custom_amounts(self):
        self.show()
        for wrong in ("0", "2001", "1.5", ""):
            self.button("Custom")
            self.type("dialog input", wrong)
            self.button("Add", "dialog")
            self.wait("dialog .error")
            self.assertIn("1 to 2000", self.text("dialog .error"))
            self.button("Cancel", "dialog")
            self.gone("dialog")
        self.assertEqual(self.total(), 0)
        self.button("Custom")
        self.type("dialog input", "2000")
        self.button("Add", "dialog")
        self.totals(2000)

    def test_confetti_once_on_crossing_and_never_on_a_reload(self):
        tracker("log", 2000)
        self.show()
        self.says(".amount", "2,000 ml / 2,500 ml")
        self.script("window.seen = 0; new MutationObserver(() => { seen = Math.max(seen, document.querySelectorAll('.confetti').length); }).observe(document.body, {childList: true})")
        self.button("+500 ml")
        self.until(lambda: self.script("return seen") == 1, "no confetti on the crossing")
        self.gone(".confetti")
        self.show()
        self.says(".headline", "Goal reached!")
        self.assertEqual(self.all(".confetti"), [])
        # Once a day: taken back and reached again, nothing.
        self.script("window.seen = 0; new MutationObserver(() => { seen = Math.max(seen, document.querySelectorAll('.confetti').length); }).observe(document.body, {childList: true})")
        tracker("undo")
        self.says(".amount", "2,000 ml / 2,500 ml")
        tracker("log", 500)
        self.says(".amount", "2,500 ml / 2,500 ml")
        self.assertEqual(self.script("return seen"), 0)

    def test_undo_edit_delete(self):
        tracker("log", 200)
        tracker("log", 300)
        self.show()
        self.until(lambda: len(self.all(".drinks li")) == 2, "two rows")
        self.click(".drinks li:first-child button[aria-label^=Edit]")
        self.type("dialog input[inputmode=decimal]", "350")
        self.button("Save", "dialog")
        self.totals(550)
        self.says(".drinks li:first-child strong", "350 ml")
        self.click(".drinks li:last-child button[aria-label^=Delete]")
        self.totals(350)
        self.button("Undo", ".list-card")
        self.totals(550)
        self.until(lambda: len(self.all(".drinks li")) == 2, "the row is back")

    def test_undo_takes_back_what_is_shown_here_and_says_so_in_the_pages_language(self):
        self.show()
        self.script("localStorage.setItem('waterh.language', '\"de\"')")
        self.show()
        tracker("log", 300)
        self.until(lambda: len(self.all(".drinks li")) == 1, "one row")
        # Of the session Today shows nothing, so nothing of it is taken back here.
        tracker("session", "start")
        tracker("drink")
        self.button("+500 ml")
        # Somebody's pointer holds the message, however long it takes.
        self.wait(".toast")
        self.script("document.querySelector('.toast').dispatchEvent(new Event('pointerenter'))")
        self.totals(800)
        tracker("water")
        # Somebody else's drink in between: the message takes back what it speaks of.
        tracker("log", 200)
        self.totals(1000)
        self.button("Rückgängig", ".toast")
        self.totals(500)
        self.says(".toast span", "Rückgängig gemacht: 500 ml")
        # The event with the new total may be here before the answer, and until that is here the button does nothing more.
        for total, amount in ((300, 200), (0, 300)):
            self.button("Rückgängig", ".list-card")
            self.totals(total)
            self.until(lambda: f"Rückgängig gemacht: {amount} ml" in [one.text for one in self.all(".toast span")], f"{amount} ml are taken back")
        self.button("Rückgängig", ".list-card")
        self.says(".toast.problem span", "Es gibt nichts zurückzunehmen.")
        state = tracker("status")["waterline"]
        self.assertEqual((state["drinks"], state["waters"]), (1, 1))

    def test_a_tap_whose_answer_does_not_say_which_drink_it_was_offers_no_undo(self):
        """An adversary's finding: the service was killed before it had kept its answer, and Undo took back what somebody else had logged since."""
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

    def test_every_change_that_can_be_taken_back_has_words_in_both_languages(self):
        self.show()
        for language, wanted in (("en", "the reset of 2 drinks"), ("de", "Leeren des Tages (2 Einträge)")):
            words = self.driver.execute_async_script("""
                const [language, done] = arguments;
                import(`/texts-${language}.js`).then(({ default: table }) => done(Object.fromEntries(Object.entries(table.changes).map(([kind, words]) => [kind, words(kind === 'reset' ? 2 : '250 ml')]))));
            """, language)
            self.assertEqual(words["reset"], wanted)
            self.assertEqual(sorted(words), ["deleteDrink", "deleteWater", "deletion", "drink", "edit", "editDrink", "editWater", "exclusion", "log", "reset", "water"])
            for kind, text in words.items():
                self.assertTrue(text and "undefined" not in text, (language, kind, text))

    def test_a_drink_that_another_page_has_taken_is_told_in_words(self):
        tracker("log", 200)
        self.show()
        self.until(lambda: len(self.all(".drinks li")) == 1, "one row")
        # As the row is between the other page's change and the event that tells of it.
        self.script("document.querySelector('.drinks li').drink.number = 4711")
        self.click(".drinks li button[aria-label^=Delete]")
        self.until(lambda: (self.text(".toast") or "").startswith("This drink was changed or deleted on another device."), "what happened is not told")
        self.until(lambda: self.script("return document.querySelector('.drinks li').drink.number") != 4711, "the list is not read again")

    def test_a_drink_logged_elsewhere_is_here_within_two_seconds(self):
        self.show()
        tracker("log", 123)
        self.until(lambda: (self.text(".amount") or "").startswith("123 ml"), "the total")

    def test_greetings_by_the_hour(self):
        self.show()
        for hour, words in ((3, "Good night!"), (4, "Good morning!"), (11, "Good morning!"), (12, "Good afternoon!"), (16, "Good afternoon!"), (17, "Good evening!"), (21, "Good evening!"), (22, "Good night!")):
            self.hour(hour)
            if tracker("status")["greeting"] == words:  # Not when the hour ended in between.
                self.says(".greeting", words)

    def test_a_demonstration_says_that_time_flies(self):
        self.show()
        self.assertFalse(self.one("#demo").is_displayed())
        # Looked at at once: the service's next word is that its time does not.
        shown = self.driver.execute_async_script("""
            const [speed, done] = arguments;
            import('/live.js').then(({ acceptState, live }) => {
              acceptState({...live.state, service: {...live.state.service, speed}});
              const demo = document.getElementById('demo');
              done([demo.checkVisibility(), demo.textContent]);
            });""", 480)
        self.assertTrue(shown[0] and "time runs 480 times as fast" in shown[1], shown)

    def test_in_a_demonstration_too_the_amounts_stand_above_the_bar(self):
        for width, height in ((320, 640), (360, 740), (412, 915)):
            with self.subTest(width=width):
                self.emulate(width, height)
                self.open("/", ".quick .chip")
                foot, bar = self.driver.execute_async_script("""
                    const done = arguments[0];
                    import('/live.js').then(({ acceptState, live }) => {
                      acceptState({...live.state, service: {...live.state.service, speed: 480}});
                      done([Math.max(...[...document.querySelectorAll('.quick .chip')].map((e) => e.getBoundingClientRect().bottom)), document.getElementById('nav').getBoundingClientRect().top]);
                    });""")
                self.assertLessEqual(foot, bar)

    def test_where_drinks_came_from_stands_in_one_column(self):
        for amount in (5, 96, 250, 1250):
            tracker("log", amount)
        self.show()
        self.wait(".drinks li:nth-child(4)")
        self.assertEqual(len(set(self.script("return [...document.querySelectorAll('.drinks .from')].map((e) => Math.round(e.getBoundingClientRect().left))"))), 1)

    # Being away.
    def test_the_page_says_how_old_it_is_and_keeps_taps(self):
        tracker("log", 100)
        self.show()
        self.says(".amount", "100 ml / 2,500 ml")
        self.offline()
        self.until(lambda: re.match(r"As of \d\d:\d\d, the service does not answer\.", self.text("#staleness") or ""), "it is not said that the service is away")
        self.click(".vessel")
        self.click(".vessel")
        self.until(lambda: "2 entries waiting" in self.text("#staleness"), "the taps are not told")
        self.online()
        self.totals(600)
        self.gone("#staleness")
        self.says(".amount", "600 ml / 2,500 ml")

    def test_an_answer_from_before_the_network_went_does_not_say_that_the_service_is_there(self):
        self.show()
        self.says(".amount", "0 ml / 2,500 ml")
        # A question whose answer takes its time: in between the network goes, and the next question finds nobody.
        self.script("""
            const real = fetch; window.held = new Promise((resolve) => { window.letGo = resolve; });
            window.fetch = async (path, options) => {
              const answer = await real(path, options);
              window.fetch = real;
              await held;
              return answer;
            };
            document.dispatchEvent(new Event('visibilitychange'));""")
        self.until(lambda: self.script("return !fetch.toString().includes('held')"), "the held answer is not there")
        self.offline()
        away = lambda: "the service does not answer." in (self.text("#staleness") or "")
        self.until(away, "it is not said that the service is away")
        # What waits for the answer runs before the script ends.
        self.driver.execute_async_script("const done = arguments[0]; letGo(); setTimeout(done, 0);")
        self.assertTrue(away(), "an old answer says that the service is there")
        self.online()
        self.gone("#staleness")

    def test_the_page_goes_on_when_the_clock_of_the_service_is_put_back(self):
        """An adversary's finding: the open page stood still until the clock had caught up, since every state said an earlier time than the one before."""
        self.show()
        self.says(".amount", "0 ml / 2,500 ml")
        # As it was told while the clock was two hours fast.
        self.driver.execute_async_script("""
            import('/live.js').then(({ acceptState, live }) => { acceptState({...live.state, timestamp: live.state.timestamp + 7200}); arguments[0](); });""")
        tracker("log", 100)
        self.says(".amount", "100 ml / 2,500 ml")
        self.click(".vessel")
        self.says(".amount", "350 ml / 2,500 ml")
        right = self.driver.execute_async_script("import('/live.js').then(({ serviceNow }) => arguments[0](Math.abs(serviceNow() - Date.now()) < 60_000));")
        self.assertTrue(right, "the page's idea of the service's clock is not put right")

    def test_a_slow_answer_does_not_take_back_what_the_stream_has_told(self):
        self.show()
        self.says(".amount", "0 ml / 2,500 ml")
        self.script("""
            const real = fetch; window.held = new Promise((resolve) => { window.letGo = resolve; });
            window.fetch = async (path, options) => {
              const answer = await real(path, options);
              if (!String(path).endsWith('/state')) return answer;
              window.fetch = real; window.isHeld = true;
              await held;
              return answer;
            };
            document.dispatchEvent(new Event('visibilitychange'));""")
        self.until(lambda: self.script("return window.isHeld"), "the held answer is not there")
        tracker("log", 100)
        self.says(".amount", "100 ml / 2,500 ml")
        self.driver.execute_async_script("const done = arguments[0]; letGo(); setTimeout(done, 0);")
        self.assertEqual(self.text(".amount"), "100 ml / 2,500 ml")

    def waits(self, *writes):
        """The page opens, and these wait on this device from before."""
        self.show()
        self.script("localStorage.setItem('waterh.queue', JSON.stringify(arguments[0].map(([path, body], index) => ({ key: `tap-${Date.now()}-${index}`, method: 'POST', path, body, made: Date.now() - 1000 }))))", writes)
        self.show()

    def test_two_pages_that_tap_at_the_same_moment_lose_nothing(self):
        """An adversary's finding: each wrote the whole list, the second one without the first one's tap, which it had not seen yet."""
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

    def test_taps_of_a_clock_that_was_fast_are_logged_once_it_is_right(self):
        """An adversary's finding: they were thrown away, since the service says that they lie in the time to come."""
        ahead = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.waits(("/drinks", {"ml": 100, "at": ahead}), ("/drinks", {"ml": 250, "at": ahead}))
        self.totals(350)
        self.until(lambda: not self.waiting("queue", "refused"), "something still waits")
        self.assertFalse(self.one(".refusals").is_displayed())

    def test_what_was_refused_stays_with_its_reason_until_it_is_put_away_or_sent_again(self):
        self.waits(("/session/water", {}), ("/drinks", {"ml": 5000}), ("/drinks", {"ml": 200}))
        self.totals(200)
        said = lambda: self.script("return [...document.querySelectorAll('.refusals .notice')].map(each => [each.querySelector('strong').textContent.replace(/, \\d\\d:\\d\\d$/, ''), each.querySelector('p').textContent])")
        both = [["Not logged: Water", "There is no active session. Start one first."], ["Not logged: 5,000 ml", "5000 ml is outside the range of one drink: 1-2000 ml."]]
        self.until(lambda: said() == both, said)
        # Also on the page of tomorrow, and in the person's language.
        self.show()
        self.until(lambda: said() == both, said)
        self.button("Discard", ".refusals .notice:last-child")
        self.until(lambda: said() == both[:1], said)
        tracker("session", "start")
        self.button("Try again", ".refusals")
        self.gone(".refusals")
        self.until(lambda: tracker("status")["waterline"]["waters"] == 1, "the water is not logged")
        self.assertEqual(self.waiting("refused"), [])

    def test_a_tap_whose_answer_is_lost_counts_once(self):
        self.show()
        self.script("""
            const real = fetch; window.sent = [];
            window.fetch = async (path, options) => {
              const answer = await real(path, options);
              if (options?.method !== 'POST') return answer;
              sent.push(options.headers['Idempotency-Key']);
              if (sent.length < 3) throw new TypeError('the answer is lost');
              return answer;
            };""")
        self.click(".vessel")
        self.until(lambda: self.script("return sent.length") >= 3, "it is not sent again")
        self.assertEqual(len(set(self.script("return sent"))), 1)
        self.totals(250)
        self.says(".amount", "250 ml / 2,500 ml")
