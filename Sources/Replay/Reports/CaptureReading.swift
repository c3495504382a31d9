import Bluetooth
import Captures
import FoundationEssentials

/// The commands and drinks read from a capture, or the expected ones from an expectation file, for comparison.
///
/// In JSON Lines, the first line describes the file (`{"capture":{…}}`). One line follows for each command
/// (`{"command":{…}}`) and each delivery of a drink record, including duplicates (`{"drink":{…}}`). The keys are those
/// of `waterh-replay commands` and `drinks --raw`.
package struct CaptureReading: Sendable, Equatable {
    /// The first line, with the counts and the digest of the file; `nil` if an expectation file has none.
    package var head: Row?
    package var commands: [Row] = []
    package var drinks: [Row] = []
    /// The error that ended the reading of each file; `nil` if it was read to its end.
    package private(set) var readingErrors: [String?] = []
    package private(set) var text = ""

    /// Reads the captures of a log. An error in their bytes is in `readingErrors`; the data before the error is kept.
    package init(of parts: [CapturePart], hostYear: Int, filter: TrafficFilter = TrafficFilter()) throws {
        var head: [UInt8] = [], commands: [UInt8] = [], drinks: [UInt8] = []
        let headOut = LineBuffer { head += $0 }
        let commandOut = LineBuffer { commands += $0 }, commandLines = CommandLines(commandOut)
        let drinkOut = LineBuffer { drinks += $0 }, drinkLines = DrinkLines(drinkOut, isRaw: true)
        var options = DrinkReader.Options(hostYear: hostYear)
        (options.isRaw, options.filter) = (true, filter)
        let reader = DrinkReader(options) { delivery in
            drinkOut.put(#"{"drink":"#)
            drinkLines.object(delivery)
            drinkOut.put("}\n")
        }
        var pdus = 0, commandCount = 0, packets = 0, format: CaptureFormat?, errors: [String?] = []
        reader.onCommand = { command in
            commandCount += 1
            commandOut.put(#"{"command":"#)
            commandLines.object(command)
            commandOut.put("}\n")
        }
        for part in parts {
            var file = CaptureFile(path: part.path), error: String?
            do {
                try reader.read(&file, isLast: false) { event in
                    if case .att(let observation) = event, !observation.isSynthetic { pdus += 1 }
                }
            } catch let caught as CaptureError {
                error = caught.description
            }
            errors.append(error)
            packets += file.info.packets
            format = format ?? file.info.format
        }
        let bottles = reader.peers.filter(\.isBottle).map { $0.address?.description ?? "?" }.joined(separator: " ")
        try reader.finishCapture()
        headOut.put(#"{"capture":{"format":"#)
        headOut.put(json: format?.description)
        headOut.put(
            text: """
                ,"packets":\(packets),"attPDUs":\(pdus),"bottles":"\(bottles)",\
                "drinks":\(reader.tally.drinks),"millilitres":\(reader.tally.millilitres),\
                "commands":\(commandCount),"unfinishedTransfers":\(reader.tally.unfinishedTransfers),"trouble":
                """)
        headOut.put(json: errors.first ?? nil)
        headOut.put(#","digest":"#)
        headOut.put(json: try parts.first.map { try Self.digest($0.path) })
        headOut.put("}}\n")
        for out in [headOut, commandOut, drinkOut] { try out.flush() }
        let lines = String(decoding: head + commands + drinks, as: UTF8.self)
        self = try CaptureReading(expectation: lines)
        (readingErrors, text) = (errors, lines)
    }

    /// Parses an expectation file.
    /// - Throws: `ExpectationError` for an invalid line.
    package init(expectation text: String) throws(ExpectationError) {
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let line = line.hasSuffix("\r") ? String(line.dropLast()) : String(line)
            if line.allSatisfy({ $0 == " " || $0 == "\t" }) { continue }
            let object = try? JSONDecoder().decode([String: Row].self, from: Data(line.utf8))
            guard let object, object.count == 1, let (kind, row) = object.first else {
                throw ExpectationError(line: number + 1, text: line)
            }
            switch kind {
            case "capture": head = row
            case "command": commands.append(row)
            case "drink": drinks.append(row)
            default: throw ExpectationError(line: number + 1, text: line)
            }
        }
    }

    /// The FNV-1a hash of a file, to detect accidental changes. Not secure.
    private static func digest(_ path: String) throws -> String {
        var state: UInt64 = 0xCBF2_9CE4_8422_2325
        let file = try CaptureFile.open(path)
        try CaptureFile.forEachPiece(file.descriptor, path) { piece in
            for byte in piece { state = (state ^ UInt64(byte)) &* 0x100_0000_01B3 }
        }
        return "fnv1a:" + state.hexDigits.lowercased()
    }
}

/// The values of a command or a drink, by JSON key.
package typealias Row = [String: Scalar]

/// A JSON value that is neither an array nor an object.
package enum Scalar: Decodable, Equatable, Sendable, CustomStringConvertible {
    case null
    case bool(Bool)
    case number(Int)
    case text(String)

    package init(from decoder: any Decoder) throws {
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

    package var description: String {
        switch self {
        case .null: "nothing"
        case .bool(let value): String(value)
        case .number(let value): String(value)
        case .text(let value): value
        }
    }
}

/// An invalid line of an expectation file.
package struct ExpectationError: Error, Sendable, CustomStringConvertible {
    package var line: Int
    package var text: String
    package var description: String {
        "line \(line): expected {\"capture\":{…}}, {\"command\":{…}} or {\"drink\":{…}}, found \(text.prefix(120))"
    }
}

/// Compares two readings, and lists the differences by record.
package struct ReadingComparison {
    package let names: (expected: String, found: String)
    package let ignored: Set<String>

    package init(names: (expected: String, found: String) = ("expected", "found"), ignoring ignored: Set<String> = []) {
        self.names = names
        self.ignored = ignored
    }

    /// The differences, one sentence each: `drink 7 (2026-02-02T10:00:00, 200 ml): amountMl is 201, expected 200`.
    package func differences(_ expected: CaptureReading, _ found: CaptureReading) -> [String] {
        let all =
            differences("command", expected.commands, found.commands)
            + differences("drink", expected.drinks, found.drinks)
        guard let head = expected.head, let difference = compare(head, found.head ?? [:]) else { return all }
        // Report a different digest only if nothing else differs.
        let isOnlyDigest = difference.hasPrefix("digest") && !difference.contains(";")
        return isOnlyDigest && !all.isEmpty ? all : ["capture: \(difference)"] + all
    }

    private func differences(_ kind: String, _ expected: [Row], _ found: [Row]) -> [String] {
        var all: [String] = []
        var left = 0, right = 0
        func report(_ index: Int, _ row: Row, _ difference: String) {
            all.append("\(Self.title(kind, index, row)): \(difference)")
        }
        func isEqual(_ left: Int, _ right: Int) -> Bool {
            left < expected.count && right < found.count && compare(expected[left], found[right]) == nil
        }
        while left < expected.count || right < found.count {
            let (lefts, rights) = (expected.count - left, found.count - right)
            if isEqual(left, right) {
                (left, right) = (left + 1, right + 1)
            } else if lefts == 0 || rights > lefts && isEqual(left, right + 1) {
                report(right, found[right], "\(names.found), but not \(names.expected)")
                right += 1
            } else if rights == 0 || lefts > rights && isEqual(left + 1, right) {
                report(left, expected[left], "\(names.expected), but not \(names.found)")
                left += 1
            } else {
                report(left, expected[left], compare(expected[left], found[right]) ?? "")
                (left, right) = (left + 1, right + 1)
            }
        }
        return all
    }

    /// The difference of two rows; `nil` if equal. Keys that the expectation omits are ignored.
    private func compare(_ expected: Row, _ found: Row) -> String? {
        let wrong = expected.filter { !ignored.contains($0.key) && found[$0.key] != $0.value }
        if wrong.isEmpty { return nil }
        return wrong.sorted { $0.key < $1.key }
            .map { "\($0.key) is \(found[$0.key]?.description ?? "missing"), \(names.expected) \($0.value)" }
            .joined(separator: "; ")
    }

    private static func title(_ kind: String, _ index: Int, _ row: Row) -> String {
        let parts = [
            row["at"]?.description, row["amountMl"].map { "\($0) ml" }, row["meaning"]?.description,
            row["frame"].map { "frame \($0)" },
        ]
        let details = parts.compactMap { $0 }.joined(separator: ", ")
        return "\(kind) \(index + 1)" + (details.isEmpty ? "" : " (\(details))")
    }
}
