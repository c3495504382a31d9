import Bluetooth
import BottleProtocol
import Captures
import Foundation
import Replay
import Support
import Testing

@Suite struct TimelineTests {
    private static func read(_ times: [Duration?], pdu: [UInt8] = [0x1B, 0x06, 0x00, 1]) throws -> Timeline {
        let timeline = Timeline()
        let statistics = CaptureStatistics(timeline: timeline)
        let connection = ObservedConnection(id: 1, handle: 0x40, peer: Conversation.bottle)
        for (index, time) in times.enumerated() {
            let observation = ATTObservation(
                frame: index + 1, time: time, connection: connection, direction: index % 3 == 0 ? .sent : .received)
            try statistics.receive(.att(observation), pdu.span.bytes)
        }
        statistics.finish()
        return timeline
    }

    @Test(arguments: [1, 100, 5000, 40_000], 0..<3)
    func `every PDU is in one interval of the timeline`(_ count: Int, _ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var time = Duration.seconds(1_770_000_000)
        let times: [Duration?] = (0..<count).map { _ in
            // Also backwards, and over the whole range of times.
            time += .microseconds(Int64.random(in: -2_000_000...20_000_000, using: &random))
            return Int.random(in: 0..<1000, using: &random) == 0
                ? .seconds(Int64.random(in: -100_000_000_000...100_000_000_000, using: &random)) : time
        }
        let timeline = try Self.read(times)
        let intervals = timeline.intervals
        #expect(
            intervals.count <= Timeline.maximumIntervals + 1 && timeline.count == count && timeline.pdusWithoutTime == 0
        )
        #expect(intervals.reduce(0) { $0 + $1.counts.sent + $1.counts.received } == count, "seed \(seed)")
        #expect(
            intervals.reduce(0) { $0 + $1.counts.sent } == (count + 2) / 3
                && intervals.reduce(0) { $0 + $1.counts.bytes } == 4 * count)
        #expect(
            zip(intervals, intervals.dropFirst()).allSatisfy { $1.begin - $0.begin >= .nanoseconds(timeline.width) })
        #expect(timeline.entries.count == min(count, Timeline.maximumEntries))
        if count <= 100 {
            for time in times {
                #expect(
                    intervals.contains { $0.begin <= time! && time! < $0.begin + .nanoseconds(timeline.width) }
                        || abs(time!.components.seconds) > 9_000_000_000)
            }
        }
    }

    @Test func `error responses after the limit of PDUs are kept`() throws {
        let timeline = try Self.read(
            [Duration?](repeating: nil, count: Timeline.maximumEntries + 2 * Timeline.maximumNotable),
            pdu: [0x01, 0x0A, 0x06, 0x00, 0x02])
        #expect(
            timeline.entries.count == Timeline.maximumEntries + Timeline.maximumNotable && timeline.intervals.isEmpty
                && timeline.pdusWithoutTime == timeline.count)
    }

    /// Shipped captures cut at every byte, as files: an image and no trap.
    @Test(arguments: ["boost_one-record.hex", "vita_reports-inside-log.pcapng"])
    func `a truncated capture has a timeline`(_ name: String) throws {
        let folder = try TemporaryFolder()
        let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: RewritingTests.folder + "/" + name)))
        var most = 0
        for size in stride(from: 0, through: whole.count, by: name.hasSuffix(".hex") ? 1 : 7) {
            var file = CaptureFile(path: try folder.write("cut", whole[..<size]))
            let picture = try CaptureContent(&file, options: DrinkReader.Options(hostYear: 2026))
            most = max(most, picture.drinks.count)
            #expect(
                picture.drinks.count <= picture.tally.drinks
                    && picture.days.values.reduce(0) { $0 + $1.drinks } == picture.drinks.count, "cut at \(size)")
        }
        var file = CaptureFile(path: RewritingTests.folder + "/" + name)
        let picture = try CaptureContent(&file, options: DrinkReader.Options(hostYear: 2026))
        #expect(picture.drinks.count == picture.tally.drinks && most <= picture.drinks.count)
        #expect(picture.readingError == nil)
    }
}
