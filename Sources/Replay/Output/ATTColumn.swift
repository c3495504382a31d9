/// A column of the ATT output.
package enum ATTColumn: String, Sendable, CaseIterable {
    /// The record number, from 1.
    case frame
    /// The time in the capture; in JSON seconds since 1970, as text.
    case time
    case adapter
    /// The connection handle, or the access address on the air.
    case connection
    case peer
    case direction
    case name
    /// The handle in the PDU, or in the request that it answers; in an error response, the handle with the error.
    case handle
    case uuid
    /// The reason for the rejection of a request, by name.
    case error
    /// The MTU that this side offers, in bytes.
    case mtu
    /// The length of the PDU in bytes.
    case length
    /// Milliseconds from the request to this response.
    case latency
    /// The value in the PDU, in hex.
    case value
    case pdu
}
