/// Writes a capture: packets in, bytes out, streaming.
public struct CaptureWriter {
    public let format: CaptureFormat
    /// Bytes written and not yet taken.
    public private(set) var output: [UInt8] = []

    /// - Parameter facts: name, address and profile for the head of a text capture.
    public init(_ format: CaptureFormat, facts: CaptureFileFacts = CaptureFileFacts()) {
        self.format = format
    }

    /// Appends one packet. Its number is not used.
    ///
    /// - Throws: `CaptureError` of kind `cannotCarry` where the format has no place for such a packet
    ///   (a link-layer packet in an HCI capture: convert that by way of the conversation).
    public mutating func write(_ packet: CapturePacket, _ bytes: RawSpan) throws(CaptureError) {
        throw CaptureError(.cannotCarry, at: 0, "\(format) cannot carry this packet")
    }

    /// The bytes written since the last call.
    public mutating func takeOutput() -> [UInt8] {
        defer { output.removeAll(keepingCapacity: true) }
        return output
    }
}
