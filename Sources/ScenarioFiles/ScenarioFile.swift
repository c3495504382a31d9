import BottleProtocol
import Bluetooth
import CommandKit
import CommandStore
import Foundation
import Scenarios
import TOMLKit
import TrackerCore
import VirtualBottle

/// A scenario from its file: TOML, a line for each step. Its keys are in `hardware/scenarios/README.md`.
public struct ScenarioFile {
    /// What the file says.
    public let scenario: Scenario

    /// The largest file that is read.
    private static let limitBytes = 1 << 20
    /// So long is a scenario at most.
    private static let longest = Duration.seconds(400 * 86_400)
    private static let othersLimit = 8

    private static let keys = ["title", "story", "seed", "failing-writes", "steps", "bottle", "host", "promise"]
    private static let bottleKeys = ["model", "profile", "dialect", "habits"]
    private static let hostKeys = ["start", "zone", "time-server", "latency"]
    private static let promiseKeys = [
        "sips", "ml", "days", "doubted", "quarantined", "acknowledged", "lost", "elsewhere", "failed-polls", "told",
        "heard", "heard-again", "heard-in-order",
    ]
    private static let acts = [
        "sip", "poll", "power-loss", "bottle-clock", "host-clock", "restart", "habits", "drop", "away", "kill",
        "reboot", "sleep", "disk", "broker-away", "zone",
    ]
    private static let stepKeys = ["at", "times", "every", "by", "keep", "kill-after", "kill-before"]

    /// - Throws: `CommandFailure`, in words with line and column.
    public init(path: String) throws {
        let bytes: Data
        do {
            let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            defer { try? handle.close() }
            bytes = try handle.read(upToCount: Self.limitBytes + 1) ?? Data()
        } catch {
            throw CommandFailure(
                .badInput, "The scenario \(path) cannot be read: \(error.localizedDescription)",
                advice: "Name a file in TOML, or a folder of such files.")
        }
        guard bytes.count <= Self.limitBytes, let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure(
                .badInput, "The scenario \(path) is no text, or larger than 1 MiB.",
                advice: "It is a UTF-8 text in TOML.")
        }
        try self.init(text: text, name: path)
    }

    /// - Parameter name: what errors call the text.
    public init(text: String, name: String) throws {
        let table: TOMLTable
        if let line = TOMLGuard.brokenHeader(text) {
            throw CommandFailure(
                .badInput, "\(name), line \(line), column 1: no name follows the bracket.",
                advice: "A section is [bottle], [host] or [promise].")
        }
        if let line = TOMLGuard.endlessKey(text) {
            throw CommandFailure(
                .badInput, "\(name), line \(line), column 1: more dots than any key has.",
                advice: "A section is [bottle], [host] or [promise].")
        }
        do {
            table = try TOMLTable(string: text)
        } catch let error as TOMLParseError {
            throw CommandFailure(
                .badInput,
                """
                \(name), line \(error.source.begin.line), column \(error.source.begin.column): this is no TOML: \
                \(error.description).
                """,
                advice: "Mend that line.")
        }
        scenario = try Reader(name: name, places: ScenarioPlaces(text)).scenario(table)
    }

    private struct Reader {
        let name: String
        let places: ScenarioPlaces

        func wrong(_ place: ScenarioPlaces.Place?, _ sentence: String, _ advice: String) -> CommandFailure {
            let place = place.map { ", line \($0.line), column \($0.column)" } ?? ""
            return CommandFailure(.badInput, "\(name)\(place): \(sentence)", advice: advice)
        }

        func wrong(_ key: String, _ wanted: String) -> CommandFailure {
            wrong(places.keys[key], "'\(key)' is to be \(wanted).", "Mend that line.")
        }

        func check(_ table: TOMLTable, _ known: [String], in section: String) throws {
            guard let unknown = table.keys.first(where: { !known.contains($0) }) else { return }
            let path = section.isEmpty ? unknown : "\(section).\(unknown)"
            throw wrong(
                places.keys[path], "the key '\(unknown)' is unknown\(section.isEmpty ? "" : " in [\(section)]").",
                "Known are: \(known.joined(separator: ", ")).")
        }

        func text(_ table: TOMLTable, _ key: String, in section: String = "", limit: Int = 4000) throws -> String? {
            guard let value = table[key] else { return nil }
            let path = section.isEmpty ? key : "\(section).\(key)"
            guard let text = value.string, text.utf8.count <= limit else {
                throw wrong(path, "a text in quotes of at most \(limit) bytes")
            }
            return text
        }

        func number(_ table: TOMLTable, _ key: String, in section: String) throws -> Int? {
            guard let value = table[key] else { return nil }
            guard let number = value.int, (0...1_000_000_000).contains(number) else {
                throw wrong("\(section).\(key)", "a whole number from 0")
            }
            return number
        }

        func scenario(_ table: TOMLTable) throws -> Scenario {
            try check(table, ScenarioFile.keys, in: "")
            guard let title = try text(table, "title", limit: 200), !title.isEmpty else {
                throw wrong("title", "there: a line that says what day this is, title = \"…\"")
            }
            var scenario = Scenario(title: title)
            scenario.story = (try text(table, "story") ?? "").trimmingCharacters(in: .whitespacesAndNewlines)
            if let value = table["seed"] {
                guard let seed = value.string.flatMap(UInt64.init) ?? value.int.flatMap(UInt64.init(exactly:)) else {
                    throw wrong("seed", "a whole number from 0")
                }
                scenario.seed = seed
            }
            if let value = table["failing-writes"] {
                guard let list = value.array, list.count <= 1000 else {
                    throw wrong("failing-writes", "a list of at most 1000 numbers from 0")
                }
                scenario.failingWrites = Set(
                    try list.map { value in
                        guard let number = value.int, (0...1_000_000).contains(number) else {
                            throw wrong("failing-writes", "a list of at most 1000 numbers from 0")
                        }
                        return number
                    })
            }
            if let value = table["bottle"] { try bottle(section(value.table, "bottle"), &scenario) }
            if let value = table["host"] { try host(section(value.table, "host"), &scenario) }
            if let value = table["promise"] { scenario.promise = try promise(section(value.table, "promise")) }
            guard let list = table["steps"]?.array else {
                throw wrong("steps", "there: a list, steps = [ { at = \"8h\", sip = 120 }, … ]")
            }
            scenario.steps = try steps(list)
            let others = Set(scenario.steps.compactMap { if case .poll(let poll) = $0.act { poll.other } else { nil } })
            guard others.count <= ScenarioFile.othersLimit else {
                throw wrong(
                    "steps",
                    """
                    a list in which at most \(ScenarioFile.othersLimit) others drain the bottle; these are \
                    \(others.count)
                    """
                )
            }
            return scenario
        }

        private func section(_ table: TOMLTable?, _ name: String) throws -> TOMLTable {
            guard let table else { throw wrong(name, "a section, [\(name)]") }
            return table
        }

        private func bottle(_ table: TOMLTable, _ scenario: inout Scenario) throws {
            try check(table, ScenarioFile.bottleKeys, in: "bottle")
            func named<Value: RawRepresentable & CaseIterable>(_ key: String, _ type: Value.Type) throws -> Value?
            where Value.RawValue == String {
                guard let text = try text(table, key, in: "bottle") else { return nil }
                guard let value = Value(rawValue: text) else {
                    throw wrong(
                        "bottle.\(key)", "one of \(Value.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", "))"
                    )
                }
                return value
            }
            scenario.bottle = VirtualBottle.BottleIdentity(
                profile: try named("profile", OfferedProfiles.self) ?? .retail,
                model: try named("model", BottleModel.self) ?? .boost,
                dialect: try named("dialect", RecordDialect.self) ?? .calendar)
            if let words = try text(table, "habits", in: "bottle") {
                scenario.habits = try habits(words, places.keys["bottle.habits"])
            }
        }

        private func habits(_ words: String, _ place: ScenarioPlaces.Place?) throws -> BottleFaults {
            do {
                return try BottleFaults(words)
            } catch {
                throw wrong(
                    place, "\(error).",
                    "The words of a bottle's habits are: \(BottleFaultWord.all.map(\.example).joined(separator: ", "))."
                )
            }
        }

        private func host(_ table: TOMLTable, _ scenario: inout Scenario) throws {
            try check(table, ScenarioFile.hostKeys, in: "host")
            if let text = try text(table, "start", in: "host") {
                // Earlier than the program itself no clock is believed.
                let range = Instant(seconds: 1_767_225_600)...Instant(seconds: 4_102_444_800)
                guard let start = Instant(iso: text), range.contains(start) else {
                    throw wrong("host.start", "a time from 2026 to 2099 such as \"2026-06-15T00:00:00Z\"")
                }
                scenario.start = start
            }
            if let text = try text(table, "zone", in: "host") {
                guard let zone = try? Zone(text) else {
                    throw wrong("host.zone", "an IANA name such as \"Europe/Berlin\"")
                }
                scenario.zone = zone
            }
            if let value = table["time-server"] {
                guard let isThere = value.bool else { throw wrong("host.time-server", "true or false") }
                scenario.hasTimeServer = isThere
            }
            if let text = try text(table, "latency", in: "host") {
                guard let latency = ScenarioTime.span(text), (.zero)...(.seconds(10)) ~= latency else {
                    throw wrong("host.latency", "a time up to 10s such as \"2ms\"")
                }
                scenario.latency = latency
            }
        }

        private func promise(_ table: TOMLTable) throws -> ScenarioPromise {
            try check(table, ScenarioFile.promiseKeys, in: "promise")
            var promise = ScenarioPromise()
            promise.sips = try number(table, "sips", in: "promise")
            promise.ml = try number(table, "ml", in: "promise")
            promise.doubted = try number(table, "doubted", in: "promise")
            promise.quarantined = try number(table, "quarantined", in: "promise")
            promise.acknowledged = try number(table, "acknowledged", in: "promise")
            promise.lost = try number(table, "lost", in: "promise")
            promise.elsewhere = try number(table, "elsewhere", in: "promise")
            promise.failedPolls = try number(table, "failed-polls", in: "promise")
            if let value = table["days"] {
                guard let days = value.table, days.count <= 400 else {
                    throw wrong("promise.days", "a table such as { \"2026-06-15\" = 1800 }")
                }
                for key in days.keys {
                    guard let day = LocalDay(key), let ml = days[key]?.int, ml >= 0 else {
                        throw wrong("promise.days", "a table such as { \"2026-06-15\" = 1800 }")
                    }
                    promise.days[day] = ml
                }
            }
            promise.heard = try number(table, "heard", in: "promise")
            promise.heardAgain = try number(table, "heard-again", in: "promise")
            if let value = table["heard-in-order"] {
                guard value.bool == true else { throw wrong("promise.heard-in-order", "true: leave it out otherwise") }
                promise.hearsInOrder = true
            }
            if let value = table["told"] {
                guard let list = value.array, list.count <= 32 else {
                    throw wrong("promise.told", "a list of at most 32 words in quotes")
                }
                promise.told = try list.map { word in
                    guard let text = word.string, text.utf8.count <= 64 else {
                        throw wrong("promise.told", "a list of at most 32 words in quotes")
                    }
                    return text
                }
            }
            return promise
        }

        private func steps(_ list: TOMLArray) throws -> [ScenarioStep] {
            var steps: [ScenarioStep] = []
            for (index, value) in list.enumerated() {
                let place = index < places.steps.count ? places.steps[index] : places.keys["steps"]
                guard let table = value.table else {
                    throw wrong(place, "step \(index + 1) is no table.", "Write { at = \"8h\", sip = 120 }.")
                }
                let reader = StepReader(table: table) { sentence, advice in
                    wrong(place, "step \(index + 1): \(sentence)", advice)
                }
                let (first, times, every) = try reader.step { try habits($0, place) }
                guard steps.count + times <= Scenario.stepLimit else {
                    throw wrong(
                        place, "step \(index + 1) makes more than \(Scenario.stepLimit) steps of it.",
                        "Write a shorter day.")
                }
                guard first.at + every * (times - 1) <= ScenarioFile.longest else {
                    throw wrong(place, "step \(index + 1) comes after more than 400 days.", "Write a shorter day.")
                }
                for number in 0..<times { steps.append(ScenarioStep(first.at + every * number, first.act)) }
            }
            return steps.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
        }
    }

    /// One line of `steps`.
    private struct StepReader {
        let table: TOMLTable
        let wrong: (_ sentence: String, _ advice: String) -> CommandFailure

        func bad(_ key: String, _ wanted: String) -> CommandFailure {
            wrong("'\(key)' is to be \(wanted).", "Mend that line.")
        }

        func span(_ key: String, isSigned: Bool = false) throws -> Duration {
            guard let span = table[key]?.string.flatMap(ScenarioTime.span), isSigned || span >= .zero,
                isSigned || span <= ScenarioFile.longest
            else {
                throw bad(
                    key,
                    "a time such as \"90s\", \"8h30m\" or \"1d2h\"\(isSigned ? ", with - for one that goes back" : "")")
            }
            return span
        }

        func number(_ key: String, _ range: ClosedRange<Int>) throws -> Int {
            guard let number = table[key]?.int, range.contains(number) else {
                throw bad(key, "a whole number from \(range.lowerBound) to \(range.upperBound)")
            }
            return number
        }

        func switched(_ key: String) throws -> Bool {
            guard let value = table[key] else { return false }
            guard let isOn = value.bool else { throw bad(key, "true or false") }
            return isOn
        }

        func plain(_ key: String, _ act: ScenarioStep.Act) throws -> ScenarioStep.Act {
            guard try switched(key) else { throw bad(key, "true: leave it out otherwise") }
            return act
        }

        func step(_ habits: (String) throws -> BottleFaults) throws -> (ScenarioStep, times: Int, every: Duration) {
            let given = table.keys.filter { ScenarioFile.acts.contains($0) }
            if let unknown = table.keys.first(where: {
                !ScenarioFile.acts.contains($0) && !ScenarioFile.stepKeys.contains($0)
            }) {
                throw wrong(
                    "the key '\(unknown)' is unknown.",
                    """
                    What may happen: \(ScenarioFile.acts.joined(separator: ", ")). Beside it: \
                    \(ScenarioFile.stepKeys.joined(separator: ", ")).
                    """
                )
            }
            guard let key = given.first, given.count == 1 else {
                throw wrong(
                    given.isEmpty ? "nothing happens." : "\(given.sorted().joined(separator: " and ")) are two steps.",
                    "Write one of: \(ScenarioFile.acts.joined(separator: ", ")).")
            }
            guard table["at"] != nil else {
                throw wrong("it does not say when.", "Write at = \"8h\", counted from the start.")
            }
            let at = try span("at")
            let times = table["times"] == nil ? 1 : try number("times", 1...Scenario.stepLimit)
            if (times > 1) != (table["every"] != nil) {
                throw wrong("'times' and 'every' belong together.", "Write times = 20, every = \"15m\".")
            }
            let every = times > 1 ? try span("every") : .zero
            if key != "poll",
                let extra = ["by", "keep", "kill-after", "kill-before"].first(where: { table[$0] != nil })
            {
                throw wrong("'\(extra)' belongs to a poll.", "Leave it out.")
            }
            return (ScenarioStep(at, try act(key, habits)), times, every)
        }

        private func act(_ key: String, _ habits: (String) throws -> BottleFaults) throws -> ScenarioStep.Act {
            switch key {
            case "sip": return .sip(ml: try number("sip", 0...65_535))
            case "poll": return .poll(try poll())
            case "power-loss": return try plain(key, .powerLoss)
            case "bottle-clock": return .bottleClock(try span(key, isSigned: true))
            case "host-clock": return .hostClock(try span(key, isSigned: true))
            case "restart": return try plain(key, .restart)
            case "habits":
                guard let words = table[key]?.string, words.utf8.count <= 1000 else {
                    throw bad(key, "words in quotes; \"\" is a good day")
                }
                return .habits(try habits(words))
            case "drop": return try plain(key, .drop)
            case "away": return .away(try span(key))
            case "kill": return try plain(key, .kill)
            case "reboot": return try plain(key, .reboot)
            case "sleep": return .sleep(try span(key))
            case "disk":
                guard let word = table[key]?.string, ["full", "free"].contains(word) else {
                    throw bad(key, "\"full\" or \"free\"")
                }
                return .disk(isFull: word == "full")
            case "broker-away": return .brokerAway(try span(key))
            default:
                guard let id = table[key]?.string, (try? Zone(id)) != nil else {
                    throw bad(key, "an IANA name such as \"Asia/Tokyo\"")
                }
                return .zone(id)
            }
        }

        private func poll() throws -> ScenarioStep.Poll {
            guard let words = table["poll"]?.string, words.utf8.count <= 1000 else {
                throw bad("poll", "the link's faults in quotes; \"\" is a poll in good weather")
            }
            var poll = ScenarioStep.Poll()
            do {
                poll.link = try FaultPlan(words)
            } catch {
                throw wrong("\(error).", "The words are: \(FaultPlan.vocabulary.map(\.word).joined(separator: ", ")).")
            }
            if let value = table["by"] {
                guard let name = value.string, (1...32).contains(name.utf8.count),
                    name.allSatisfy({ $0.isLetter || $0.isNumber || " -_".contains($0) })
                else {
                    throw bad("by", "a name of 1 to 32 letters, as \"the phone\"")
                }
                poll.other = name
            }
            poll.keeps = try switched("keep")
            if table["kill-after"] != nil { poll.killAfter = try number("kill-after", 1...1_000_000) }
            poll.beforeIt = try switched("kill-before")
            return poll
        }
    }
}
