package import Bluetooth
package import BottleProtocol
import Captures
package import Emulator
import Replay

/// The records of a bottle in captures, with which an emulated bottle is filled.
package struct CapturedRecords: Sendable {
    /// The records of 13 bytes in the order of delivery, without repetitions. Entries that are not drinks are included.
    package var records: [[UInt8]]
    package var model: BottleModel?
    /// Notes for the user, such as a truncated capture.
    package var remarks: [String] = []
    /// One note for each other bottle in the captures, whose records are not used.
    package private(set) var otherBottleNotes: [String] = []

    /// Reads captures of any supported format, and archives and folders of captures, in the order of their times.
    ///
    /// - Parameter wanted: the bottle to use; otherwise the one with the most records.
    /// - Throws: if a file cannot be opened or is not a capture. A truncated capture is used up to its end.
    package init(files: [String], wanted: BluetoothAddress? = nil) throws {
        var found: [String: (model: BottleModel?, records: [[UInt8]])] = [:]
        var options = DrinkReader.Options(hostYear: 2026)
        options.isRaw = true
        let reader = DrinkReader(options) { delivery in
            guard !delivery.isDuplicate else { return }
            found[delivery.bottle.label, default: (nil, [])].records.append(delivery.record.raw)
            if let model = delivery.model { found[delivery.bottle.label]?.model = model }
        }
        let opened = try files.map(Self.open)
        remarks = opened.flatMap(\.remarks)
        let parts = CaptureOpener.sorted(opened.flatMap(\.parts))
        for (index, part) in parts.enumerated() {
            var file = CaptureFile(part)
            do {
                try reader.read(&file, isLast: index == parts.count - 1)
            } catch let error as CaptureError {
                guard file.info.packets > 0 else { throw CaptureFileError(path: part.name, sentence: "\(error)") }
                remarks.append("\(part.name): \(error)")
            }
        }
        let best = found.max { ($0.value.records.count, $1.key) < ($1.value.records.count, $0.key) }
        let selected = wanted.flatMap { address in found.first { $0.key == address.description } } ?? best
        records = selected?.value.records ?? []
        model = selected?.value.model
        for other in found.keys.sorted() where other != selected?.key {
            otherBottleNotes.append("not used: \(counted(found[other]?.records.count ?? 0, "record")) of \(other)")
        }
    }

    private static func open(_ path: String) throws -> CaptureOpener.Opened {
        do { return try CaptureOpener().open(path) } catch let error as CaptureError {
            throw CaptureFileError(path: path, sentence: "\(error)")
        }
    }

    /// Shifts the times of the records so that the newest one is `now`. Invalid dates do not change. The strict dialect
    /// keeps byte 0.
    package mutating func shiftDates(newestTo now: LocalTime, dialect: RecordDialect? = nil) {
        let times = records.map { raw in BottleClock(raw.prefix(6)).flatMap { LocalTime($0) } }
        guard let newest = times.compactMap({ $0?.milliseconds }).max() else { return }
        for (index, time) in times.enumerated() {
            guard let time else { continue }
            let shifted = LocalTime(milliseconds: time.milliseconds + now.milliseconds - newest)
            records[index].replaceSubrange(0..<6, with: shifted.clock.encoded)
            if dialect == .strict { records[index][0] = DrinkRecord.strictTypeByte }
        }
    }
}
