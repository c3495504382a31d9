/// From packets of a capture to whole ATT PDUs: HCI ACL or link-layer fragments to L2CAP to ATT, per adapter, connection and
/// direction, with the connections' beginnings and ends.
///
/// Borrows its bytes; allocates per connection, not per packet. What it drops it counts.
public struct ConversationReassembler {
    /// How often something was dropped, and why.
    public private(set) var drops: [DropReason: Int] = [:]

    public init() {}

    /// Takes the next packet of the capture.
    /// - Parameter emit: called for everything that is now known; the bytes are borrowed for the time of the call.
    public mutating func receive(_ packet: ObservedPacket, _ bytes: RawSpan, _ emit: (ConversationEvent, RawSpan) throws -> Void) rethrows {
    }

    /// Says what was left unfinished at the end of the capture.
    public mutating func finish(_ emit: (ConversationEvent, RawSpan) throws -> Void) rethrows {
    }
}
