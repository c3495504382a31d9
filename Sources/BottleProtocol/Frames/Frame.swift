/// The two ASCII letters that begin a frame. An open set: other letters decode, and `isKnown` tells.
package struct FrameOperation: Hashable, Sendable, RawRepresentable {
    /// Both letters as one number, the first letter in the upper byte.
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// `GT`, host to bottle: get.
    package static let get = Self(rawValue: 0x4754)
    /// `PT`: host to bottle: put a setting or an action; bottle to host: the drink log.
    package static let put = Self(rawValue: 0x5054)
    /// `RP`: bottle to host: response; host to bottle: acknowledgement of log bytes.
    package static let response = Self(rawValue: 0x5250)
    /// `RT`, bottle to host: report, unasked.
    package static let report = Self(rawValue: 0x5254)

    /// The two letters as they stand in front of a frame.
    package var letters: [UInt8] { [UInt8(rawValue >> 8), UInt8(truncatingIfNeeded: rawValue)] }

    /// Whether protocol law P2 knows this operation.
    package var isKnown: Bool { self == .get || self == .put || self == .response || self == .report }
}

extension FrameOperation: CustomStringConvertible {
    /// The two letters, or hex where they are none.
    package var description: String {
        guard letters.allSatisfy({ (0x21...0x7E).contains($0) }) else { return hexText(letters) }
        return String(decoding: letters, as: UTF8.self)
    }
}

/// A whole frame (protocol law P2):
///
/// ```
/// +----+----+------+------+--------------------+
/// | op (2)  | length (2)  | payload (length)   |    big-endian
/// +----+----+------+------+--------------------+
/// ```
package struct Frame: Hashable, Sendable {
    /// Bytes before the payload.
    package static let headerSize = 4
    /// The length field has 16 bits.
    package static let maximumPayload = 65_535

    /// What the frame does: get, put, respond, report.
    package var operation: FrameOperation
    /// At most 65,535 bytes.
    package let payload: [UInt8]

    /// A frame with that payload, of at most 65,535 bytes.
    package init(_ operation: FrameOperation, payload: [UInt8]) {
        precondition(payload.count <= Self.maximumPayload, "a frame's payload has at most 65,535 bytes")
        self.operation = operation
        self.payload = payload
    }

    /// A frame of entries (PT, RP, RT). Their encoded sum is at most 65,535 bytes.
    package init(_ operation: FrameOperation, _ entries: [Entry]) {
        self.init(operation, payload: entries.flatMap(\.encoded))
    }

    /// Decodes bytes that are exactly one frame: neither cut nor followed by anything.
    package init(decoding bytes: some Collection<UInt8>) throws(DecodeFailure) {
        guard bytes.count >= Self.headerSize else {
            throw DecodeFailure(
                what: "a frame is shorter than its header", offset: bytes.count, needed: Self.headerSize,
                found: bytes.count)
        }
        let header = Array(bytes.prefix(Self.headerSize))
        let length = Int(header[2]) << 8 | Int(header[3])
        let found = bytes.count - Self.headerSize
        guard found >= length else {
            throw DecodeFailure(
                what: "a frame is shorter than its length field says", offset: bytes.count, needed: length, found: found
            )
        }
        guard found == length else {
            throw DecodeFailure(
                what: "bytes follow the end of a frame", offset: Self.headerSize + length, needed: length, found: found)
        }
        operation = FrameOperation(rawValue: UInt16(header[0]) << 8 | UInt16(header[1]))
        payload = Array(bytes.dropFirst(Self.headerSize))
    }

    /// The bytes on the wire: letters, length, payload.
    package var encoded: [UInt8] { Self.header(operation, length: payload.count) + payload }

    /// The four bytes in front of a payload: of a log they travel with its first entry, and the other entries follow by
    /// themselves.
    package static func header(_ operation: FrameOperation, length: Int) -> [UInt8] {
        operation.letters + [UInt8(truncatingIfNeeded: length >> 8), UInt8(truncatingIfNeeded: length)]
    }

    /// The payload as entries. A GT frame has none: its payload is one type byte.
    package func entries() throws(DecodeFailure) -> [Entry] {
        guard operation != .get else {
            throw DecodeFailure(
                what: "a GT frame holds one type byte, no entries", offset: Self.headerSize, needed: 0,
                found: payload.count)
        }
        return try Entry.sequence(decoding: payload, at: Self.headerSize)
    }
}

extension Frame: CustomStringConvertible {
    /// All its bytes as hex pairs.
    package var description: String { hexText(encoded) }
}
