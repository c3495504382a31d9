// Handles captures without directions, in which fragments of both directions are interleaved on one handle.

extension ConversationReassembler {
    /// Adds a fragment without a direction while both directions have an incomplete frame.
    /// - Returns: whether the fragment was added. If not, the caller handles it as usual.
    mutating func receiveTangled(
        _ slot: Int, boundary: UInt16, length: Int, _ packet: CapturePacket, _ bytes: RawSpan,
        _ emit: (ConversationEvent, RawSpan) throws -> Void
    ) rethrows -> Bool {
        let isTangled = table.slots[slot].tangle != nil
        if boundary != 1 {
            guard isTangled else { return false }
            let observed = table.slots[slot].observed
            let direction = directionOfStart(
                observed.adapter, boundary: boundary, isHostServer: observed.isCentral == false, bytes)
            try untangle(slot, beforeStartOf: direction, emit)
            return false
        }
        guard isTangled || table.slots[slot].sent.isOpen && table.slots[slot].received.isOpen else { return false }
        // A packet with a wrong length, or without a known frame length, cannot be assigned.
        guard packet.isCut || length <= bytes.byteCount - 4 else {
            try abandonBoth(slot, .shortPacket, emit)
            return true
        }
        let connection = table.slots[slot]
        guard
            var tangle = connection.tangle
                ?? InterleavedFragments(sent: connection.sent, received: connection.received, fits: fits)
        else {
            try abandonBoth(slot, .unknownDirection, emit)
            return true
        }
        let data = bytes.extracting(4..<4 + min(length, bytes.byteCount - 4))
        let isTaken = tangle.take(
            InterleavedFragments.Fragment(bytes: data.withUnsafeBytes { [UInt8]($0) }, length: length, packet: packet))
        table.slots[slot].tangle = tangle
        if !isTaken {
            try abandonBoth(slot, .unknownDirection, emit)
        } else if let way = tangle.onlyWay {
            try settle(slot, tangle, way, emit)
        } else if tangle.isOver {
            try decide(slot, tangle, emit)
        }
        return true
    }

    /// A direction starts a frame, so its previous frame was complete.
    private mutating func untangle(
        _ slot: Int, beforeStartOf direction: TrafficDirection, _ emit: (ConversationEvent, RawSpan) throws -> Void
    ) rethrows {
        guard var tangle = table.slots[slot].tangle else { return }
        guard tangle.complete(direction) else { return try abandonBoth(slot, .unknownDirection, emit) }
        try decide(slot, tangle, emit)
    }

    /// Assigns the fragments if only one end state remains. If several assignments lead to it, the frames are dropped
    /// and only their remaining lengths are known.
    private mutating func decide(
        _ slot: Int, _ tangle: InterleavedFragments, _ emit: (ConversationEvent, RawSpan) throws -> Void
    ) rethrows {
        if let way = tangle.likelyWay { return try settle(slot, tangle, way, emit) }
        table.slots[slot].tangle = nil
        for direction in [TrafficDirection.sent, .received] {
            withHalf(slot, direction) { $0.spoil(lacking: tangle.lacks(direction)) }
            try drop(.unknownDirection, table.slots[slot].observed, emit)
        }
    }

    private mutating func settle(
        _ slot: Int, _ tangle: InterleavedFragments, _ way: [TrafficDirection],
        _ emit: (ConversationEvent, RawSpan) throws -> Void
    ) rethrows {
        table.slots[slot].tangle = nil
        for (fragment, direction) in zip(tangle.fragments, way) {
            if fragment.isWhole {
                try receiveFragment(
                    fragment.bytes.span.bytes, isContinuation: true, slot: slot, direction: direction, fragment.packet,
                    emit)
            } else {
                withHalf(slot, direction) { $0.appendUnknown(fragment.length) }
                try drop(.cutRecord, table.slots[slot].observed, emit)
                let half = direction == .sent ? table.slots[slot].sent : table.slots[slot].received
                if half.isComplete { withHalf(slot, direction) { $0.discard() } }
            }
        }
    }
}
