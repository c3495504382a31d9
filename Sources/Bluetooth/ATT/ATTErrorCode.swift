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
    package static let insufficientAuthentication = Self(0x05)
    package static let requestNotSupported = Self(0x06)
    package static let invalidOffset = Self(0x07)
    package static let insufficientAuthorization = Self(0x08)
    package static let prepareQueueFull = Self(0x09)
    package static let attributeNotFound = Self(0x0A)
    /// The attribute cannot be read with Read Blob.
    package static let attributeNotLong = Self(0x0B)
    package static let encryptionKeySizeTooShort = Self(0x0C)
    package static let invalidAttributeValueLength = Self(0x0D)
    package static let unlikelyError = Self(0x0E)
    package static let insufficientEncryption = Self(0x0F)
    package static let unsupportedGroupType = Self(0x10)
    package static let insufficientResources = Self(0x11)
    package static let databaseOutOfSync = Self(0x12)
    package static let valueNotAllowed = Self(0x13)
    package static let writeRequestRejected = Self(0xFC)
    package static let cccdImproperlyConfigured = Self(0xFD)
    package static let procedureAlreadyInProgress = Self(0xFE)
    package static let outOfRange = Self(0xFF)

    private static let names: [ATTErrorCode: String] = [
        .invalidHandle: "Invalid Handle", .readNotPermitted: "Read Not Permitted",
        .writeNotPermitted: "Write Not Permitted",
        .invalidPDU: "Invalid PDU", .insufficientAuthentication: "Insufficient Authentication",
        .requestNotSupported: "Request Not Supported", .invalidOffset: "Invalid Offset",
        .insufficientAuthorization: "Insufficient Authorization", .prepareQueueFull: "Prepare Queue Full",
        .attributeNotFound: "Attribute Not Found", .attributeNotLong: "Attribute Not Long",
        .encryptionKeySizeTooShort: "Encryption Key Size Too Short",
        .invalidAttributeValueLength: "Invalid Attribute Value Length", .unlikelyError: "Unlikely Error",
        .insufficientEncryption: "Insufficient Encryption", .unsupportedGroupType: "Unsupported Group Type",
        .insufficientResources: "Insufficient Resources", .databaseOutOfSync: "Database Out Of Sync",
        .valueNotAllowed: "Value Not Allowed", .writeRequestRejected: "Write Request Rejected",
        .cccdImproperlyConfigured: "Client Characteristic Configuration Descriptor Improperly Configured",
        .procedureAlreadyInProgress: "Procedure Already In Progress", .outOfRange: "Out Of Range",
    ]
}

extension ATTErrorCode: CustomStringConvertible {
    /// The name from the specification and the number: `Invalid Handle (0x01)`.
    package var description: String {
        let number = "0x" + (rawValue < 16 ? "0" : "") + String(rawValue, radix: 16, uppercase: true)
        if let name = Self.names[self] { return "\(name) (\(number))" }
        return 0x80...0x9F ~= rawValue ? "application error \(number)" : "error \(number)"
    }
}
