/// Generates controller or link-layer packets from a conversation, for `--record` and `convert` if the source has none
/// of that layer.
///
/// Creates connection events, ACL headers and handles (HCI), or CONNECT_IND, access addresses, sequence numbers and
/// CRCs (link layer), which Wireshark dissects. The last packet of each PDU has the PDU's time.
package struct ConversationSynthesiser {
    /// The layer of the packets: between host and controller, or on the air.
    package enum Target: Sendable, Hashable { case hci, linkLayer }

    package let target: Target
    private var hci = HCISynthesis()
    private var linkLayer = LinkLayerSynthesis()

    package init(_ target: Target) { self.target = target }

    /// Adds the next event of a conversation (`connected`, `att`, `disconnected`, `advertised`) and emits its packets.
    /// An advertisement longer than 31 bytes keeps the AD structures that fit.
    /// - Parameters:
    ///   - frame, time: the record number and time of `connected` and `disconnected`. Other events contain theirs.
    ///   - emit: called for each packet with its bytes.
    package mutating func receive(
        _ event: ConversationEvent, _ bytes: RawSpan, frame: Int, time: Duration?, _ emit: PacketSink
    ) rethrows {
        switch (target, event) {
        case (.hci, .connected(let connection)): try hci.connect(connection, frame: frame, time: time, emit)
        case (.hci, .att(let att)): try hci.send(att, bytes, emit)
        case (.hci, .disconnected(let connection, let reason)):
            try hci.disconnect(connection, reason, frame: frame, time: time, emit)
        case (.linkLayer, .connected(let connection)): try linkLayer.connect(connection, frame: frame, time: time, emit)
        case (.linkLayer, .att(let att)): try linkLayer.send(att, bytes, emit)
        case (.linkLayer, .disconnected(let connection, let reason)):
            try linkLayer.disconnect(connection, reason, frame: frame, time: time, emit)
        case (.hci, .advertised(let advertiser)): try hci.advertise(advertiser, legacyAdvertisingData(bytes), emit)
        case (.linkLayer, .advertised(let advertiser)):
            try linkLayer.advertise(advertiser, legacyAdvertisingData(bytes), emit)
        default: break
        }
    }
}

private func legacyAdvertisingData(_ data: RawSpan) -> [UInt8] {
    AdvertisingBytes.fitting(data.withUnsafeBytes { Array($0) })
}

extension ATTObservation {
    /// The likely direction if the capture has none: odd opcodes come from the server, which usually is not the host.
    func direction(of pdu: RawSpan) -> TrafficDirection {
        direction ?? (pdu.byteCount > 0 && pdu.u8(0) & 1 == 1 ? .received : .sent)
    }
}
