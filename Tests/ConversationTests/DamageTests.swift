import Bluetooth
import Captures
import Support
import Testing

/// Randomly damaged packets: no trap, and the output is not longer than the input.
@Suite struct DamageTests {
    @Test(arguments: ["btsnoop", "pcap-h4", "pcap-ll", "pcapng-ll-phdr"])
    func `randomly damaged packets do not trap`(name: String) throws {
        let format = try #require(CaptureFormat(name: name))
        let file = try Conversation.sync.file(format)
        var packets: [(CapturePacket, [UInt8])] = []
        var reader = CaptureReader()
        _ = try reader.read(file.span.bytes, isLast: true) { packet, bytes in
            packets.append((packet, array(bytes)))
        }
        for seed in UInt64(1)...300 {
            var random = SeededGenerator(seed: seed)
            var damaged = packets
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                let index = Int.random(in: 0..<damaged.count, using: &random)
                switch Int.random(in: 0..<6, using: &random) {
                case 0: damaged.swapAt(index, Int.random(in: 0..<damaged.count, using: &random))
                case 1: damaged.append(damaged[index])
                case 2:
                    damaged[index].1 = Array(
                        damaged[index].1.prefix(Int.random(in: 0...damaged[index].1.count, using: &random)))
                case 3:
                    damaged[index].0.direction =
                        [TrafficDirection.sent, .received, nil].randomElement(using: &random) ?? nil
                default:
                    guard !damaged[index].1.isEmpty else { continue }
                    damaged[index].1[Int.random(in: 0..<damaged[index].1.count, using: &random)] = UInt8.random(
                        in: 0...255, using: &random)
                }
            }
            let observed = Observed(packets: damaged)
            #expect(
                observed.pdus.reduce(0) { $0 + $1.pdu.count } <= damaged.reduce(0) { $0 + $1.1.count }, "seed \(seed)")
        }
    }
}
