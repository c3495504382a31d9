/// Injects the faults of a plan into the PDUs of a link.
package typealias FaultyChannel = FaultyTransfer<[UInt8]>

/// Injects the faults of a plan between two ends. Equal plans, seeds, opcodes and times give equal faults.
package struct FaultyTransfer<Payload: Hashable & Sendable>: Sendable {
    package enum Effect: Hashable, Sendable {
        case deliver(connection: Int, PDUDirection, Payload)
        case disconnect(connection: Int)
        case log(String)
    }

    private struct HeldPDU {
        var connection: Int
        var direction: PDUDirection
        var payload: Payload
        var due: MonotonicInstant
        /// Whether the next PDU overtakes this one, which follows at once.
        var isSwapped: Bool
    }

    private let plan: FaultPlan
    private var generator: SplitMix64
    private var counts: [FaultPlan.Kind: Int] = [:]
    private var held: [HeldPDU] = []

    package init(_ plan: FaultPlan, seed: UInt64) {
        self.plan = plan
        generator = SplitMix64(seed: seed)
    }

    /// The earliest time at which `tick` delivers a PDU.
    package var nextDeadline: MonotonicInstant? { held.map(\.due).min() }

    /// Accepts a sent PDU with this opcode, and returns the PDUs to deliver now. `connection` is the caller's number of
    /// the connection.
    mutating func transmit(
        _ payload: Payload, opcode: ATTOpcode, _ direction: PDUDirection, connection: Int, at now: MonotonicInstant
    ) -> [Effect] {
        guard !plan.faults.isEmpty else { return [.deliver(connection: connection, direction, payload)] }
        if nextFault(.disconnect) != nil {
            closed(connection: connection)
            return [.log("fault: disconnected"), .disconnect(connection: connection)]
        }
        var copies = 1
        var wait = Duration.zero
        var isSwapped = false
        var log: [Effect] = []
        for kind in Self.kinds(of: opcode, direction) {
            guard let fault = nextFault(kind) else { continue }
            log.append(.log("fault: \(kind.rawValue) \(opcode)"))
            switch kind {
            case .lose, .silent, .deaf: copies = 0
            case .repeat: copies = 2
            case .delay, .late: wait += fault.time
            case .swap: isSwapped = true
            case .disconnect: break
            }
        }
        return log + send(payload, direction, connection, copies: copies, wait: wait, isSwapped: isSwapped, at: now)
    }

    package mutating func tick(at now: MonotonicInstant) -> [Effect] {
        let due = held.filter { $0.due <= now }
        held.removeAll { $0.due <= now }
        return due.map { .deliver(connection: $0.connection, $0.direction, $0.payload) }
    }

    package mutating func closed(connection: Int) {
        held.removeAll { $0.connection == connection }
    }

    private mutating func send(
        _ payload: Payload, _ direction: PDUDirection, _ connection: Int, copies: Int, wait: Duration, isSwapped: Bool,
        at now: MonotonicInstant
    ) -> [Effect] {
        func isSameDirection(_ pdu: HeldPDU) -> Bool { pdu.connection == connection && pdu.direction == direction }
        // ATT bearers keep their order: a PDU is not delivered before an earlier one that is not swapped.
        let lastDue = held.filter { isSameDirection($0) && !$0.isSwapped }.map(\.due).max()
        let due = max(
            now.advanced(by: isSwapped && wait == .zero ? FaultPlan.Kind.swap.defaultTime : wait), lastDue ?? now)
        let packet = HeldPDU(
            connection: connection, direction: direction, payload: payload, due: due, isSwapped: isSwapped)
        var packets = Array(repeating: packet, count: copies)
        if !isSwapped, copies > 0 {
            // This PDU has overtaken the swapped ones, which follow it at once.
            for var overtaken in held where isSameDirection(overtaken) && overtaken.isSwapped {
                (overtaken.due, overtaken.isSwapped) = (due, false)
                packets.append(overtaken)
            }
            held.removeAll { isSameDirection($0) && $0.isSwapped }
        }
        guard due <= now else {
            held += packets
            return []
        }
        return packets.map { .deliver(connection: connection, direction, $0.payload) }
    }

    private static func kinds(of opcode: ATTOpcode, _ direction: PDUDirection) -> [FaultPlan.Kind] {
        switch opcode {
        case .notification, .indication, .multipleNotification: return [.lose, .repeat, .delay, .swap]
        case .writeCommand where direction == .toPeripheral: return [.deaf]
        case _ where opcode.isResponse && direction == .toCentral: return [.late, .silent]
        default: return []
        }
    }

    /// Counts a PDU of this kind and returns the fault that applies to it.
    private mutating func nextFault(_ kind: FaultPlan.Kind) -> FaultPlan.Fault? {
        let count = counts[kind, default: 0] + 1
        counts[kind] = count
        var found: FaultPlan.Fault?
        // Draw a random number for every fault, so that one fault does not change the random numbers of another.
        for fault in plan.faults where fault.kind == kind {
            switch fault.trigger {
            case .at(let trigger): if trigger == count { found = found ?? fault }
            case .chance(let chance):
                if Double.random(in: 0..<1, using: &generator) < chance { found = found ?? fault }
            }
        }
        return found
    }
}

extension FaultyChannel {
    package mutating func transmit(
        _ bytes: [UInt8], _ direction: PDUDirection, connection: Int = 1, at now: MonotonicInstant
    ) -> [Effect] {
        let opcode = ATTOpcode(bytes.first ?? 0)
        return transmit(limitMTU(bytes), opcode: opcode, direction, connection: connection, at: now)
    }

    /// Lowers the MTU in an MTU exchange for both ends.
    private func limitMTU(_ bytes: [UInt8]) -> [UInt8] {
        guard let mtu = plan.mtu else { return bytes }
        switch try? ATTPDU(decoding: bytes) {
        case .exchangeMTURequest(let offered):
            return ATTPDU.exchangeMTURequest(mtu: min(offered, UInt16(clamping: mtu))).encoded
        case .exchangeMTUResponse(let offered):
            return ATTPDU.exchangeMTUResponse(mtu: min(offered, UInt16(clamping: mtu))).encoded
        default: return bytes
        }
    }
}
