/// Why a request was not fulfilled (Bluetooth Core 5.4, Vol 3 Part F, table 3.4, and Core Specification Supplement,
/// Part B): an open set; 0x80-0x9F belong to the application.
package struct ATTErrorCode: RawRepresentable, Hashable, Sendable {
    /// The error byte of an Error Response.
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    /// The code of that number, known or not.
    package init(_ rawValue: UInt8) { self.rawValue = rawValue }

    /// There is no attribute at this handle, or the range is none.
    package static let invalidHandle = Self(0x01)
    /// The value cannot be read.
    package static let readNotPermitted = Self(0x02)
    /// The value cannot be written.
    package static let writeNotPermitted = Self(0x03)
    /// The PDU is malformed.
    package static let invalidPDU = Self(0x04)
    /// The link must be authenticated first.
    package static let insufficientAuthentication = Self(0x05)
    /// The server does not support this request.
    package static let requestNotSupported = Self(0x06)
    /// The offset lies behind the end of the value.
    package static let invalidOffset = Self(0x07)
    /// The client is not allowed to do this.
    package static let insufficientAuthorization = Self(0x08)
    /// Too many prepared writes wait.
    package static let prepareQueueFull = Self(0x09)
    /// No attribute in the range fits.
    package static let attributeNotFound = Self(0x0A)
    /// The value cannot be read on with Read Blob.
    package static let attributeNotLong = Self(0x0B)
    /// The encryption key is too short.
    package static let encryptionKeySizeTooShort = Self(0x0C)
    /// The value has a length that the attribute does not take.
    package static let invalidAttributeValueLength = Self(0x0D)
    /// Something that no other code says.
    package static let unlikelyError = Self(0x0E)
    /// The link must be encrypted first.
    package static let insufficientEncryption = Self(0x0F)
    /// The type is none that groups attributes.
    package static let unsupportedGroupType = Self(0x10)
    /// The server has run out of memory or the like.
    package static let insufficientResources = Self(0x11)
    /// The client's picture of the table is out of date.
    package static let databaseOutOfSync = Self(0x12)
    /// The value is not allowed here.
    package static let valueNotAllowed = Self(0x13)
    /// The profile refuses the write.
    package static let writeRequestRejected = Self(0xFC)
    /// Notifications were not switched on as they have to be.
    package static let cccdImproperlyConfigured = Self(0xFD)
    /// The same procedure is under way already.
    package static let procedureAlreadyInProgress = Self(0xFE)
    /// The value is outside its range.
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
    /// The specification's name and the number: `Invalid Handle (0x01)`.
    package var description: String {
        let number = "0x" + (rawValue < 16 ? "0" : "") + String(rawValue, radix: 16, uppercase: true)
        if let name = Self.names[self] { return "\(name) (\(number))" }
        return 0x80...0x9F ~= rawValue ? "application error \(number)" : "error \(number)"
    }
}
