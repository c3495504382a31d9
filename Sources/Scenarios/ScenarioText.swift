import Bluetooth
import BottleProtocol
import TrackerCore
import VirtualBottle

/// A scenario as the text of its file.
public enum ScenarioText {
    /// TOML, a line for each step. What is as usual is left out.
    public static func text(_ scenario: Scenario) -> String {
        var lines = ["title = \(quoted(scenario.title))"]
        if !scenario.story.isEmpty { lines.append("story = \(quoted(scenario.story))") }
        if scenario.seed != 0 { lines.append("seed = \(quoted(String(scenario.seed)))") }
        if !scenario.failingWrites.isEmpty {
            lines.append(
                "failing-writes = [\(scenario.failingWrites.sorted().map(String.init).joined(separator: ", "))]")
        }
        lines += ["", "steps = ["] + scenario.steps.map { "  \(step($0))," } + ["]"]
        lines +=
            section("bottle", bottle(scenario)) + section("host", host(scenario))
            + section("promise", promise(scenario.promise))
        return lines.joined(separator: "\n") + "\n"
    }

    private static func section(_ name: String, _ lines: [String]) -> [String] {
        lines.isEmpty ? [] : ["", "[\(name)]"] + lines
    }

    private static func bottle(_ scenario: Scenario) -> [String] {
        let usual = VirtualBottle.BottleIdentity()
        var lines: [String] = []
        if scenario.bottle.model != usual.model { lines.append("model = \(quoted(scenario.bottle.model.rawValue))") }
        if scenario.bottle.profile != usual.profile {
            lines.append("profile = \(quoted(scenario.bottle.profile.rawValue))")
        }
        if scenario.bottle.dialect != usual.dialect {
            lines.append("dialect = \(quoted(scenario.bottle.dialect.rawValue))")
        }
        if !scenario.habits.text.isEmpty { lines.append("habits = \(quoted(scenario.habits.text))") }
        return lines
    }

    private static func host(_ scenario: Scenario) -> [String] {
        var lines: [String] = []
        if scenario.start != Scenario.usualStart { lines.append("start = \(quoted(scenario.start.description))") }
        if scenario.zone != .utc { lines.append("zone = \(quoted(scenario.zone.id))") }
        if scenario.hasTimeServer { lines.append("time-server = true") }
        if scenario.latency != .milliseconds(2) {
            lines.append("latency = \(quoted(ScenarioTime.text(scenario.latency)))")
        }
        return lines
    }

    private static func promise(_ promise: ScenarioPromise) -> [String] {
        let numbers: [(String, Int?)] = [
            ("sips", promise.sips), ("ml", promise.ml), ("doubted", promise.doubted),
            ("quarantined", promise.quarantined),
            ("acknowledged", promise.acknowledged), ("lost", promise.lost), ("elsewhere", promise.elsewhere),
            ("failed-polls", promise.failedPolls), ("heard", promise.heard), ("heard-again", promise.heardAgain),
        ]
        var lines = numbers.compactMap { name, value in value.map { "\(name) = \($0)" } }
        if promise.hearsInOrder { lines.append("heard-in-order = true") }
        if !promise.told.isEmpty { lines.append("told = [\(promise.told.map(quoted).joined(separator: ", "))]") }
        if !promise.days.isEmpty {
            lines.append(
                """
                days = { \
                \(promise.days.sorted { $0.key < $1.key }.map { "\"\($0.key)\" = \($0.value)" }.joined(separator: ", ")) \
                }
                """
            )
        }
        return lines
    }

    private static func step(_ step: ScenarioStep) -> String {
        "{ at = \(quoted(ScenarioTime.text(step.at))), \(words(step.act)) }"
    }

    private static func words(_ act: ScenarioStep.Act) -> String {
        func span(_ span: Duration) -> String { quoted(ScenarioTime.text(span)) }
        switch act {
        case .sip(let ml): return "sip = \(ml)"
        case .poll(let poll):
            var words = "poll = \(quoted(poll.link.text))"
            if let other = poll.other { words += ", by = \(quoted(other))" }
            if poll.keeps { words += ", keep = true" }
            if let effects = poll.killAfter { words += ", kill-after = \(effects)" }
            if poll.beforeIt { words += ", kill-before = true" }
            return words
        case .powerLoss: return "power-loss = true"
        case .bottleClock(let by): return "bottle-clock = \(span(by))"
        case .hostClock(let by): return "host-clock = \(span(by))"
        case .restart: return "restart = true"
        case .habits(let habits): return "habits = \(quoted(habits.text))"
        case .drop: return "drop = true"
        case .away(let time): return "away = \(span(time))"
        case .kill: return "kill = true"
        case .reboot: return "reboot = true"
        case .sleep(let time): return "sleep = \(span(time))"
        case .disk(let isFull): return "disk = \(isFull ? "\"full\"" : "\"free\"")"
        case .brokerAway(let time): return "broker-away = \(span(time))"
        case .zone(let id): return "zone = \(quoted(id))"
        }
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            default:
                guard scalar.value < 0x20 || scalar.value == 0x7F else {
                    result.unicodeScalars.append(scalar)
                    continue
                }
                result += "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
            }
        }
        return result + "\""
    }
}
