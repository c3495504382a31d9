/// The two ASCII letters at the start of a frame. Unknown letters can be decoded.
package struct FrameOperation: Hashable, Sendable, RawRepresentable {
    /// Both letters as one number, the first letter in the high byte.
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// `GT`, host to bottle: get.
    package static let get = Self(rawValue: 0x4754)
    /// `PT`: from the host, a setting or an action; from the bottle, the drink log.
    package static let put = Self(rawValue: 0x5054)
    /// `RP`: from the bottle, a response; from the host, an acknowledgement of log bytes.
    package static let response = Self(rawValue: 0x5250)
    /// `RT`, bottle to host: an unsolicited report.
    package static let report = Self(rawValue: 0x5254)

    package var letters: [UInt8] { [UInt8(rawValue >> 8), UInt8(truncatingIfNeeded: rawValue)] }

    /// Whether the protocol spec (P2) defines this operation.
    package var isKnown: Bool { self == .get || self == .put || self == .response || self == .report }
}

extension FrameOperation: CustomStringConvertible {
    /// The two letters; in hex if they are not printable.
    package var description: String {
        guard letters.allSatisfy({ (0x21...0x7E).contains($0) }) else { return hexText(letters) }
        return String(decoding: letters, as: UTF8.self)
    }
}

/// A whole frame (protocol spec P2):
///
/// ```
/// +----+----+------+------+--------------------+
/// | op (2)  | length (2)  | payload (length)   |    big-endian
/// +----+----+------+------+--------------------+
/// ```
package struct Frame: Hashable, Sendable {
    /// The number of bytes before the payload.
    package static let headerSize = 4
    package static let maximumPayload = 65_535

    package var operation: FrameOperation
    /// The payload, at most 65,535 bytes.
    package let payload: [UInt8]

    package init(_ operation: FrameOperation, payload: [UInt8]) {
        precondition(payload.count <= Self.maximumPayload, "a frame's payload has at most 65,535 bytes")
        self.operation = operation
        self.payload = payload
    }

    /// A frame of entries (PT, RP, RT) of at most 65,535 bytes.
    package init(_ operation: FrameOperation, _ entries: [Entry]) {
        self.init(operation, payload: entries.flatMap(\.encoded))
    }

    /// Decodes exactly one frame, neither truncated nor followed by other bytes.
    package init(decoding bytes: some Collection<UInt8>) throws(DecodeFailure) {
        guard bytes.count >= Self.headerSize else {
            throw DecodeFailure(
                problem: "a frame is shorter than its header", offset: bytes.count, needed: Self.headerSize,
                found: bytes.count)
        }
        let header = Array(bytes.prefix(Self.headerSize))
        let length = Int(header[2]) << 8 | Int(header[3])
        let found = bytes.count - Self.headerSize
        guard found >= length else {
            throw DecodeFailure(
                problem: "a frame is shorter than its length field says", offset: bytes.count, needed: length,
                found: found
            )
        }
        guard found == length else {
            throw DecodeFailure(
                problem: "bytes follow the end of a frame", offset: Self.headerSize + length, needed: length,
                found: found)
        }
        operation = FrameOperation(rawValue: UInt16(header[0]) << 8 | UInt16(header[1]))
        payload = Array(bytes.dropFirst(Self.headerSize))
    }

    package var encoded: [UInt8] { Self.header(operation, length: payload.count) + payload }

    /// The four bytes before a payload. In a log they are sent with the first entry.
    package static func header(_ operation: FrameOperation, length: Int) -> [UInt8] {
        operation.letters + [UInt8(truncatingIfNeeded: length >> 8), UInt8(truncatingIfNeeded: length)]
    }

    /// The payload as entries. Throws for a GT frame, whose payload is one type byte.
    package func entries() throws(DecodeFailure) -> [Entry] {
        guard operation != .get else {
            throw DecodeFailure(
                problem: "a GT frame holds one type byte, no entries", offset: Self.headerSize, needed: 0,
                found: payload.count)
        }
        return try Entry.sequence(decoding: payload, at: Self.headerSize)
    }
}

extension Frame: CustomStringConvertible {
    package var description: String { hexText(encoded) }
}
