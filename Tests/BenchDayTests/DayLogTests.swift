import Bluetooth
import BottleProtocol
import Testing

@testable import BenchDay

@Suite("A dump of a bench day") struct DayLogTests {
    private static let response = BluetoothUUID(0xFFE4)
    private static let follows: [UInt8] = [0x52, 0x50, 0, 3, 2, 6, 1]

    /// Frames of two records each.
    private static func frames(_ amounts: [UInt8]) -> [[UInt8]] {
        stride(from: 0, to: amounts.count, by: 2).map { place in
            let records = amounts[place..<(place + 2)].flatMap {
                [26, 6, 14, 8, $0, 0, 0, $0, 0, 0, 1, 97, 0] as [UInt8]
            }
            return [0x50, 0x54, 0, 28, 27, 6] + records
        }
    }

    private static func log(_ values: [[UInt8]], sendings: Int) -> DayLog {
        var step = DayStep(
            .dump, connection: 1, at: BottleClock(yearByte: 26, month: 6, day: 14, hour: 8, minute: 0, second: 0))
        step.sendings = sendings
        step.values = values.map { DayValue(after: .zero, characteristic: response, bytes: $0) }
        return DayLog(step, from: response)
    }

    @Test(
        """
        a question that was asked three times and answered three times is one dump, not one of three times the \
        records
        """,
        arguments: [true, false])
    func answeredThreeTimes(_ isAnnounced: Bool) {
        let dump = (isAnnounced ? [Self.follows] : []) + Self.frames([10, 20, 30, 40])
        let log = Self.log(dump + dump + dump, sendings: 3)
        #expect(log.records.map { $0[7] } == [10, 20, 30, 40])
        #expect(log.headers.count == 2 && log.pieces.count == 2 && log.isWhole)
        #expect(log.announced == (isAnnounced ? true : nil))
    }

    @Test("announced three times before the first record, it is the same")
    func announcedFirst() {
        let dump = Self.frames([10, 20, 30, 40])
        let log = Self.log([Self.follows, Self.follows, Self.follows] + dump + dump + dump, sendings: 3)
        #expect(log.records.count == 4 && log.headers.count == 2)
    }

    @Test(
        "who drank between two answers is in the later one, and a later one that broke off does not replace a whole one"
    )
    func several() {
        let drunk = Self.log(
            [Self.follows] + Self.frames([10, 20]) + [Self.follows] + Self.frames([10, 20, 30, 40]), sendings: 2)
        #expect(drunk.records.map { $0[7] } == [10, 20, 30, 40])
        let broken = Self.log(
            [Self.follows] + Self.frames([10, 20, 30, 40]) + [
                Self.follows, Array(Self.frames([10, 20])[0].prefix(19)),
            ], sendings: 2)
        #expect(broken.records.map { $0[7] } == [10, 20, 30, 40] && broken.isWhole)
    }
}
