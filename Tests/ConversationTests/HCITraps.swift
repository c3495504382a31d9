import Support
import Testing

@testable import Bluetooth

/// Builds HCI packets.
struct HCI {
    static func acl(
        _ direction: TrafficDirection?, handle: UInt16 = 0x40, boundary: UInt16, _ data: [UInt8], frame: Int = 1,
        adapter: UInt32 = 0,
        isCut: Bool = false, length: Int? = nil
    ) -> (CapturePacket, [UInt8]) {
        let head = le(handle | boundary << 12) + le(UInt16(length ?? data.count))
        return (
            CapturePacket(
                number: frame, time: nil, adapter: adapter, direction: direction, missing: isCut ? 1 : 0,
                content: .hci(.acl)),
            head + data
        )
    }

    static func event(_ text: String, frame: Int = 1, adapter: UInt32 = 0) -> (CapturePacket, [UInt8]) {
        (
            CapturePacket(number: frame, time: nil, adapter: adapter, direction: .received, content: .hci(.event)),
            bytes(text)
        )
    }

    /// LE Connection Complete of address A4:C1:38:00:00:`last` on a handle.
    static func connected(
        _ last: String, handle: String = "4000", adapter: UInt32 = 0, subevent: String = "01", status: String = "00"
    ) -> (CapturePacket, [UInt8]) {
        let rest =
            subevent == "01"
            ? "1800 0000 f401 00" : "000000000000 000000000000 1800 0000 f401 00" + (subevent == "29" ? "ff ffff" : "")
        let parameters = "\(subevent) \(status) \(handle) 00 01 \(last) 0000 38c1a4 \(rest)"
        return event("3e " + hex([UInt8(bytes(parameters).count)]) + parameters, adapter: adapter)
    }

    static func disconnected(handle: String = "4000", reason: String = "13", status: String = "00") -> (
        CapturePacket, [UInt8]
    ) {
        event("05 04 \(status) \(handle) \(reason)")
    }

    /// A whole notification in one fragment.
    static func notification(_ value: String, handle: UInt16 = 0x40, frame: Int = 1, adapter: UInt32 = 0) -> (
        CapturePacket, [UInt8]
    ) {
        acl(.received, handle: handle, boundary: 2, l2cap("1b 22 00" + value), frame: frame, adapter: adapter)
    }

    static func l2cap(_ pdu: String, channel: UInt16 = 4) -> [UInt8] {
        le(UInt16(bytes(pdu).count)) + le(channel) + bytes(pdu)
    }
}

func le(_ value: some FixedWidthInteger) -> [UInt8] { Swift.withUnsafeBytes(of: value.littleEndian) { Array($0) } }

/// Failure cases of the HCI link types, of ACL and of L2CAP, by name.
@Suite struct HCITraps {
    private func pdus(_ packets: [(CapturePacket, [UInt8])]) -> [String] {
        Observed(packets: packets).pdus.map { hex($0.pdu) }
    }

    @Test func `a connection reported twice is one connection`() {
        let reported = [HCI.connected("01", subevent: "01"), HCI.connected("01", subevent: "0A")]
        let seen = Observed(packets: reported + [HCI.notification("07")])
        #expect(seen.events.count { if case .connected = $0 { true } else { false } } == 1)
        #expect(seen.events.count { if case .disconnected = $0 { true } else { false } } == 0)
        // Another peer, or traffic in between: the handle was reassigned.
        for again in [[HCI.connected("02")], [HCI.notification("07"), HCI.connected("01")]] {
            let seen = Observed(packets: reported + again + [HCI.notification("08")])
            #expect(Set(seen.pdus.map(\.att.connection.id)).max() == 2)
        }
    }

    /// This occurs in one of six Android logs.
    @Test func `ACL data on Qualcomm's diagnostic handle is dropped`() {
        let seen = Observed(packets: [
            HCI.notification("07", handle: 0xEDC),
            HCI.acl(.received, handle: 0xEDC, boundary: 0, bytes("0102 0304 05")),
        ])
        #expect(seen.pdus.isEmpty)
        #expect(seen.drops == [.diagnostics: 2])
        #expect(pdus([HCI.connected("01", handle: "dc0e"), HCI.notification("07", handle: 0xEDC)]).count == 1)
    }

    /// Old kernels mark sent packets as the controller does, and link type 187 has no direction: it follows from ATT.
    @Test func `H4 captures of old kernels without direction are read`() {
        let talk = ["02 05 02", "03 05 02", "08 01 00 ff ff 03 28", "52 03 00 47", "1b 22 00 07"]
        func directions(_ boundary: UInt16, _ first: [(CapturePacket, [UInt8])]) -> [TrafficDirection?] {
            Observed(packets: first + talk.map { HCI.acl(nil, boundary: boundary, HCI.l2cap($0)) }).pdus.map(
                \.att.direction)
        }
        #expect(directions(2, [HCI.connected("01")]) == [.sent, .received, .sent, .sent, .received])
        // A host in the peripheral role is usually the server.
        let role = HCI.event("3e 13 01 00 40 00 01 01 01 00 00 38 c1 a4 18 00 00 00 f4 01 00")
        #expect(directions(2, [role]) == [.received, .sent, .received, .received, .sent])
        // If a host marks its own packets, boundary flag 2 means the controller.
        let own = HCI.acl(nil, boundary: 0, HCI.l2cap("02 05 02"))
        #expect(
            directions(2, [HCI.connected("01"), own]) == [.sent, .received, .received, .received, .received, .received])
    }

    /// Thousands of open connections, and hundreds of thousands of resets of another adapter: a reset must not iterate
    /// over connections that it does not end.
    @Test func `a reset ends connections of its adapter only`() {
        var reassembler = ConversationReassembler()
        func take(_ packet: (CapturePacket, [UInt8])) {
            reassembler.receive(packet.0, packet.1.span.bytes) { _, _ in }
        }
        for handle in 1...UInt16(3700) { take(HCI.notification("07", handle: handle, adapter: 1)) }
        for _ in 0..<500 { take(HCI.event("0e 04 01 03 0c 00", adapter: 0)) }
        #expect(reassembler.hasOpenConnections && reassembler.table.examined == 0)
        for _ in 0..<500 { take(HCI.event("0e 04 01 03 0c 00", adapter: 1)) }
        #expect(
            !reassembler.hasOpenConnections && reassembler.table.examined == 3700, "each connection is examined once")
    }

    @Test func `BR/EDR packets are counted as dropped`() {
        let complete = HCI.event("03 0b 00 40 00 01 02 03 04 05 06 01 00")
        let seen = Observed(packets: [complete, HCI.notification("07"), HCI.notification("08")])
        #expect(seen.pdus.isEmpty)
        #expect(seen.drops == [.classic: 2])
    }

    @Test func `a truncated packet is dropped`() {
        let whole = HCI.l2cap("1b 22 00 01 02 03 04 05")
        let seen = Observed(packets: [
            HCI.acl(.received, boundary: 2, Array(whole.prefix(9)), isCut: true, length: whole.count),
            HCI.acl(.received, boundary: 1, [9, 9]), HCI.notification("07"),
        ])
        #expect(seen.pdus.map { hex($0.pdu) } == ["1b220007"])
        #expect(seen.drops == [.cutRecord: 1, .continuationWithoutStart: 1])
    }

    @Test func `a truncated continuation drops its frame`() {
        let whole = HCI.l2cap("1b 22 00 01 02 03 04 05")
        #expect(
            pdus([
                HCI.acl(.received, boundary: 2, Array(whole.prefix(6))),
                HCI.acl(.received, boundary: 1, [1], isCut: true, length: 6),
                HCI.acl(.received, boundary: 1, Array(whole.suffix(1))), HCI.notification("07"),
            ]) == ["1b220007"])
    }

    @Test func `a packet shorter than its ACL data length is dropped`() {
        let seen = Observed(packets: [
            HCI.acl(.received, boundary: 2, HCI.l2cap("1b 22 00 01"), length: 500), HCI.notification("02"),
        ])
        #expect(seen.pdus.map { hex($0.pdu) } == ["1b220002"])
        #expect(seen.drops == [.shortPacket: 1])
    }

    /// Bytes after a wrong L2CAP length are not part of the PDU. A new start replaces an unfinished frame.
    @Test func `wrong L2CAP lengths are rejected`() {
        let seen = Observed(packets: [
            HCI.acl(.received, boundary: 2, bytes("0400 0400 1b220001 ffffffff")),
            HCI.acl(.received, boundary: 2, bytes("ffff 0400 1b2200")),
            HCI.notification("02"), HCI.acl(.received, boundary: 2, bytes("0000 0400")),
        ])
        #expect(seen.pdus.map { hex($0.pdu) } == ["1b220001", "1b220002"])
        #expect(seen.drops == [.overrun: 1, .supersededHalf: 1, .emptyPDU: 1])
    }

    static let cuts = Array(1..<30)

    /// A first fragment can be shorter than the L2CAP header. Every split into two or three gives the same PDU.
    @Test(arguments: cuts)
    func `a first fragment can be shorter than four bytes`(cut: Int) {
        let whole = HCI.l2cap("1b 22 00 50 54 00 0f 0e 06 1a 02 02 16 15 0f 00 10 00 00 01 61 00 01 02 03 04")
        let pdu = hex(Array(whole.dropFirst(4)))
        #expect(
            pdus([
                HCI.acl(.received, boundary: 2, Array(whole.prefix(cut))),
                HCI.acl(.received, boundary: 1, Array(whole.dropFirst(cut))),
            ]) == [pdu])
        let rest = Array(whole.dropFirst(cut))
        #expect(
            pdus([
                HCI.acl(.received, boundary: 2, Array(whole.prefix(cut))), HCI.acl(.received, boundary: 1, []),
                HCI.acl(.received, boundary: 1, Array(rest.prefix(1))),
                HCI.acl(.received, boundary: 1, Array(rest.dropFirst())),
            ]) == [pdu])
    }

    @Test func `interleaved fragments of both directions are reassembled`() {
        let up = HCI.l2cap("52 12 00 47 54 00 01 06")
        let down = HCI.l2cap("1b 22 00 50 54 00 00")
        let packets = [
            HCI.acl(.received, boundary: 2, Array(down.prefix(5)), frame: 1),
            HCI.acl(.sent, boundary: 0, Array(up.prefix(3)), frame: 2),
            HCI.acl(.received, boundary: 1, Array(down.dropFirst(5)), frame: 3),
            HCI.acl(.sent, boundary: 1, Array(up.dropFirst(3)), frame: 4),
        ]
        let seen = Observed(packets: packets)
        #expect(seen.pdus.map { hex($0.pdu) } == ["1b220050540000", "5212004754000106"])
        #expect(seen.pdus.map(\.att.frame) == [3, 4])
        #expect(seen.pdus.map(\.att.direction) == [.received, .sent])
    }

    @Test func `two controllers can use the same handle`() {
        let one = HCI.l2cap("1b 22 00 01 01 01")
        let two = HCI.l2cap("1b 22 00 02 02 02")
        let seen = Observed(packets: [
            HCI.connected("01", adapter: 0), HCI.connected("02", adapter: 1),
            HCI.acl(.received, boundary: 2, Array(one.prefix(6)), adapter: 0),
            HCI.acl(.received, boundary: 2, Array(two.prefix(5)), adapter: 1),
            HCI.acl(.received, boundary: 1, Array(two.dropFirst(5)), adapter: 1),
            HCI.acl(.received, boundary: 1, Array(one.dropFirst(6)), adapter: 0),
        ])
        #expect(seen.pdus.map { hex($0.pdu) } == ["1b2200020202", "1b2200010101"])
        #expect(seen.pdus.map { $0.att.connection.peer?.description } == ["A4:C1:38:00:00:02", "A4:C1:38:00:00:01"])
        #expect(seen.pdus.map(\.att.connection.adapter) == [1, 0])
    }

    /// Fragments of both directions are interleaved on one handle without a direction (187); only starts are marked.
    /// Each PDU has a pattern of its own. It is complete, or its loss is reported.
    @Test(arguments: [0, 27, 251], [UInt16(0), 2])
    func `interleaved fragments without directions give no invented frame`(size: Int, hostBoundary: UInt16) {
        for seed in 1...30 as ClosedRange<UInt64> {
            var random = SeededGenerator(seed: seed)
            // The opcodes' parity distinguishes an old kernel's starts.
            let pdus = (0..<12).map { index -> (TrafficDirection, [UInt8]) in
                let isSent = Bool.random(using: &random)
                let body = (0..<Int.random(in: 1...240, using: &random)).map {
                    UInt8(truncatingIfNeeded: $0 &* 7 &+ index &* 31)
                }
                return (isSent ? .sent : .received, [isSent ? 0x52 : 0x1B, 0x22, UInt8(index)] + body)
            }
            var waiting: [TrafficDirection: [(CapturePacket, [UInt8])]] = [:]
            for (direction, pdu) in pdus {
                let frame = le(UInt16(pdu.count)) + le(UInt16(4)) + pdu
                var (at, isFirst) = (0, true)
                while at < frame.count {
                    let length = min(
                        frame.count - at,
                        max(isFirst ? 5 : 1, size == 0 ? Int.random(in: 1...60, using: &random) : size))
                    let boundary: UInt16 = !isFirst ? 1 : direction == .sent ? hostBoundary : 2
                    waiting[direction, default: []].append(
                        HCI.acl(nil, boundary: boundary, Array(frame[at..<at + length])))
                    (at, isFirst) = (at + length, false)
                }
            }
            var packets: [(CapturePacket, [UInt8])] = []
            while let side = [TrafficDirection.sent, .received].filter({ waiting[$0]?.isEmpty == false }).randomElement(
                using: &random)
            {
                if let next = waiting[side]?.removeFirst() { packets.append(next) }
            }
            let seen = Observed(packets: [HCI.connected("01")] + packets)
            for found in seen.pdus {
                #expect(
                    pdus.contains { $0.0 == found.att.direction && $0.1 == found.pdu },
                    "seed \(seed): \(hex(found.pdu)) was never sent")
            }
            #expect(seen.pdus.count <= pdus.count, "seed \(seed)")
            if seen.pdus.count < pdus.count {
                #expect(!seen.drops.isEmpty, "seed \(seed): a PDU is missing without a reported drop")
            }
        }
    }

    @Test func `interleaved fragments without directions are dropped`() {
        let down = HCI.l2cap("1b 22 00 01 02 03 04 05 06 07 08"), up = HCI.l2cap("52 22 00 41 42 43 44 45 46")
        let seen = Observed(packets: [
            HCI.connected("01"), HCI.acl(nil, boundary: 2, Array(down.dropLast(4))),
            HCI.acl(nil, boundary: 0, Array(up.dropLast(4))), HCI.acl(nil, boundary: 1, Array(down.suffix(4))),
            HCI.acl(nil, boundary: 1, Array(up.suffix(4))), HCI.notification("07"),
        ])
        #expect(seen.pdus.map { hex($0.pdu) } == ["1b220007"])
        #expect(seen.drops == [.unknownDirection: 1, .continuationWithoutStart: 1])
    }

    /// The rest of a truncated frame is dropped, even if it fits the missing length of the other direction.
    @Test func `the rest of a truncated frame keeps its direction`() {
        let down = HCI.l2cap("1b 22 00 01 02 03 04 05 06 07 08 09 0a 0b 0c"),
            up = HCI.l2cap("52 22 00 41 42 43 44 45 46")
        let seen = Observed(packets: [
            HCI.connected("01"), HCI.acl(nil, boundary: 2, Array(down.prefix(6))),
            HCI.acl(nil, boundary: 1, Array(down[6..<8]), isCut: true, length: 6),
            HCI.acl(nil, boundary: 0, Array(up.prefix(6))), HCI.acl(nil, boundary: 1, Array(down.suffix(7))),
        ])
        #expect(seen.pdus.isEmpty, "\(seen.pdus.map { hex($0.pdu) })")
        #expect(seen.drops == [.cutRecord: 1, .unknownDirection: 1])
    }

    static let reuses: [(name: String, end: [(CapturePacket, [UInt8])])] = [
        ("after Disconnection Complete", [HCI.disconnected()]), ("without a word", []),
        ("after a reset", [HCI.event("0e 04 01 03 0c 00")]),
        (
            "after the adapter went",
            [(CapturePacket(number: 1, time: nil, direction: nil, content: .note(.monitor(1))), [])]
        ),
    ]

    /// A new connection on the handle has a new id and peer, and none of the old fragments.
    @Test(arguments: reuses)
    func `a reused handle is a new connection`(_ name: String, _ end: [(CapturePacket, [UInt8])]) {
        let half = HCI.l2cap("1b 22 00 01 02 03 04")
        let seen = Observed(
            packets: [
                HCI.connected("01"), HCI.notification("01"), HCI.acl(.received, boundary: 2, Array(half.prefix(7))),
            ]
                + end + [
                    HCI.connected("02"), HCI.acl(.received, boundary: 1, Array(half.dropFirst(7))),
                    HCI.notification("02"),
                ])
        #expect(seen.pdus.map { hex($0.pdu) } == ["1b220001", "1b220002"])
        #expect(seen.pdus.map { $0.att.connection.peer?.description } == ["A4:C1:38:00:00:01", "A4:C1:38:00:00:02"])
        #expect(Set(seen.pdus.map(\.att.connection.id)).count == 2)
        #expect(seen.drops == [.disconnectedHalf: 1, .continuationWithoutStart: 1])
    }

    @Test(arguments: ["01", "0a", "29"])
    func `every form of the connection complete event is read`(subevent: String) {
        let seen = Observed(packets: [HCI.connected("05", subevent: subevent), HCI.notification("01")])
        #expect(seen.pdus.first?.att.connection.peer?.description == "A4:C1:38:00:00:05")
        #expect(seen.pdus.first?.att.connection.isCentral == true)
        #expect(seen.pdus.first?.att.connection.isPeerRandom == true)
        let failed = Observed(packets: [HCI.connected("05", subevent: subevent, status: "3e"), HCI.notification("01")])
        #expect(failed.pdus.first?.att.connection.peer == nil)
    }

    @Test func `a failed Disconnection Complete event ends no connection`() {
        let seen = Observed(packets: [HCI.connected("05"), HCI.disconnected(status: "0c"), HCI.notification("01")])
        #expect(seen.pdus.first?.att.connection.peer?.description == "A4:C1:38:00:00:05")
    }

    @Test func `BR/EDR channel 4 is not ATT`() {
        let seen = Observed(packets: [
            HCI.event("03 0b 00 4000 0102030405a4 01 00"), HCI.notification("01"),
            // A handle whose connection started before the capture: channel 1 is classic signalling.
            HCI.acl(.sent, handle: 0x41, boundary: 0, HCI.l2cap("0a 01 02 00 02 00", channel: 1)),
            HCI.notification("01", handle: 0x41),
        ])
        #expect(seen.pdus.isEmpty)
    }

    @Test func `dynamic channels are not ATT`() {
        #expect(
            pdus([
                HCI.acl(.received, boundary: 2, HCI.l2cap("1b 22 00 01", channel: 0x40)),
                HCI.acl(.received, boundary: 2, HCI.l2cap("01", channel: 6)),
            ]).isEmpty)
    }

    /// EATT: channels for SPSM 0027 carry SDUs with a length before the first part.
    @Test func `Enhanced ATT bearers are read`() {
        let request = "17 05 0e00 2700 4000 4000 0a00 4000 4100 4200"
        let response = "18 05 0c00 4000 4000 0a00 0000 5000 5100"
        let seen = Observed(packets: [
            HCI.connected("01"), HCI.acl(.sent, boundary: 0, HCI.l2cap(request, channel: 5)),
            HCI.acl(.received, boundary: 2, HCI.l2cap(response, channel: 5)),
            HCI.acl(.received, boundary: 2, HCI.l2cap("0600 1b2200", channel: 0x41)),
            HCI.acl(.received, boundary: 2, HCI.l2cap("010203", channel: 0x41)),
            HCI.acl(.sent, boundary: 0, HCI.l2cap("0300 0a2200", channel: 0x51)),
            HCI.acl(.sent, boundary: 0, HCI.l2cap("0300 0a2200", channel: 0x41)),
            HCI.acl(.sent, boundary: 0, HCI.l2cap("06 06 0400 5100 4100", channel: 5)),
            HCI.acl(.received, boundary: 2, HCI.l2cap("0300 1b2200", channel: 0x41)),
        ])
        #expect(seen.pdus.map { hex($0.pdu) } == ["1b2200010203", "0a2200"])
        #expect(seen.pdus.map(\.att.bearer) == [0x41, 0x51])
    }

    @Test func `advertisements are reported`() {
        let seen = Observed(packets: [
            HCI.event("3e 0f 02 01 00 01 010203040506 03 020106 c4"),
            HCI.event("3e 0f 02 09 00 01 010203040506 ff 020106 c4"),
        ])
        let advertisers = seen.events.compactMap { if case .advertised(let who) = $0 { who } else { nil } }
        #expect(advertisers.map(\.address.description) == ["06:05:04:03:02:01"])
        #expect(advertisers.first?.rssi == -60)
    }

    /// A malicious capture uses every handle of many adapters: old entries are dropped, so memory is bounded.
    @Test func `the number of open connections is limited`() {
        var packets: [(CapturePacket, [UInt8])] = []
        for index in 0..<9000 {
            packets.append(HCI.notification("01", handle: UInt16(index & 0xFFF), adapter: UInt32(index >> 12)))
        }
        let seen = Observed(packets: packets)
        // Handle 0xEDC, which occurs twice, is not a connection.
        #expect(seen.pdus.count == 8998)
        #expect(seen.events.count { if case .disconnected = $0 { true } else { false } } >= 4000)
    }
}
