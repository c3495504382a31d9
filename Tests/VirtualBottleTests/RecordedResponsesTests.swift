import BottleProtocol
import Bluetooth
import Testing
import Emulator

@Suite struct RecordedResponsesTests {
    /// A recording in which the host sent two unknown requests, one of them twice, and set the clock.
    private func bench(isStrict: Bool = false) throws -> Bench {
        let exchanges: [(request: [UInt8], values: [[UInt8]])] = [
            (hex("47 54 00 01 77"), [hex("52 50 00 03 02 77 01"), hex("52 50 00 03 02 77 02")]),
            (hex("47 54 00 01 77"), [hex("52 50 00 03 02 77 03")]),
            (hex("AA"), [hex("BB")]),
            (
                HostCommand.clock(BottleClock(yearByte: 26, month: 1, day: 1, hour: 0, minute: 0, second: 0)).encoded,
                [hex("52 50 00 03 02 03 00")]
            ),
        ]
        let recorded = exchanges.enumerated().map { index, exchange in
            var recorded = RecordedExchange(request: exchange.request, frame: index + 1)
            recorded.values = exchange.values.map { ($0, .seconds(1)) }
            return recorded
        }
        var bench = try Bench(responses: RecordedResponses(recorded, isStrict: isStrict))
        bench.connect()
        return bench
    }

    @Test func `unknown requests get the recorded responses in turn, without their delays`() throws {
        var bench = try bench()
        #expect(bench.write(hex("47 54 00 01 77")) == [hex("52 50 00 03 02 77 01"), hex("52 50 00 03 02 77 02")])
        #expect(bench.write(hex("47 54 00 01 77")) == [hex("52 50 00 03 02 77 03")])
        #expect(bench.write(hex("47 54 00 01 77")) == [hex("52 50 00 03 02 77 03")])
        #expect(bench.write([0xAA]) == [[0xBB]] && bench.write([0xAB]).isEmpty)
        #expect(bench.write(.snapshot).count == 1 && bench.status.central != nil)
    }

    @Test func `strict mode disconnects at an unknown request`() throws {
        var bench = try bench(isStrict: true)
        #expect(bench.write([0xAA]) == [[0xBB]])
        #expect(bench.write(.clock(BehaviourTests.clock)).count == 1 && bench.status.clock == BehaviourTests.clock)
        #expect(bench.status.central != nil)
        #expect(bench.write(.snapshot).isEmpty && bench.status.central == nil)
    }
}
