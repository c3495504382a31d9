import Captures

/// A capture on disk, or `-` for standard input: drives `CaptureReader` over it with a window of fixed size.
public struct CaptureFile {
    /// As the user wrote it; `-` is standard input.
    public let path: String
    /// What the file said about itself, as far as it was read.
    public private(set) var facts = CaptureFileFacts()
    /// Called now and then while reading, with the bytes read so far and the size of the file (`nil` for a pipe).
    public var onProgress: ((_ read: Int, _ size: Int?) -> Void)?

    public init(path: String) { self.path = path }

    /// Reads the file from its beginning. The bytes are borrowed for the time of a call.
    ///
    /// - Throws: `CaptureError` after everything before the trouble was delivered; `CaptureFileError` where the file
    ///   cannot be opened or read (missing, a directory, no permission); whatever `body` throws.
    public mutating func forEachPacket(_ body: (CapturePacket, RawSpan) throws -> Void) throws {
        throw CaptureFileError(path: path, sentence: "not yet")
    }
}

/// The operating system refused.
public struct CaptureFileError: Error, Sendable, Hashable, CustomStringConvertible {
    public var path: String
    public var sentence: String
    public init(path: String, sentence: String) {
        self.path = path
        self.sentence = sentence
    }
    public var description: String { "\(path): \(sentence)" }
}
