import FoundationEssentials

/// One thing in which a capture's reading differs from what was expected, or two captures from each other.
package struct Difference: Sendable, Equatable, CustomStringConvertible {
    /// `drink 7 (2026-02-02T10:00:00, 200 ml)`
    package var what: String
    /// `amountMl is 201, expected 200`
    package var how: String

    /// Where they differ, and in what.
    package var description: String { "\(what): \(how)" }
}

/// Compares readings line by line; where lines differ, key by key.
package struct ReadingComparison {
    /// How the two sides are called: `expected` and `found`, or the names of two files.
    package let names: (expected: String, found: String)
    /// Keys that need not agree.
    package let ignored: Set<String>

    /// With names for both sides, and keys that are not compared.
    package init(names: (expected: String, found: String) = ("expected", "found"), ignoring ignored: Set<String> = []) {
        self.names = names
        self.ignored = ignored
    }

    /// Everything in which the second reading is not the first; nothing where they agree.
    package func differences(_ expected: CaptureReading, _ found: CaptureReading) -> [Difference] {
        var all: [Difference] = []
        if !expected.head.isEmpty, let how = compare(expected.head, found.head) {
            all.append(Difference(what: "capture", how: how))
        }
        all += differences("command", expected.commands, found.commands)
        all += differences("drink", expected.drinks, found.drinks)
        // The digest alone: something changed that no reading shows.
        if all.count > 1 {
            all.removeAll { $0.what == "capture" && $0.how.hasPrefix("digest") && !$0.how.contains(";") }
        }
        return all
    }

    private func differences(_ kind: String, _ expected: [String], _ found: [String]) -> [Difference] {
        var all: [Difference] = []
        var left = 0, right = 0
        while left < expected.count || right < found.count {
            guard right < found.count else {
                all.append(
                    Difference(
                        what: Self.title(kind, left, expected[left]),
                        how: "\(names.expected), and is not \(names.found)"))
                left += 1
                continue
            }
            guard left < expected.count else {
                all.append(
                    Difference(
                        what: Self.title(kind, right, found[right]),
                        how: "\(names.found), and was not \(names.expected)"))
                right += 1
                continue
            }
            guard let how = compare(expected[left], found[right]) else {
                (left, right) = (left + 1, right + 1)
                continue
            }
            // One more or one less on either side? Then the next line is the same again.
            if right + 1 < found.count, found.count - right > expected.count - left,
                compare(expected[left], found[right + 1]) == nil
            {
                all.append(
                    Difference(
                        what: Self.title(kind, right, found[right]),
                        how: "\(names.found), and was not \(names.expected)"))
                right += 1
            } else if left + 1 < expected.count, expected.count - left > found.count - right,
                compare(expected[left + 1], found[right]) == nil
            {
                all.append(
                    Difference(
                        what: Self.title(kind, left, expected[left]),
                        how: "\(names.expected), and is not \(names.found)"))
                left += 1
            } else {
                all.append(Difference(what: Self.title(kind, left, expected[left]), how: how))
                (left, right) = (left + 1, right + 1)
            }
        }
        return all
    }

    /// `nil`: they agree. Keys that the expectation leaves out are not looked at, so that it can be written by hand.
    private func compare(_ expected: String, _ found: String) -> String? {
        if expected == found { return nil }
        guard let left = Fields(expected) else { return "the expectation's line is no JSON object: \(expected)" }
        guard let right = Fields(found) else { return "this is no JSON object: \(found)" }
        let wrong = left.values.filter { !ignored.contains($0.key) && right.values[$0.key] != $0.value }
        if wrong.isEmpty { return nil }
        return wrong.sorted { $0.key < $1.key }
            .map { "\($0.key) is \(right.values[$0.key]?.text ?? "missing"), \(names.expected) \($0.value.text)" }
            .joined(separator: "; ")
    }

    private static func title(_ kind: String, _ index: Int, _ line: String) -> String {
        let values = Fields(line)?.values ?? [:]
        let parts = [
            values["at"]?.text, values["amountMl"].map { "\($0.text) ml" }, values["meaning"]?.text,
            values["frame"].map { "frame \($0.text)" },
        ]
        let words = parts.compactMap { $0 }.joined(separator: ", ")
        return "\(kind) \(index + 1)" + (words.isEmpty ? "" : " (\(words))")
    }
}

extension CaptureReading {
    /// From an expectation file's text.
    ///
    /// - Throws: `ExpectationError` for a line that is none of ours.
    package init(expectation text: String) throws(ExpectationError) {
        self.init()
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let line = line.hasSuffix("\r") ? String(line.dropLast()) : String(line)
            if line.allSatisfy({ $0 == " " || $0 == "\t" }) { continue }
            switch Fields(line)?.kind {
            case "capture": head = line
            case "command": commands.append(line)
            case "drink": drinks.append(line)
            default: throw ExpectationError(line: number + 1, text: line)
            }
        }
    }
}

/// A line of an expectation file that cannot be used.
package struct ExpectationError: Error, Sendable, CustomStringConvertible {
    /// Number of the line, from 1.
    package var line: Int
    /// The line.
    package var text: String
    /// Which line it is, and what it should have been.
    package var description: String {
        "line \(line) is no {\"capture\":{…}}, {\"command\":{…}} or {\"drink\":{…}}: \(text.prefix(120))"
    }
}

/// An object in an object of one key: `{"drink":{"bottle":…}}`.
private struct Fields {
    var kind: String
    var values: [String: Scalar]

    init?(_ line: String) {
        guard let decoded = try? JSONDecoder().decode([String: [String: Scalar]].self, from: Data(line.utf8)),
            decoded.count == 1,
            let only = decoded.first
        else { return nil }
        kind = only.key
        values = only.value
    }
}

private enum Scalar: Decodable, Equatable {
    case null
    case bool(Bool)
    case number(Int)
    case text(String)

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int.self) {
            self = .number(value)
        } else {
            self = .text(try container.decode(String.self))
        }
    }

    var text: String {
        switch self {
        case .null: "nothing"
        case .bool(let value): String(value)
        case .number(let value): String(value)
        case .text(let value): value
        }
    }
}
