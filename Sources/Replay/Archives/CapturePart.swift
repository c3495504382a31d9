import Glibc

/// One capture: a file named by the user, or a member of it.
package final class CapturePart: Sendable {
    /// The path to read; valid while this object exists.
    package let path: String
    /// The name for messages: the file as the user wrote it, and the member.
    package let name: String
    /// The file as the user wrote it; `-` for standard input.
    package let place: String
    /// The reason why the capture is incomplete, as a sentence; `nil` if it was unpacked completely.
    package let trouble: String?
    let order: CaptureOrder
    private let spool: SpoolFile?
    private let pipe: PipeEnd?

    package convenience init(path: String) { self.init(path: path, order: CaptureOrder()) }

    init(path: String, order: CaptureOrder) {
        (self.path, name, place, trouble) = (path, Self.shown(path), path, nil)
        (spool, pipe) = (nil, nil)
        self.order = order
    }

    /// A name for messages: the file and the member.
    static func shown(_ path: String, _ place: String = "") -> String {
        (path == "-" ? "standard input" : path) + (place.isEmpty ? "" : ": \(place)")
    }

    /// - Parameters:
    ///   - original: as the user wrote it.
    ///   - inside: the member; empty for the whole file.
    init(
        _ file: SpoolFile, of original: String, _ inside: String = "", order: CaptureOrder = CaptureOrder(),
        trouble: String? = nil
    ) {
        self.order = order
        (path, name) = (file.path, Self.shown(original, inside))
        place = inside.isEmpty ? original : name
        (self.trouble, spool, pipe) = (trouble, file, nil)
    }

    /// - Parameter descriptor: the reading end of a pipe, owned by this object.
    init(pipe descriptor: CInt, of original: String) {
        order = CaptureOrder()
        (path, name, place) = ("/proc/self/fd/\(descriptor)", Self.shown(original), original)
        (trouble, spool, pipe) = (nil, nil, PipeEnd(descriptor))
    }
}

private final class PipeEnd: Sendable {
    private let descriptor: CInt

    init(_ descriptor: CInt) { self.descriptor = descriptor }

    deinit { close(descriptor) }
}
