@testable import Bluetooth
import Captures
import Replay
import Testing

/// CRC-24 on real packets: tshark 4.0 does not compute it for data packets.
@Suite struct CRC24Tests {
    /// Core 5.4, Vol 6 Part B has no sample. This one is from a real advertisement (whad-pairing-llphdr.pcap, frame 1).
    @Test(arguments: RealCaptures.files.filter { $0.contains("whad") })
    func `the CRC matches that of real packets`(path: String) throws {
        var file = CaptureFile(path: path)
        var seeds: [UInt32: UInt32] = [:]
        var right = (advertising: 0, data: 0)
        var wrong = (advertising: 0, data: 0)
        try file.forEachPacket { packet, bytes in
            guard case .linkLayer = packet.content else { return }
            let length = 2 + Int(bytes.u8(5))
            let pdu = bytes.extracting(4..<4 + length)
            let crc = bytes.u24(4 + length)
            let accessAddress = bytes.u32(0)
            if accessAddress == advertisingAccessAddress {
                if CRC24.of(pdu, crcInit: CRC24.advertisingInit) == crc {
                    right.advertising += 1
                } else {
                    wrong.advertising += 1
                }
                if pdu.u8(0) & 0x0F == 5 { seeds[pdu.u32(2 + 12)] = pdu.u24(2 + 16) }
            } else if let seed = seeds[accessAddress] {
                if CRC24.of(pdu, crcInit: seed) == crc { right.data += 1 } else { wrong.data += 1 }
                if CRC24.of(pdu, crcInit: seed) == crc { #expect(CRC24.crcInit(of: pdu, crc: crc) == seed) }
            }
        }
        print("CRC right: \(right), wrong: \(wrong)")
        #expect(right.advertising > 0 && right.data > 1000)
        #expect(wrong.advertising == 0 && wrong.data <= 2)
    }
}
