/// From a conversation to packets that a controller or the air would have shown: what `--record` and `convert` write when
/// there are no packets, or packets of another level.
///
/// Makes connection events, ACL headers and connection handles (HCI), or CONNECT_IND, access addresses, sequence numbers and
/// CRCs (link layer), so that Wireshark dissects the result.
public struct ConversationSynthesiser {
    public enum Target: Sendable, Hashable { case hci, linkLayer }

    public let target: Target

    public init(_ target: Target) { self.target = target }

    /// Takes the next event of a conversation (`connected`, `att`, `disconnected`; others are of no use here) and emits packets.
    /// `frame` and `time` of what is emitted are those of the event.
    public mutating func receive(_ event: ConversationEvent, _ bytes: RawSpan, _ emit: (ObservedPacket, RawSpan) throws -> Void) rethrows {
    }
}
