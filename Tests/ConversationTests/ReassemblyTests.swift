import Support
import Testing

@testable import Bluetooth

/// Failure cases of the HCI link types, of ACL, of L2CAP and of recordings from the air.
@Suite struct ReassemblyTests {
    @Test(arguments: ReassemblyCase.hci + ReassemblyCase.air)
    func `packets give the expected PDUs and drops`(example: ReassemblyCase) {
        let seen = Observed(packets: example.packets)
        #expect(seen.pdus.map { hex($0.pdu) } == example.pdus)
        if let drops = example.drops { #expect(seen.drops == drops) }
    }

    private func pdus(_ packets: [TestPacket]) -> [String] { Observed(packets: packets).pdus.map { hex($0.pdu) } }

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

    /// Old kernels mark sent packets as the controller does, and link type 187 has no direction: it follows from ATT.
    @Test func `H4 captures of old kernels without direction are read`() {
        let talk = ["02 05 02", "03 05 02", "08 01 00 ff ff 03 28", "52 03 00 47", "1b 22 00 07"]
        func directions(_ boundary: UInt16, _ first: [TestPacket]) -> [TrafficDirection?] {
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
        func take(_ packet: TestPacket) {
            reassembler.receive(packet.0, packet.1.span.bytes) { _, _ in }
        }
        for handle in 1...UInt16(3700) { take(HCI.notification("07", handle: handle, adapter: 1)) }
        for _ in 0..<500 { take(HCI.event("0e 04 01 03 0c 00", adapter: 0)) }
        #expect(reassembler.hasOpenConnections && reassembler.table.examined == 0)
        for _ in 0..<500 { take(HCI.event("0e 04 01 03 0c 00", adapter: 1)) }
        #expect(
            !reassembler.hasOpenConnections && reassembler.table.examined == 3700, "each connection is examined once")
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
            var waiting: [TrafficDirection: [TestPacket]] = [:]
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
            var packets: [TestPacket] = []
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

    static let reuses: [(name: String, end: [TestPacket])] = [
        ("after Disconnection Complete", [HCI.disconnected()]), ("without a word", []),
        ("after a reset", [HCI.event("0e 04 01 03 0c 00")]),
        (
            "after the adapter went",
            [(CapturePacket(number: 1, time: nil, direction: nil, content: .note(.monitor(1))), [])]
        ),
    ]

    /// A new connection on the handle has a new id and peer, and none of the old fragments.
    @Test(arguments: reuses)
    func `a reused handle is a new connection`(_ name: String, _ end: [TestPacket]) {
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
        #expect(seen.drops == [.disconnectedDuringFrame: 1, .continuationWithoutStart: 1])
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
        var packets: [TestPacket] = []
        for index in 0..<9000 {
            packets.append(HCI.notification("01", handle: UInt16(index & 0xFFF), adapter: UInt32(index >> 12)))
        }
        let seen = Observed(packets: packets)
        // Handle 0xEDC, which occurs twice, is not a connection.
        #expect(seen.pdus.count == 8998)
        #expect(seen.events.count { if case .disconnected = $0 { true } else { false } } >= 4000)
    }

    // MARK: - Link layer

    @Test func `CONNECT_IND has both addresses`() {
        let observed = Observed(packets: [Air.connectInd(), Air.notification("01")])
        let connection = observed.pdus.first?.att.connection
        #expect(connection?.peer?.description == "A4:C1:38:00:00:01")
        #expect(connection?.central?.description == "C0:00:00:00:00:06")
        #expect(connection?.isPeerRandom == false)
        #expect(connection?.handle == Air.accessAddress)
    }

    @Test func `packets after LL_START_ENC_REQ are encrypted`() {
        let observed = Observed(packets: [
            Air.connectInd(), Air.notification("01"), Air.data(3, "05", .sent),
            Air.data(2 | 8, "0400 0400 1b220002 aabbccdd", .received),
            Air.data(2 | 8, "0400 0400 0a220002 aabbccdd", .sent),
        ])
        #expect(observed.pdus.map { hex($0.pdu) } == ["1b220001"])
        #expect(observed.drops == [.ciphertext: 2])
        #expect(observed.events.contains { if case .encrypted = $0 { true } else { false } })
    }

    /// Valid L2CAP is accepted, and only ciphertext is reported as encrypted.
    @Test func `decrypted packets without a flag are read`() {
        let plain = Observed(packets: [
            Air.connectInd(), Air.data(3, "05", .received), Air.notification("02"), Air.notification("03", sequence: 1),
            Air.data(2, "0500 0400 1b22", .received), Air.data(1 | 8, "000405", .received), Air.data(3, "0213", .sent),
        ])
        #expect(plain.pdus.map { hex($0.pdu) } == ["1b220002", "1b220003", "1b22000405"])
        #expect(plain.drops.isEmpty)
        #expect(!plain.events.contains { if case .encrypted = $0 { true } else { false } })
        let cipher = Observed(packets: [
            Air.connectInd(), Air.data(3, "05", .received), Air.data(2, "9f31 77aa 01020304 aabbccdd", .received),
            Air.data(3 | 8, "55aabbccdd", .received), Air.data(1, "0102030405060708", .received),
        ])
        #expect(cipher.pdus.isEmpty)
        #expect(cipher.drops == [.ciphertext: 3])
        #expect(cipher.events.count { if case .encrypted = $0 { true } else { false } } == 1)
    }

    /// CRCInit is derived from two packets that agree.
    @Test func `a connection without CONNECT_IND is read`() {
        let observed = Observed(packets: [
            Air.data(2, "0600 0400 1b22", .received), Air.data(1 | 8, "00010203", .received),
            Air.notification("01", isDamaged: true), Air.notification("04"),
        ])
        #expect(observed.pdus.map { hex($0.pdu) } == ["1b2200010203", "1b220004"])
        #expect(observed.pdus.first?.att.connection.peer == nil)
        #expect(observed.drops == [.badCRC: 1])
    }

    /// From the response after 150 µs, the start of the connection event, and the sequence bits. Both ends are servers
    /// here.
    @Test func `the direction is derived from the packet times`() {
        var time = Duration.seconds(50)
        var packets = [Air.connectInd()]
        var bit: UInt8 = 0
        func event(_ central: String, _ peripheral: String) {
            time += .milliseconds(30)
            packets.append(Air.data((central.isEmpty ? 1 : 2) | bit << 2 | bit << 3, central, at: time))
            packets.append(
                Air.data(
                    (peripheral.isEmpty ? 1 : 2) | (bit ^ 1) << 2 | bit << 3, peripheral,
                    at: time + .microseconds(80 + 8 * bytes(central).count + 150)))
            bit ^= 1
        }
        for _ in 0..<4 { event("", "") }
        event("0400 0400 1b110001", "")
        event("", "0400 0400 1b220002")
        event("0300 0400 0a0300", "0300 0400 0a0400")
        let observed = Observed(packets: packets)
        #expect(observed.pdus.map { hex($0.pdu) } == ["1b110001", "1b220002", "0a0300", "0a0400"])
        #expect(observed.pdus.map(\.att.direction) == [.sent, .received, .sent, .received])
    }

    @Test func `LL_TERMINATE_IND ends the connection once`() {
        let observed = Observed(packets: [
            Air.connectInd(), Air.data(2, "0600 0400 1b22", .received), Air.data(3, "0213", .sent),
            Air.data(3, "0213", .sent), Air.data(1 | 4 | 8, "", .received), Air.connectInd(2),
            Air.data(1, "00010203", .received), Air.notification("09", sequence: 1),
        ])
        #expect(observed.pdus.map { hex($0.pdu) } == ["1b220009"])
        #expect(observed.pdus.first?.att.connection.peer?.description == "A4:C1:38:00:00:02")
        #expect(observed.events.count { if case .disconnected = $0 { true } else { false } } == 1)
        #expect(observed.events.count { if case .connected = $0 { true } else { false } } == 2)
    }

    @Test func `a repeated CONNECT_IND is one connection`() {
        let observed = Observed(packets: [Air.connectInd(), Air.connectInd(), Air.notification("01")])
        #expect(observed.events.count { if case .connected = $0 { true } else { false } } == 1)
    }
}
