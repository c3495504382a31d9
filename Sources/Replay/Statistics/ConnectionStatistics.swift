import Bluetooth

/// What passed on one connection.
package final class ConnectionStatistics {
    /// As known last.
    package internal(set) var observed: ObservedConnection
    /// Its beginning is in the capture.
    package internal(set) var sawBeginning = false
    /// Its end is in the capture.
    package internal(set) var hasEnded = false
    /// HCI or LL error code of its end; `nil` where the end is not in the capture or gave none.
    package internal(set) var reason: UInt8?
    /// Some of it was ciphertext.
    package internal(set) var isEncrypted = false
    /// From text, which keeps neither handles nor an MTU: the handles are made up.
    package internal(set) var isText = false
    /// What passed on it.
    package internal(set) var counts = TrafficCounts()
    /// What the client offered; `nil` where no exchange is in the capture.
    package internal(set) var clientMTU: Int?
    /// What the server offered.
    package internal(set) var serverMTU: Int?
    /// Value PDUs as long as the MTU allows: what did not fit was cut off, or came in further parts.
    package internal(set) var fullPDUs = 0
    /// PDUs longer than the MTU allows, and the record of the first.
    package internal(set) var tooLong = 0
    /// Record of the first PDU that was longer than the MTU allows; `nil`: none was.
    package internal(set) var firstTooLong: Int?
    /// Requests that came before the last one was answered, and the record of the first.
    package internal(set) var impatient = 0
    /// Record of the first request that went out before the last was answered; `nil`: none did.
    package internal(set) var firstImpatient: Int?
    /// Bytes that became no PDU, by reason.
    package internal(set) var drops: [DropReason: Int] = [:]

    init(_ observed: ObservedConnection) { self.observed = observed }

    /// What both agreed on: the smaller offer, at least 23 (Core 5.4, Vol 3 Part F, 3.4.2); `nil` where no exchange is
    /// in the capture.
    package var mtu: Int? {
        guard let clientMTU, let serverMTU else { return nil }
        return max(23, min(clientMTU, serverMTU))
    }

    /// Packets on the air that came again.
    package var retransmissions: Int { drops[.retransmission] ?? 0 }

    /// Parts of PDUs that are missing in the capture.
    package var lostParts: Int { DropReason.losses.reduce(0) { $0 + (drops[$1] ?? 0) } }
}

extension DropReason {
    /// Something of a PDU is not in the capture, or cannot be trusted.
    static let losses: [DropReason] = [
        .cutRecord, .shortPacket, .continuationWithoutStart, .supersededHalf, .unknownDirection, .overrun,
        .disconnectedHalf, .missedPart, .unfinishedAtEnd, .badCRC,
    ]
}
