/// What can be told of a PDU, as a person chooses it.
package enum ATTColumn: String, Sendable, CaseIterable {
    /// 1-based record number.
    case frame
    /// Moment of the capture; in JSON seconds since 1970, as text.
    case time
    case adapter
    /// Connection handle, or access address on the air.
    case connection
    /// The other side's address.
    case peer
    case direction
    /// The opcode's name.
    case name
    /// The handle that it names, or the request that it answers; of a refusal, the handle that is in the way.
    case handle
    /// The type of that attribute.
    case uuid
    /// Why a request was refused, by name.
    case error
    /// The MTU that this side offers, bytes.
    case mtu
    /// Bytes of the PDU.
    case length
    /// Milliseconds from the request to this answer.
    case latency
    /// The value that it carries, in hex.
    case value
    /// All of it, in hex.
    case pdu
}
