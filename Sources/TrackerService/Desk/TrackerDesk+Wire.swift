import Foundation
import Gateway
import Store
import TrackerCore

/// The journal, line by line, on its way to another store.
extension TrackerDesk {
    /// A line may be so long, in bytes: an entry has a few hundred.
    static let wireLineLimit = 4096
    /// A file may have so many entries: they are taken in one transaction. A bottle a person drinks from writes some
    /// 10,000 a year.
    static let wireLimit = 500_000

    /// Writes the journal as lines of JSON, an entry in its wire form each, in the order in which they came.
    package func exportJournal(to write: ([UInt8]) throws -> Void) throws -> JournalExportReport {
        // Without an owner nothing was ever written here; then there is nothing to say, and nobody to say it.
        let gateway = try store.profile()?.deviceID ?? "unknown"
        var (bytes, count) = ([UInt8](), 0)
        try store.forEachWireEntry(gateway: gateway) { entry in
            bytes += try Self.json(entry).utf8
            bytes.append(UInt8(ascii: "\n"))
            count += 1
            guard bytes.count >= 1 << 16 else { return }
            try write(bytes)
            bytes.removeAll(keepingCapacity: true)
        }
        try write(bytes)
        return JournalExportReport(entries: count)
    }

    /// Takes lines of another store's journal in. What is known already adds nothing and changes nothing, so a file may
    /// be read twice. Everything is read before anything is taken: a file that is cut or broken changes nothing.
    /// - Parameter read: hands the file's bytes over, in as many pieces as it likes.
    /// - Throws: `WrongInput` with the line's number, and what `read` throws.
    package func importJournal(_ read: (_ feed: (UnsafeRawBufferPointer) throws -> Void) throws -> Void) throws
        -> JournalImportReport
    {
        try change {
            var lines = WireLines(now: now)
            var entries: [WireEntry] = []
            func keep(_ entry: WireEntry) throws {
                guard entries.count < Self.wireLimit else {
                    throw WrongInput(
                        "tooManyEntries", "The file has more than \(Self.wireLimit) entries. Nothing was taken.")
                }
                entries.append(entry)
            }
            try read { piece in try lines.feed(piece, keep) }
            try lines.finish(keep)
            let outcome = try store.take(entries)
            return JournalImportReport(added: outcome.added, known: outcome.known, state: try state())
        }
    }
}

/// Bytes to lines to entries.
private struct WireLines {
    let now: Instant
    private var line: [UInt8] = []
    private var number = 1

    init(now: Instant) { self.now = now }

    mutating func feed(_ piece: UnsafeRawBufferPointer, _ take: (WireEntry) throws -> Void) throws {
        for byte in piece {
            if byte == UInt8(ascii: "\n") {
                try end(take)
                number += 1
            } else {
                guard line.count < TrackerDesk.wireLineLimit else {
                    throw refusal("it is longer than \(TrackerDesk.wireLineLimit) bytes")
                }
                line.append(byte)
            }
        }
    }

    mutating func finish(_ take: (WireEntry) throws -> Void) throws { try end(take) }

    private mutating func end(_ take: (WireEntry) throws -> Void) throws {
        defer { line.removeAll(keepingCapacity: true) }
        guard line.contains(where: { $0 > 32 }) else { return }
        let entry: WireEntry
        do {
            entry = try JSONDecoder().decode(WireEntry.self, from: Data(line))
        } catch let error as WireEntry.Malformed {
            throw refusal(error.description)
        } catch DecodingError.keyNotFound(let key, _) {
            throw refusal("\"\(key.stringValue)\" is missing")
        } catch DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context) {
            throw refusal("\"\(context.codingPath.last?.stringValue ?? "it")\" is of another kind")
        } catch {
            throw refusal("it is no JSON object")
        }
        if let contradiction = entry.contradiction(now: now) { throw refusal(contradiction) }
        try take(entry)
    }

    private func refusal(_ why: String) -> WrongInput {
        WrongInput(
            "notAnEntry", "Line \(number) is no entry of a journal: \(why). Nothing was taken.",
            values: ["line": "\(number)"])
    }
}

/// How much went out.
package struct JournalExportReport: Hashable, Sendable, Encodable {
    /// Entries that went out.
    package let entries: Int
}

/// What came in, and the day's new state.
package struct JournalImportReport: Hashable, Sendable, Encodable {
    /// Entries that are new here.
    package let added: Int
    /// Entries that were here already.
    package let known: Int
    /// How the day stands now.
    package let state: TrackerSnapshot
}
