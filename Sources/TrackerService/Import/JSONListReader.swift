import Foundation
import TrackerCore

/// A list of objects with `startDate` and `value_ml`, or an object with such a list under `drinks`.
///
/// This finds the list's entries. What is in them, and whether everything around them is JSON, Foundation says; an
/// entry as plain as ours are (`HealthEntry.plain`) needs no Foundation.
final class JSONListReader: FormatReader {
    /// One entry, and everything around the list, may be that long.
    private static let limit = 1 << 20

    private enum Place { case before, list, after }

    private let deliver: (HealthSample) throws -> Void
    private var fields = SampleFields()
    private var place = Place.before
    private var depth = 0
    /// How deep the list lies: its entries are one deeper.
    private var listDepth = 0
    private var isInString = false
    private var isEscaped = false
    /// The last string of the outer object, and the one before the last colon.
    private var string: [UInt8] = []
    private var key: [UInt8] = []
    /// Everything but the entries.
    private var outside: [UInt8] = []
    private var entry: [UInt8] = []
    /// Entries so far.
    private var count = 0
    private let decoder = JSONDecoder()

    init(deliver: @escaping (HealthSample) throws -> Void) { self.deliver = deliver }

    func feed(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes
        while let byte = rest.first {
            if byte == UInt8(ascii: "{"), place == .list, depth == listDepth, entry.isEmpty,
                let length = try plainEntry(rest)
            {
                rest = UnsafeRawBufferPointer(rebasing: rest[length...])
                continue
            }
            // Of an entry's texts, most of a file, all at once up to what may end them.
            if isInString, !isEscaped, place == .list {
                let run = rest.prefix { $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
                if !run.isEmpty {
                    entry.append(contentsOf: UnsafeRawBufferPointer(rebasing: run))
                    rest = UnsafeRawBufferPointer(rebasing: rest[run.endIndex...])
                    continue
                }
            }
            try take(byte)
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst())
        }
        guard entry.count <= Self.limit else {
            throw HealthFileError(reason: "Entry \(count + 1) of the list is longer than \(Self.limit >> 20) MB.")
        }
        guard outside.count <= Self.limit else {
            throw HealthFileError(reason: "The JSON has more than \(Self.limit >> 20) MB beside its list of drinks.")
        }
    }

    func finish() throws {
        guard (try? JSONSerialization.jsonObject(with: Data(outside))) != nil else {
            throw HealthFileError(reason: "This is not whole JSON. Is the file cut?")
        }
        guard place == .after else {
            throw HealthFileError(reason: "The JSON must be a list of drinks with startDate and value_ml.")
        }
    }

    // MARK: - Finding the entries

    private func take(_ byte: UInt8) throws {
        if isInString {
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isInString = false
            }
            if place == .before, isInString, depth == 1 { string.append(byte) }
            return keep(byte)
        }
        switch byte {
        case UInt8(ascii: "\""):
            isInString = true
            string = []
        case UInt8(ascii: ":") where depth == 1: key = string
        case UInt8(ascii: "["), UInt8(ascii: "{"):
            depth += 1
            let isList =
                byte == UInt8(ascii: "[") && place == .before
                && (depth == 1 || depth == 2 && key == Array("drinks".utf8))
            if isList {
                keep(byte)
                (place, listDepth) = (.list, depth)
                return
            }
        case UInt8(ascii: "]"), UInt8(ascii: "}"):
            if place == .list, depth == listDepth {
                if !entry.isEmpty || count > 0 { try endEntry() }
                place = .after
            }
            depth -= 1
        case UInt8(ascii: ",") where place == .list && depth == listDepth: return try endEntry()
        case UInt8(ascii: ",") where place == .before && depth == 1: key = []
        case _ where place == .list && entry.isEmpty && FileHead.isSpace(byte): return
        default: break
        }
        keep(byte)
    }

    private func keep(_ byte: UInt8) {
        if place == .list { entry.append(byte) } else { outside.append(byte) }
    }

    /// Reads an entry at once, with the comma behind it, where both are plain and in these bytes.
    /// - Returns: how many bytes that were; `nil` where it is to be read byte by byte.
    private func plainEntry(_ bytes: UnsafeRawBufferPointer) throws -> Int? {
        guard let (found, length) = HealthEntry.plain(bytes), length <= Self.limit,
            let comma = bytes[length...].firstIndex(where: { !FileHead.isJSONSpace($0) }),
            bytes[comma] == UInt8(ascii: ",")
        else { return nil }
        count += 1
        try deliverSample(of: found)
        return comma + 1
    }

    /// What the entry says becomes a sample.
    private func endEntry() throws {
        guard !entry.isEmpty else {
            throw HealthFileError(reason: "Entry \(count + 1) of the list is missing between two commas.")
        }
        defer { entry.removeAll(keepingCapacity: true) }
        count += 1
        guard let found = try? decoder.decode(HealthEntry.self, from: Data(entry)) else {
            throw HealthFileError(reason: "Entry \(count) of the list is no whole JSON object. Is the file cut?")
        }
        try deliverSample(of: found)
    }

    private func deliverSample(of entry: HealthEntry) throws {
        do {
            try deliver(try entry.sample(&fields))
        } catch let error as HealthFileError {
            throw HealthFileError(reason: "Entry \(count) of the list: \(error.reason)")
        }
    }
}
