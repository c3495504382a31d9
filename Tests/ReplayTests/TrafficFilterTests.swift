import Bluetooth
import BottleProtocol
import Replay
import Testing

@Suite struct TrafficFilterTests {
    /// 2–5 discovery, 6–7 a read, 8–9 a write, 10 a command, 11 a notification, 12–13 an indication, 14–15 a rejected
    /// read; 17 another device.
    static let talk: Conversation = {
        var talk = Conversation.retail()
        talk.read(6, [0x41])
        talk.sent([0x12, 0x03, 0x00, 1])
        talk.received([0x13])
        talk.write([1])
        talk.notify([1])
        talk.received([0x1D, 0x06, 0x00, 1])
        talk.sent([0x1E])
        talk.sent([0x0A, 0x03, 0x00])
        talk.received([0x01, 0x0A, 0x03, 0x00, 0x02])
        talk.connect(other)
        talk.notify([2])
        return talk
    }()
    static let other = BluetoothAddress(0x1122_3344_5566)
    /// The time of frame 1.
    static let start = Duration.seconds(1_770_000_001)

    static func filter(_ change: (inout TrafficFilter) -> Void) -> TrafficFilter {
        var filter = TrafficFilter()
        change(&filter)
        return filter
    }

    @Test(
        arguments: [
            (filter { _ in }, Array(2...15) + [17]),
            (filter { $0.device = other }, [17]),
            (filter { $0.device = Conversation.bottle }, Array(2...15)),
            (filter { $0.handles = [3] }, [8, 9, 10, 14, 15]),
            (filter { $0.handles = [6] }, [6, 7, 11, 12, 13, 17]),
            (filter { $0.kinds = [.notifications] }, [11, 17]),
            (filter { $0.kinds = [.requests] }, [2, 4, 6, 8, 14]),
            (filter { $0.kinds = [.responses] }, [3, 5, 7, 9, 15]),
            (filter { $0.kinds = [.errors] }, [5, 15]),
            (filter { $0.kinds = [.indications] }, [12, 13]),
            (filter { $0.kinds = [.commands] }, [10]),
            (filter { $0.kinds = [.writes] }, [8, 9, 10]),
            (filter { $0.kinds = [.reads] }, [6, 7, 14, 15]),
            (filter { $0.kinds = [.discovery] }, [2, 3, 4, 5]),
            (filter { $0.kinds = [.commands, .errors] }, [5, 10, 15]),
            (filter { ($0.kinds, $0.handles) = ([.responses], [3]) }, [9, 15]),
            (filter { $0.from = .absolute(start + .seconds(13)) }, [14, 15, 17]),
            (filter { $0.to = .absolute(start + .seconds(3)) }, [2, 3]),
            (filter { ($0.from, $0.to) = (.afterStart(.seconds(8)), .afterStart(.seconds(10))) }, [10, 11]),
            (
                filter {
                    ($0.from, $0.to) = (
                        .timeOfDay(.seconds(2 * 3600 + 40 * 60 + 10)), .timeOfDay(.seconds(2 * 3600 + 40 * 60 + 12))
                    )
                }, [10, 11]
            ),
            (filter { $0.handles = [99] }, []),
        ] as [(TrafficFilter, [Int])])
    func `the filter selects PDUs by device, handle, time and kind`(_ filter: TrafficFilter, _ frames: [Int]) {
        var selector = TrafficSelector(filter)
        var found: [Int] = []
        for (event, bytes) in Self.talk.events {
            guard selector.selects(event, bytes.span.bytes), case .att(let observation) = event else { continue }
            found.append(observation.frame)
        }
        #expect(found == frames)
    }

    @Test func `drinks in a time range use a discovery before it`() throws {
        var talk = Conversation.retail()
        talk.write([0x47, 0x54, 0x00, 0x01, 0x06])  // 6
        talk.notifyLog([record(10, 100)])  // 7
        talk.write([0x47, 0x54, 0x00, 0x01, 0x06])  // 8
        talk.notifyLog([record(10, 100), record(11, 200)])  // 9
        func amounts(_ filter: TrafficFilter) throws -> [Int] {
            var options = DrinkReader.Options(hostYear: 2026)
            options.filter = filter
            var found: [Int] = []
            let reader = DrinkReader(options) { found.append($0.record.amountMl) }
            try talk.read(reader)
            return found
        }
        #expect(try amounts(TrafficFilter()) == [100, 200])
        // A drink that was delivered earlier counts with its first delivery in the time range.
        #expect(try amounts(Self.filter { $0.from = .absolute(.seconds(1_770_000_008)) }) == [100, 200])
        #expect(try amounts(Self.filter { $0.to = .absolute(.seconds(1_770_000_008)) }) == [100])
        #expect(try amounts(Self.filter { $0.handles = [3] }) == [])
        #expect(try amounts(Self.filter { $0.kinds = [.notifications] }) == [100, 200])
    }
}
