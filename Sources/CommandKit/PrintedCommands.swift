import Escaping
import Synchronization

/// A command that is printed does what it says when it is copied: what this process was told on its command line (which
/// store, which configuration, which link, which zone) stands in it, too.
///
/// Sentences come from everywhere, also from targets that know no command line. So this happens where they are printed,
/// and an option is added only to a verb that takes it, and only where the sentence does not say it itself.
public struct PrintedCommands: Hashable, Sendable {
    /// What was given, in this order, each as it is typed.
    private var given: [(option: String, text: String)] = []

    public static func == (left: Self, right: Self) -> Bool { left.given.map(\.text) == right.given.map(\.text) }
    public func hash(into hasher: inout Hasher) { hasher.combine(given.map(\.text)) }

    /// Which of the options each verb takes. `CommandTests` hold it against what the programs say of themselves.
    public static let options: [String: [String: [String]]] = {
        let day = ["--store", "--person", "--config", "--zone"]
        let verbs = [
            "status", "log", "undo", "edit", "delete", "reset-today", "history", "streak", "drink", "water", "session",
            "preset", "settings", "setup",
            "token", "export", "import", "backup", "restore", "purge", "check", "agent", "journal", "why",
        ]
        return [
            "waterh-tracker": Dictionary(uniqueKeysWithValues: verbs.map { ($0, day) }),
            "waterh-gateway": [
                "poll": ["--link"] + day, "run": ["--link"] + day, "doctor": ["--link"] + day,
                "report": ["--link"] + day, "send": ["--link"] + day,
                "scan": ["--link", "--store", "--person", "--config"],
                "bench-day": ["--link", "--store", "--config", "--zone"], "adopt": day, "identity": day, "nudge": day,
                "pair": day,
            ],
        ]
    }()

    /// - Parameter arguments: the command line of this process, without its name.
    public init(given arguments: [String] = []) {
        for option in ["--link", "--store", "--person", "--config", "--zone"] {
            guard let value = Self.value(of: option, in: arguments) else { continue }
            given.append((option, "\(option) \(Self.quoted(value))"))
        }
    }

    /// The same, where something is said about what another option names.
    public func adding(_ option: String, _ value: String) -> PrintedCommands {
        var more = self
        more.given.removeAll { $0.option == option }
        more.given.append((option, "\(option) \(Self.quoted(value))"))
        return more
    }

    /// The sentence with whole commands in it.
    public func completed(_ text: String) -> String {
        guard !given.isEmpty, text.contains("waterh-") else { return text }
        var result = ""
        var rest = text[...]
        while let found = rest.firstRange(of: /waterh-(tracker|gateway) ([a-z-]+)/) {
            let program = rest[found].prefix { $0 != " " }
            let verb = rest[found].dropFirst(program.count + 1)
            let behind = rest[found.upperBound...]
            // As far as this command can reach.
            let tail = behind[..<(behind.firstRange(of: "waterh-")?.lowerBound ?? behind.endIndex)]
            let taken = Self.options[String(program)]?[String(verb)] ?? []
            let missing = given.filter { taken.contains($0.option) && !tail.contains($0.option) }.map(\.text)
            let words: [String] = [String(program)] + missing + [String(verb)]
            result += rest[..<found.lowerBound]
            result += words.joined(separator: " ")
            rest = behind
        }
        return result + rest
    }

    // MARK: - Those of this process

    private static let state = Mutex(PrintedCommands())

    /// What `completed` is asked for everywhere in this process.
    public static var current: PrintedCommands {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }

    /// The last one counts, as for the parser; what stands behind `--` is no option.
    private static func value(of option: String, in arguments: [String]) -> String? {
        var value: String?
        let words = Array(arguments.prefix { $0 != "--" })
        for (place, word) in words.enumerated() {
            if word == option, place + 1 < words.count { value = words[place + 1] }
            if word.hasPrefix(option + "=") { value = String(word.dropFirst(option.count + 1)) }
        }
        return value
    }

    /// As a shell takes it for one word.
    public static func quoted(_ text: String) -> String {
        let isPlain =
            !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: plainMarks.contains(byte)
                }
            }
        return isPlain ? text : "'" + Escaping.replacing(text, ["'": "'\\''"]) + "'"
    }

    private static let plainMarks = Array("_./:@%+=,-".utf8)
}
