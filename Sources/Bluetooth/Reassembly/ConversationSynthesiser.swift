/// From a conversation to packets that a controller or the air would have shown: what `--record` and `convert` write
/// when there are no packets, or packets of another level.
///
/// Makes connection events, ACL headers and connection handles (HCI), or CONNECT_IND, access addresses, sequence
/// numbers and CRCs (link layer), so that Wireshark dissects the result. The last packet of each PDU has the PDU's own
/// time.
package struct ConversationSynthesiser {
    /// Where the packets seem to have been captured: between host and controller, or on the air.
    package enum Target: Sendable, Hashable { case hci, linkLayer }

    /// What kind of packets is made.
    package let target: Target
    private var hci = HCISynthesis()
    private var air = AirSynthesis()

    /// Makes packets of that kind.
    package init(_ target: Target) { self.target = target }

    /// Takes the next event of a conversation (`connected`, `att`, `disconnected`, `advertised`; others are of no use
    /// here) and emits packets. An advertisement longer than a legacy one (31 bytes) keeps of its structures those that
    /// fit.
    ///
    /// - Parameters:
    ///   - frame, time: of `connected` and `disconnected`, which have none of their own; the others bring theirs.
    ///   - emit: called for each packet, with its bytes.
    package mutating func receive(
        _ event: ConversationEvent, _ bytes: RawSpan, frame: Int, time: Duration?,
        _ emit: (ObservedPacket, RawSpan) throws -> Void
    ) rethrows {
        switch (target, event) {
        case (.hci, .connected(let connection)): try hci.connect(connection, frame: frame, time: time, emit)
        case (.hci, .att(let att)): try hci.send(att, bytes, emit)
        case (.hci, .disconnected(let connection, let reason)):
            try hci.disconnect(connection, reason, frame: frame, time: time, emit)
        case (.linkLayer, .connected(let connection)): try air.connect(connection, frame: frame, time: time, emit)
        case (.linkLayer, .att(let att)): try air.send(att, bytes, emit)
        case (.linkLayer, .disconnected(let connection, let reason)):
            try air.disconnect(connection, reason, frame: frame, time: time, emit)
        case (.hci, .advertised(let advertiser)): try hci.advertise(advertiser, legacyAdvertisingData(bytes), emit)
        case (.linkLayer, .advertised(let advertiser)):
            try air.advertise(advertiser, legacyAdvertisingData(bytes), emit)
        default: break
        }
    }
}

/// The AD structures (`length(1) type(1) data`) that fit into 31 bytes, in order.
private func legacyAdvertisingData(_ data: RawSpan) -> [UInt8] {
    var kept: [UInt8] = []
    var at = 0
    while at < data.byteCount {
        let end = at + 1 + Int(data.u8(at))
        guard end <= data.byteCount else { break }
        if kept.count + end - at <= 31 { data.extracting(at..<end).withUnsafeBytes { kept.append(contentsOf: $0) } }
        at = end
    }
    return kept
}

extension ATTObservation {
    /// Where the capture did not say: odd opcodes come from the server, which is not the host as a rule.
    func direction(saying pdu: RawSpan) -> TrafficDirection {
        direction ?? (pdu.byteCount > 0 && pdu.u8(0) & 1 == 1 ? .received : .sent)
    }
}

/// L2CAP around a PDU on the ATT channel.
func l2cap(_ pdu: RawSpan) -> [UInt8] {
    var frame: [UInt8] = [
        UInt8(truncatingIfNeeded: pdu.byteCount), UInt8(truncatingIfNeeded: pdu.byteCount >> 8), 4, 0,
    ]
    pdu.withUnsafeBytes { frame.append(contentsOf: $0) }
    return frame
}
