import Bluetooth
import Testing

/// ATT on a stream: fragmented PDUs and invalid data.
@Suite struct BasicFramesTests {
    private let pdus: [[UInt8]] = [
        [0x02, 0x05, 0x02], [], [UInt8](repeating: 0x1B, count: BasicFrames.longest), [0x13],
    ]

    @Test func `a basic frame has length, channel and PDU`() {
        #expect(BasicFrames.frame([0x02, 0x05, 0x02]) == [3, 0, 4, 0, 0x02, 0x05, 0x02])
        #expect(BasicFrames.frame([UInt8](repeating: 7, count: 300)).prefix(4) == [0x2C, 0x01, 4, 0])
    }

    @Test func `frames split at any byte return the same PDUs`() {
        let stream = pdus.flatMap { BasicFrames.frame($0) }
        for cut in 0...stream.count {
            var frames = BasicFrames()
            var found: [[UInt8]] = []
            for part in [stream[..<cut], stream[cut...]] {
                frames.append(part)
                while case .pdu(let pdu) = frames.next() { found.append(pdu) }
            }
            #expect(found == pdus, "cut at \(cut)")
            #expect(frames.next() == .incomplete)
        }
    }

    @Test func `frames of other channels are skipped`() {
        var frames = BasicFrames()
        frames.append([2, 0, 6, 0, 0xAA, 0xBB] + BasicFrames.frame([0x0B]))
        #expect(frames.next() == .pdu([0x0B]))
    }

    @Test func `a frame longer than any PDU is reported`() {
        var frames = BasicFrames()
        frames.append([0xFF, 0xFF, 4, 0, 1])
        #expect(frames.next() == .tooLong(65535))
    }
}
