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
        /// Its beginning, without what no text may hold, and without white space around it.
        public var line: String
        /// Why it never becomes one.
        public var reason: String
        /// Of whom it tells, as far as that can be read; `nil`: of the one who is called like the gateway.
        public var person: String?
        /// It is kept as it was told. What was altered is no entry, whatever it looks like.
        public var isWhole: Bool

        /// Keeps 2,000 characters of the line and 500 of the reason.
        public init(line: String, reason: String) { self.init(Array(line.utf8)[...], reason) }

        /// The same of bytes, which may be no text.
        init(_ bytes: ArraySlice<UInt8>, _ reason: String) {
            let told = bytes.prefix(bytes.lastIndex { !FleetLines.isSpace($0) }.map { $0 - bytes.startIndex + 1 } ?? 0)
                .drop(while: FleetLines.isSpace)
            line = String(
                String.UnicodeScalarView(
                    String(decoding: told.prefix(FleetEntry.lineLimit), as: UTF8.self).unicodeScalars.prefix(2000).map {
                        $0.value < 32 || $0.value == 127 ? "\u{FFFD}" : $0
                    }))
            isWhole = line.utf8.elementsEqual(told)
            self.reason = String(reason.prefix(500))
            person = FleetLines.person(in: told)
        }
    }

    /// More than one batch may be.
    public struct TooMany: Error, Hashable, CustomStringConvertible {
        /// How many there may be.
        public var description: String {
            "A batch has at most \(FleetLines.entryLimit) entries. Send the rest in another one."
        }
    }

    /// A line among doubts that is none: what is not named is settled, and nobody knows what that line named.
    public struct NoDoubt: Error, Hashable, CustomStringConvertible {
        /// From 1 on.
        public var line: Int
        /// What is wrong with it.
        public var reason: String
        /// Which line it is, and why.
        public var description: String { "Line \(line) is no doubt: \(reason). Nothing was changed." }
    }

    /// Reads a person's doubts. Empty lines are passed over.
    /// - Throws: `TooMany`, `NoDoubt`, or `FleetEntry.Newer`.
    public static func doubts(_ body: [UInt8]) throws -> [FleetDoubt] {
        let decoder = JSONDecoder()
        let lines = body.split(separator: UInt8(ascii: "\n"), maxSplits: entryLimit, omittingEmptySubsequences: false)
        guard lines.count <= entryLimit + 1, lines.count <= entryLimit || lines.last?.isEmpty == true else {
            throw TooMany()
        }
        var doubts: [FleetDoubt] = []
        for (index, line) in lines.enumerated() where !line.allSatisfy({ $0 == 32 || $0 == 13 || $0 == 9 }) {
            func no(_ reason: String) -> NoDoubt { NoDoubt(line: index + 1, reason: reason) }
            guard line.count <= FleetEntry.lineLimit else {
                if let told = try? decoder.decode(Versioned.self, from: Data(line)), told.version > FleetEntry.version {
                    throw FleetEntry.Newer(version: told.version)
                }
                throw no("it has \(line.count) bytes, and a doubt has at most \(FleetEntry.lineLimit)")
            }
            do { doubts.append(try decoder.decode(FleetDoubt.self, from: Data(line))) } catch let newer
                as FleetEntry.Newer
            { throw newer } catch let malformed as FleetEntry.Malformed {
                throw no(malformed.description)
            } catch let error as DecodingError { throw no(words(error)) } catch { throw no("it is no JSON") }
        }
        return Array(doubts.prefix(FleetDoubt.limit))
    }

    /// Reads a batch. Empty lines are passed over.
    /// - Throws: `TooMany`, or `FleetEntry.Newer` where one of them is of a version that is not known: then nothing of
    ///   the batch counts.
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
            func park(_ reason: String) { poison.append(Poison(line, reason)) }
            guard line.count <= FleetEntry.lineLimit else {
                // A newer program may write longer ones.
                if let told = try? decoder.decode(Versioned.self, from: Data(line)), told.version > FleetEntry.version {
                    throw FleetEntry.Newer(version: told.version)
                }
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

    private struct Versioned: Decodable {
        let version: Int
    }

    private struct Named: Decodable {
        let person: String
    }

    /// Of whom a line tells that is no entry: as JSON says, or what stands behind `"person":` where it is no JSON;
    /// `nil` where nothing does.
    public static func person(in line: ArraySlice<UInt8>) -> String? {
        if line.count <= FleetEntry.lineLimit, let named = try? JSONDecoder().decode(Named.self, from: Data(line)) {
            return named.person.utf8.contains(0) ? nil : named.person
        }
        // Byte by byte: a batch may hold thousands of such lines, and a regular expression takes its time over each.
        var rest = line.prefix(FleetEntry.lineLimit)
        while let start = rest.firstIndex(of: UInt8(ascii: "\"")) {
            rest = rest[start...]
            guard rest.starts(with: "\"person\"".utf8) else {
                rest = rest.dropFirst()
                continue
            }
            rest = rest.dropFirst(8).drop(while: isSpace)
            guard rest.first == UInt8(ascii: ":") else { continue }
            rest = rest.dropFirst().drop(while: isSpace)
            guard rest.first == UInt8(ascii: "\"") else { continue }
            var end = rest.startIndex + 1
            while end < rest.endIndex, rest[end] != UInt8(ascii: "\"") {
                end += rest[end] == UInt8(ascii: "\\") ? 2 : 1
            }
            guard end < rest.endIndex else { return nil }
            let name = try? JSONDecoder().decode(String.self, from: Data(rest[...end]))
            return name.flatMap { $0.utf8.contains(0) ? nil : $0 }
        }
        return nil
    }

    /// Between the parts of a line of JSON (RFC 8259, 2).
    private static func isSpace(_ byte: UInt8) -> Bool { [9, 10, 13, 32].contains(byte) }

    private static func words(_ error: DecodingError) -> String {
        switch error {
        case .keyNotFound(let key, _): "\(key.stringValue) is missing"
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            context.codingPath.last.map { "\($0.stringValue) is of another type" } ?? "it is no object"
        default: "it is no JSON"
        }
    }
}
