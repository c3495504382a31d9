package import Bluetooth

/// The traffic counts and the MTU of one connection.
package final class ConnectionStatistics {
    /// The connection's data as last reported.
    package internal(set) var observed: ObservedConnection
    package internal(set) var sawBeginning = false
    package internal(set) var hasEnded = false
    /// The HCI or LL error code of the end; `nil` if the capture does not have it.
    package internal(set) var reason: UInt8?
    package internal(set) var isEncrypted = false
    /// Whether the connection is from a text capture, which has no MTU and whose handles are generated.
    package internal(set) var isText = false
    package internal(set) var counts = TrafficCounts()
    /// The MTU that the host offered; `nil` if the capture has no exchange.
    package internal(set) var hostMTU: Int?
    package internal(set) var remoteMTU: Int?
    /// The number of PDUs with a value that are as long as the MTU. The value might be truncated, or continue in the
    /// next PDU.
    package internal(set) var fullPDUs = 0
    /// The number of PDUs longer than the MTU.
    package internal(set) var oversizedPDUs = 0
    package internal(set) var firstOversized: Int?
    /// The number of requests sent before the response to the previous one.
    package internal(set) var overlappingRequests = 0
    package internal(set) var firstOverlapping: Int?
    package internal(set) var drops: [DropReason: Int] = [:]

    init(_ observed: ObservedConnection) { self.observed = observed }

    /// The MTU of the connection: the smaller offer, at least 23 (Core 5.4, Vol 3 Part F, 3.4.2); `nil` if the capture
    /// has no exchange.
    package var mtu: Int? {
        guard let hostMTU, let remoteMTU else { return nil }
        return max(23, min(hostMTU, remoteMTU))
    }

    func end(_ reason: UInt8?) { (hasEnded, self.reason) = (true, reason) }

    /// The number of retransmitted link-layer packets.
    package var retransmissions: Int { drops[.retransmission] ?? 0 }

    /// The number of parts of PDUs that are missing or unreadable in the capture.
    package var lostParts: Int { DropReason.losses.reduce(0) { $0 + (drops[$1] ?? 0) } }
}

/// The connections of a capture in the order of their first packet, with statistics of the first `maximumCount`.
struct ConnectionList {
    static let maximumCount = 1000
    private(set) var all: [ConnectionStatistics] = []
    /// The number of connections, including those without statistics.
    private(set) var count = 0
    private var byID: [Int: ConnectionStatistics] = [:]
    private var last: ConnectionStatistics?

    subscript(id: Int) -> ConnectionStatistics? { byID[id] }

    /// The statistics of a connection, created for its first packet and updated with its data; `nil` beyond the limit.
    mutating func find(_ connection: ObservedConnection) -> ConnectionStatistics? {
        if let last, last.observed.id == connection.id {
            last.observed = connection
            return last
        }
        if let known = byID[connection.id] {
            known.observed = connection
            last = known
            return known
        }
        // Connections are numbered in the order of their first packet.
        guard connection.id > count else { return nil }
        count = connection.id
        guard all.count < Self.maximumCount else { return nil }
        let new = ConnectionStatistics(connection)
        all.append(new)
        byID[connection.id] = new
        last = new
        return new
    }
}

extension DropReason {
    /// The reasons for which a part of a PDU is missing or unreadable.
    static let losses: [DropReason] = [
        .truncatedRecord, .shortPacket, .continuationWithoutStart, .supersededFrame, .unknownDirection, .overrun,
        .disconnectedDuringFrame, .missedPart, .unfinishedAtEnd, .badCRC,
    ]
}
