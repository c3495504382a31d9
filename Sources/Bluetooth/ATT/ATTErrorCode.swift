/// An ATT error code (Bluetooth Core 5.4, Vol 3 Part F, table 3.4, and Core Specification Supplement, Part B). Codes
/// 0x80–0x9F belong to the application.
package struct ATTErrorCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package init(_ rawValue: UInt8) { self.rawValue = rawValue }

    package static let invalidHandle = Self(0x01)
    package static let readNotPermitted = Self(0x02)
    package static let writeNotPermitted = Self(0x03)
    package static let invalidPDU = Self(0x04)
    package static let requestNotSupported = Self(0x06)
    package static let invalidOffset = Self(0x07)
    package static let prepareQueueFull = Self(0x09)
    package static let attributeNotFound = Self(0x0A)
    /// The attribute cannot be read with Read Blob.
    package static let attributeNotLong = Self(0x0B)
    package static let invalidAttributeValueLength = Self(0x0D)
    package static let unlikelyError = Self(0x0E)
    package static let unsupportedGroupType = Self(0x10)
    package static let cccdImproperlyConfigured = Self(0xFD)

    private static let names: [UInt8: String] = [
        0x01: "Invalid Handle", 0x02: "Read Not Permitted", 0x03: "Write Not Permitted", 0x04: "Invalid PDU",
        0x05: "Insufficient Authentication", 0x06: "Request Not Supported", 0x07: "Invalid Offset",
        0x08: "Insufficient Authorization", 0x09: "Prepare Queue Full", 0x0A: "Attribute Not Found",
        0x0B: "Attribute Not Long", 0x0C: "Encryption Key Size Too Short", 0x0D: "Invalid Attribute Value Length",
        0x0E: "Unlikely Error", 0x0F: "Insufficient Encryption", 0x10: "Unsupported Group Type",
        0x11: "Insufficient Resources", 0x12: "Database Out Of Sync", 0x13: "Value Not Allowed",
        0xFC: "Write Request Rejected", 0xFD: "Client Characteristic Configuration Descriptor Improperly Configured",
        0xFE: "Procedure Already In Progress", 0xFF: "Out Of Range",
    ]
}

extension ATTErrorCode: CustomStringConvertible {
    /// The name from the specification and the number: `Invalid Handle (0x01)`.
    package var description: String {
        let number = "0x" + rawValue.hexDigits
        if let name = Self.names[rawValue] { return "\(name) (\(number))" }
        return 0x80...0x9F ~= rawValue ? "application error \(number)" : "error \(number)"
    }
}
