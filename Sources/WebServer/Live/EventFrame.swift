import NIOCore

/// The frames of a server-sent event stream.
enum EventFrame {
    /// Encodes a server-sent event.
    /// - Parameter data: JSON on one line.
    static func bytes(_ name: String, _ data: ByteBuffer, id: Int64? = nil) -> ByteBuffer {
        var frame = ByteBuffer(string: "event: \(name)\n\(id.map { "id: \($0)\n" } ?? "")data: ")
        frame.writeImmutableBuffer(data)
        frame.writeStaticString("\n\n")
        return frame
    }

    static let ping = ByteBuffer(string: ": ping\n\n")
    /// Sets the time after which clients reconnect, in milliseconds.
    static let retry = ByteBuffer(string: "retry: 2000\n\n")
}
