import Foundation

/// A batch as it goes over the wire: entries in JSON, one a line, in their order.
public struct FleetLines: Hashable, Sendable {
    /// So many bytes may be one batch.
    public static let byteLimit = 8 << 20
    /// So many entries.
    public static let entryLimit = 10_000

    /// In order.
    public var entries: [FleetEntry]
    /// Lines that are no entries, and why.
    public var poison: [Poison]

    /// A line that never becomes an entry.
    public struct Poison: Hashable, Sendable {
        /// Its beginning, without what no text may hold.
        public var line: String
        /// Why it never becomes one.
        public var reason: String

        /// Keeps 2,000 characters of the line and 500 of the reason.
        public init(line: String, reason: String) {
            self.line = String(String.UnicodeScalarView(line.unicodeScalars.prefix(2000).map { $0.value < 32 || $0.value == 127 ? "\u{FFFD}" : $0 }))
            self.reason = String(reason.prefix(500))
        }
    }

    /// More than one batch may be.
    public struct TooMany: Error, Hashable, CustomStringConvertible {
        /// How many there may be.
        public var description: String { "A batch has at most \(FleetLines.entryLimit) entries. Send the rest in another one." }
    }

    /// Reads a person's doubts; a line that is none is passed over: it counts nowhere, and is told again with the next.
    /// - Throws: `TooMany`, or `FleetEntry.Newer`.
    public static func doubts(_ body: [UInt8]) throws -> [FleetDoubt] {
        let decoder = JSONDecoder()
        let lines = body.split(separator: UInt8(ascii: "\n"), maxSplits: entryLimit)
        guard lines.count <= entryLimit else { throw TooMany() }
        var doubts: [FleetDoubt] = []
        for line in lines where line.count <= FleetEntry.lineLimit {
            do { doubts.append(try decoder.decode(FleetDoubt.self, from: Data(line))) } catch let newer as FleetEntry.Newer { throw newer } catch {}
        }
        return Array(doubts.prefix(FleetDoubt.limit))
    }

    /// Reads a batch. Empty lines are passed over.
    /// - Throws: `TooMany`, or `FleetEntry.Newer` where one of them is of a version that is not known: then nothing of the batch counts.
    public init(_ body: [UInt8]) throws {
        (entries, poison) = ([], [])
        let decoder = JSONDecoder()
        // One after the other: a list of all of them would be twenty times as large as the batch, where each is empty.
        var rest = body[...]
        while !rest.isEmpty {
            let line = rest.prefix { $0 != UInt8(ascii: "\n") }
            rest = rest.dropFirst(line.count + 1)
            guard !line.allSatisfy({ $0 == 32 || $0 == 13 || $0 == 9 }) else { continue }
            guard entries.count + poison.count < Self.entryLimit else { throw TooMany() }
            func park(_ reason: String) { poison.append(Poison(line: String(decoding: line.prefix(FleetEntry.lineLimit), as: UTF8.self), reason: reason)) }
            guard line.count <= FleetEntry.lineLimit else {
                park("the line has \(line.count) bytes, and an entry has at most \(FleetEntry.lineLimit)")
                continue
            }
            do {
                entries.append(try decoder.decode(FleetEntry.self, from: Data(line)))
            } catch let newer as FleetEntry.Newer {
                throw newer
            } catch let malformed as FleetEntry.Malformed {
                park(malformed.description)
            } catch let error as DecodingError {
                park(Self.words(error))
            } catch {
                park("it is no JSON")
            }
        }
    }

    /// One line for each entry.
    public static func bytes(_ entries: [some Encodable]) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try entries.flatMap { try encoder.encode($0) + [UInt8(ascii: "\n")] }
    }

    private static func words(_ error: DecodingError) -> String {
        switch error {
        case .keyNotFound(let key, _): "\(key.stringValue) is missing"
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            context.codingPath.last.map { "\($0.stringValue) is of another type" } ?? "it is no object"
        default: "it is no JSON"
        }
    }
}
