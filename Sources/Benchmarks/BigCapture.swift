import BottleProtocol
import Bluetooth
import Captures
import Foundation

/// Creates a large capture to measure `waterh-replay`: `Benchmarks big-capture FILE [NOTIFICATIONS [distinct]]`.
///
/// A btsnoop file (H4) of one bottle whose log is requested repeatedly and never acknowledged: 62 notifications of 8
/// records per dump. Between two dumps, 8 new drinks replace the 8 oldest. 500,000 notifications are about 71 MB and
/// 64,512 drinks; with `distinct`, where no drink is delivered twice, 4 million.
enum BigCapture {
    private static let recordsPerEntry = 8
    private static let entriesPerDump = 62

    static func write(_ path: String, notifications: Int, isDistinct: Bool) throws {
        guard FileManager.default.createFile(atPath: path, contents: nil), let file = FileHandle(forWritingAtPath: path)
        else {
            throw CocoaError(.fileWriteUnknown)
        }
        var builder = CaptureBuilder()
        try builder.connect()
        var written = 0
        var first = 0
        while written < notifications {
            try builder.sent([0x52, 0x03, 0x00] + HostCommand.drinkLog.encoded)
            try builder.received([0x1B, 0x06, 0x00] + BottleMessage.logFollows.frame.encoded)
            let values = dump(from: first, entries: min(entriesPerDump, notifications - written))
            for value in values { try builder.received([0x1B, 0x06, 0x00] + value) }
            written += values.count
            first += isDistinct ? recordsPerEntry * values.count : recordsPerEntry
            if builder.writer.output.count > 1 << 20 { try file.write(contentsOf: Data(builder.writer.takeOutput())) }
        }
        try file.write(contentsOf: Data(builder.writer.takeOutput()))
        try file.close()
    }

    private static func dump(from first: Int, entries: Int) -> [[UInt8]] {
        var values = (0..<entries).map { entry in
            Entry(.log, (0..<recordsPerEntry).flatMap { drink(first + entry * recordsPerEntry + $0).raw }).encoded
        }
        let length = values.reduce(0) { $0 + $1.count }
        values[0] = [0x50, 0x54, UInt8(length >> 8), UInt8(length & 0xFF)] + values[0]
        return values
    }

    /// One drink every 20 minutes from 08:00 to 22:00: 43 a day, 28 days a month.
    private static func drink(_ number: Int) -> DrinkRecord {
        let (day, slot) = number.quotientAndRemainder(dividingBy: 43)
        let minute = 8 * 60 + slot * 20 + number % 13
        let clock = BottleClock(
            yearByte: UInt8(truncatingIfNeeded: 26 + day / 336 % 70), month: UInt8(1 + day / 28 % 12),
            day: UInt8(1 + day % 28), hour: UInt8(minute / 60), minute: UInt8(minute % 60),
            second: UInt8(number * 7 % 60))
        return DrinkRecord(
            clock: clock, amountMl: UInt16(20 + number * 37 % 400), sensor: (1, UInt8(97 - day % 60)))
    }

    private struct CaptureBuilder {
        var writer = CaptureWriter(CaptureFormat(.btsnoop, .h4))
        private var number = 0
        private var time = Duration(seconds: 1_770_000_000)

        /// Adds LE Connection Complete, MTU exchange, discovery and subscription.
        mutating func connect() throws {
            let complete: [UInt8] = [
                0x3E, 19, 0x01, 0, 0x40, 0, 0, 0, 0x03, 0x02, 0x01, 0x38, 0xC1, 0xA4, 0x28, 0, 0, 0, 0x2A, 0, 0,
            ]
            try put(complete, .event, .received)
            try sent([0x02, 0x05, 0x02])
            try received([0x03, 0x05, 0x02])
            try sent([0x08, 0x01, 0x00, 0xFF, 0xFF, 0x03, 0x28])
            try received([
                0x09, 0x07, 0x02, 0x00, 0x04, 0x03, 0x00, 0xE9, 0xFF, 0x05, 0x00, 0x10, 0x06, 0x00, 0xE4, 0xFF,
            ])
            try sent([0x12, 0x07, 0x00, 0x01, 0x00])
            try received([0x13])
        }

        mutating func sent(_ pdu: [UInt8]) throws { try put(acl(pdu, boundary: 0), .acl, .sent) }
        mutating func received(_ pdu: [UInt8]) throws { try put(acl(pdu, boundary: 2), .acl, .received) }

        private func acl(_ pdu: [UInt8], boundary: UInt16) -> [UInt8] {
            let header = 0x0040 | boundary << 12
            let size = UInt16(pdu.count + 4)
            return [UInt8(header & 0xFF), UInt8(header >> 8), UInt8(size & 0xFF), UInt8(size >> 8)]
                + [UInt8(pdu.count & 0xFF), UInt8(pdu.count >> 8), 4, 0] + pdu
        }

        private mutating func put(_ bytes: [UInt8], _ type: HCIPacketType, _ direction: TrafficDirection) throws {
            number += 1
            time += .microseconds(1250)
            try writer.write(
                CapturePacket(number: number, time: time, direction: direction, content: .hci(type)), bytes.span.bytes)
        }
    }
}
