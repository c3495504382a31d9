import BottleProtocol
import Bluetooth
import Testing
import Emulator

@Suite struct RecordedResponsesTests {
    /// A recording in which the host sent two unknown requests, one of them twice, and set the clock.
    private func bench(_ mode: RecordedResponses.Mode) throws -> Bench {
        let exchanges: [(request: [UInt8], values: [[UInt8]])] = [
            (hex("47 54 00 01 77"), [hex("52 50 00 03 02 77 01"), hex("52 50 00 03 02 77 02")]),
            (hex("47 54 00 01 77"), [hex("52 50 00 03 02 77 03")]),
            (hex("AA"), [hex("BB")]),
            (
                HostCommand.clock(BottleClock(yearByte: 26, month: 1, day: 1, hour: 0, minute: 0, second: 0)).encoded,
                [hex("52 50 00 03 02 03 00")]
            ),
        ]
        var bench = try Bench(answers: RecordedResponses(mode, exchanges: exchanges))
        bench.connect()
        return bench
    }

    @Test func `the mode model ignores unknown requests`() throws {
        var bench = try bench(.model)
        #expect(
            bench.write(hex("47 54 00 01 77")).isEmpty && bench.write([0xAA]).isEmpty
                && bench.write(.snapshot).count == 1)
    }

    @Test func `the mode capture answers unknown requests from the recording in turn`() throws {
        var bench = try bench(.capture)
        #expect(bench.write(hex("47 54 00 01 77")) == [hex("52 50 00 03 02 77 01"), hex("52 50 00 03 02 77 02")])
        #expect(bench.write(hex("47 54 00 01 77")) == [hex("52 50 00 03 02 77 03")])
        #expect(bench.write(hex("47 54 00 01 77")) == [hex("52 50 00 03 02 77 03")])
        #expect(bench.write([0xAA]) == [[0xBB]] && bench.write([0xAB]).isEmpty)
        #expect(bench.write(.snapshot).count == 1 && bench.status.central != nil)
    }

    @Test func `the mode strict disconnects at an unknown request`() throws {
        var bench = try bench(.strict)
        #expect(bench.write([0xAA]) == [[0xBB]])
        #expect(bench.write(.clock(BehaviourTests.clock)).count == 1 && bench.status.clock == BehaviourTests.clock)
        #expect(bench.status.central != nil)
        #expect(bench.write(.snapshot).isEmpty && bench.status.central == nil)
    }
}
