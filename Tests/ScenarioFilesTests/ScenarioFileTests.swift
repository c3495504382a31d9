import CommandKit
import ScenarioFiles
import Scenarios
import Simulation
import Support
import Testing

/// What may stand in the file of a scenario, and what is said of a bad one.
@Suite struct ScenarioFileTests {
    static let good = """
        title = "A day" # with a { in it
        story = \"\"\"
        Sips, [and] "more".
        \"\"\"
        steps = [
          { at = "8h", sip = 120 },
          { at = "9h", poll = "disconnect@12,lose=0.1", kill-after = 3 }, # {
          { at = "10h", sip = 50, times = 3, every = "10m" },
          { at = "11h", poll = "", by = "the phone" },
          { at = "12h", broker-away = "90m" },
        ]
        [bottle]
        habits = "ring=20"
        [host]
        zone = "Europe/Berlin"
        [promise]
        days = { "2026-06-15" = 270 }
        heard = 4
        heard-again = 0
        heard-in-order = true
        """

    @Test("a file is read, and repetitions are steps")
    func reads() throws {
        let scenario = try ScenarioFile(text: Self.good, name: "day.toml").scenario
        #expect(scenario.steps.count == 7)
        #expect(scenario.steps[6] == ScenarioStep(.seconds(12 * 3600), .brokerAway(.seconds(5400))))
        #expect(
            scenario.hasBroker && scenario.promise.heard == 4 && scenario.promise.heardAgain == 0
                && scenario.promise.hearsInOrder)
        #expect(try ScenarioFile(text: ScenarioText.text(scenario), name: "again").scenario == scenario)
        #expect(scenario.steps[4] == ScenarioStep(.seconds(10 * 3600 + 1200), .sip(ml: 50)))
        #expect(scenario.habits.ring == 20)
        #expect(scenario.story == "Sips, [and] \"more\".")
    }

    @Test("days of chance stay what they are when they are written and read", arguments: 0..<60 as Range<UInt64>)
    func roundTrip(seed: UInt64) throws {
        let scenario = Scenario(seed: seed)
        let text = ScenarioText.text(scenario)
        #expect(try ScenarioFile(text: text, name: "seed \(seed)").scenario == scenario, "\(text)")
    }

    @Test(
        "a bad file is told with line and column, and what to do",
        arguments: [
            (
                "title = \"A\"\nsteps = [\n  { at = \"8h\", sip = -1 },\n]",
                "line 3, column 3: step 1: 'sip' is to be a whole number from 0 to 65535"
            ),
            (
                "title = \"A\"\nsteps = [\n  { at = \"8h\", sip = 1 }, { at = \"9h\", sup = 1 },\n]",
                "line 3, column 27: step 2: the key 'sup' is unknown"
            ),
            ("title = \"A\"\nsteps = [ { sip = 1 } ]", "line 2, column 11: step 1: it does not say when"),
            ("title = \"A\"\nsteps = [ { at = \"8h\" } ]", "nothing happens"),
            ("title = \"A\"\nsteps = [ { at = \"8h\", sip = 1, kill = true } ]", "kill and sip are two steps"),
            (
                """
                title = \"A\"\nsteps = [ { at = \"8h\", sip = 1, times = 20000, every = \"1s\" }, { at = \"8h\", \
                sip = 1 } ]
                """,
                "more than 20000 steps"
            ),
            (
                "title = \"A\"\nsteps = [ { at = \"8h\", sip = 1, times = 20000, every = \"1d\" } ]",
                "more than 400 days"
            ),
            ("title = \"A\"\nsteps = [ { at = \"8h\", sip = 1, times = 2 } ]", "'times' and 'every' belong together"),
            ("title = \"A\"\nsteps = [ { at = \"99999999999999999999d\", sip = 1 } ]", "'at' is to be a time"),
            ("title = \"A\"\nsteps = [ { at = \"8h\", poll = \"lose\" } ]", "'lose' is no fault"),
            ("title = \"A\"\nsteps = [ { at = \"8h\", sip = 1, by = \"x\" } ]", "'by' belongs to a poll"),
            ("title = \"A\"\nsteps = [ { at = \"8h\", zone = \"Europe/Atlantis\" } ]", "'zone' is to be an IANA name"),
            (
                "title = \"A\"\nsteps = []\n[bottle]\n  habits = \"drip=5\"",
                "line 4, column 3: 'drip=5' is no fault of a bottle"
            ),
            (
                "title = \"A\"\nsteps = []\n[host]\nstart = \"tomorrow\"",
                "line 4, column 1: 'host.start' is to be a time"
            ),
            ("title = \"A\"\nsteps = []\n[host]\nstart = \"2000-01-01T00:00:00Z\"", "a time from 2026 to 2099"),
            ("title = \"A\"\nsteps = [ { at = \"8h\", broker-away = true } ]", "'broker-away' is to be a time"),
            (
                "title = \"A\"\nsteps = []\n[promise]\nheard-in-order = false",
                "line 4, column 1: 'promise.heard-in-order' is to be true"
            ),
            (
                "title = \"A\"\nsteps = []\n[promise]\nsips = \"all\"",
                "line 4, column 1: 'promise.sips' is to be a whole number"
            ),
            ("title = \"A\"\nsteps = []\n[[[bottle]]]", "line 3, column 1: no name follows the bracket"),
            ("title = \"A\"\nsteps = [", "this is no TOML"),
            ("steps = []", "'title' is to be there"),
            ("title = \"A\"", "'steps' is to be there"),
            ("title = \"A\"\nsteps = []\nfailing-writes = [-1]", "line 3, column 1: 'failing-writes'"),
        ] as [(String, String)])
    func badFiles(text: String, says: String) throws {
        let failure = try #require(throws: CommandFailure.self) { try ScenarioFile(text: text, name: "day.toml") }
        #expect(failure.sentence.hasPrefix("day.toml") && failure.sentence.contains(says), "\(failure)")
        #expect(failure.status == .badInput && failure.advice != nil)
    }

    @Test("cut anywhere, or with a byte changed, a file is read or refused in words")
    func cutAndDamaged() {
        let bytes = Array(Self.good.utf8)
        func read(_ bytes: [UInt8]) -> Bool {
            do { _ = try ScenarioFile(text: String(decoding: bytes, as: UTF8.self), name: "day.toml") } catch {
                return error is CommandFailure
            }
            return true
        }
        for count in 0..<bytes.count { #expect(read(Array(bytes.prefix(count))), "cut at \(count)") }
        var random = SeededGenerator(seed: 5)
        for _ in 0..<400 {
            var damaged = bytes
            let place = Int.random(in: 0..<bytes.count, using: &random)
            damaged[place] = UInt8.random(in: 9...126, using: &random)
            #expect(read(damaged), "byte \(place) is \(damaged[place])")
        }
    }

    @Test("what is promised and does not hold is told, with what was found instead")
    func brokenPromise() throws {
        let text =
            """
            title = \"A\"\nsteps = [ { at = \"8h\", sip = 100 }, { at = \"9h\", poll = \"\" } ]\n[promise]\nsips = \
            2\ntold = [\"notFound\"]
            """
        let played = try PlayedScenario(ScenarioFile(text: text, name: "day.toml").scenario)
        #expect(
            played.violations.map(\.sentence) == [
                "sips: 2 promised, 1 found", "told: notFound promised, and told were: nothing",
            ])
        #expect(played.violations.allSatisfy { $0.code == .promised })
        #expect(played.lines(file: "day.toml", tellsStory: false).first == "BROKEN  A (day.toml)")
        #expect(played.story.contains { $0.line == "The gateway asked: 1 received, 1 new, 1 acknowledged." })
    }

    @Test(
        "spans of time are read and written",
        arguments: [
            ("0s", 0), ("1500ms", 1_500_000), ("1d2h3m4s5ms6us", 93_784_005_006), ("-51d", -4_406_400_000_000),
            ("0.5s", 500_000), ("1.25h", 4_500_000_000),
        ] as [(String, Int64)])
    func spans(text: String, micros: Int64) throws {
        let span = try #require(ScenarioTime.span(text))
        #expect(span == .microseconds(micros))
        #expect(ScenarioTime.span(ScenarioTime.text(span)) == span)
    }

    @Test(
        "what is no span of time is none",
        arguments: ["", "-", "5", "s", "5x", "1.2345s", "1..5s", "4001d", "9223372036854775807d", "1h-2m", "１h"])
    func noSpans(text: String) {
        #expect(ScenarioTime.span(text) == nil)
    }
}
