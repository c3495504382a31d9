import Bluetooth
import Captures

extension CaptureFile {
    /// Reads the file as conversations: every whole ATT PDU, and what happens around it. The bytes are borrowed for the
    /// time of a call.
    ///
    /// - Parameter open: with the connections that are open when the file begins.
    /// - Throws: what `forEachPacket` throws, after everything whole before the trouble was delivered; whatever `body`
    ///   throws.
    /// - Returns: what became no PDU, and why.
    @discardableResult
    package mutating func forEachEvent(
        from open: ConversationReassembler = ConversationReassembler.ofBottles(),
        onPacket: ((CapturePacket) -> Void)? = nil, _ body: (ConversationEvent, RawSpan) throws -> Void
    ) throws -> [DropReason: Int] {
        var reassembler = open
        let skips = open.skipsValues
        do {
            try forEachPacket { packet, bytes in
                onPacket?(packet)
                if skips, case .hci(.acl) = packet.content, let direction = packet.direction, !packet.isCut,
                    reassembler.leavesOut(
                        acl: bytes, adapter: packet.adapter, direction: direction == .sent ? .sent : .received)
                {
                    return
                }
                try reassembler.receive(ObservedPacket(packet), bytes, body)
            }
        } catch let error as CaptureError {
            try reassembler.finish(body)
            throw error
        }
        try reassembler.finish(body)
        return reassembler.drops
    }
}
