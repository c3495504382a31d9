/// Reads a capture of any format, streaming: bytes in, packets out. Memory does not grow with the file.
///
/// The reader owns no bytes. Its driver (`CaptureFile` in Replay, or a test) keeps a window of the file, calls
/// `read(_:isLast:_:)` with it, drops as many bytes as were consumed and appends new ones:
///
///     var reader = CaptureReader()
///     while … { consumed = try reader.read(window, isLast: atEnd) { packet, bytes in … } }
///
/// What the file is is found from its first bytes, never from its name.
public struct CaptureReader {
    /// No format has a record (or line) longer than this; a longer one is refused, so that no window grows beyond it.
    public static let longestRecord = 262_144 + 65_536
    /// What is known of the file so far. `format` is set as soon as the content was recognised.
    public private(set) var facts = CaptureFileFacts()

    public init() {}

    /// Reads the whole records at the beginning of `window`.
    ///
    /// - Parameters:
    ///   - window: the bytes of the file that follow the ones consumed so far.
    ///   - isLast: no bytes follow `window`.
    ///   - body: called for each record in order. The bytes are borrowed for the time of the call.
    /// - Returns: how many bytes of the window are done with. Without new bytes it makes no sense to call again.
    /// - Throws: `CaptureError`, once, after everything before it was delivered; or whatever `body` throws.
    public mutating func read(_ window: RawSpan, isLast: Bool, _ body: (CapturePacket, RawSpan) throws -> Void) throws -> Int {
        throw CaptureError(.unrecognised, at: 0, "this is no capture that is read here")
    }
}

/// What a capture file says about itself, as far as it has been read.
public struct CaptureFileFacts: Sendable, Hashable {
    /// Container and first link type; `nil` until the content was recognised.
    public var format: CaptureFormat?
    /// Every link type met, in order of first use.
    public var linkTypes: [LinkType] = []
    /// Records delivered.
    public var packets = 0
    /// Records whose link type or packet type is not read.
    public var unreadable = 0
    /// Bytes consumed.
    public var offset = 0
    /// Name of the device, from the head of a text capture.
    public var name: String?
    /// Address of the device, 48 bits as written, from the head of a text capture.
    public var address: UInt64?
    /// The word after `profile:` in the head of a text capture.
    public var profile: String?
    /// Notes that a person should see (a descriptive sentence each): times without a date, an obsolete block, …
    public var remarks: [String] = []

    public init() {}
}
