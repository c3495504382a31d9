import Glibc

/// One capture of what somebody named: the file itself, or what was inside.
package final class CapturePart: Sendable {
    /// What to read. Good as long as this object lives.
    package let path: String
    /// As it is shown to people: the file as it was named, and the place inside.
    package let name: String
    /// The same as the user wrote it: `-` for standard input.
    package let place: String
    /// Why there is no more of it, a sentence; `nil`: it is whole, as far as unpacking goes.
    package let trouble: String?
    /// Where it belongs among others.
    let order: CaptureOrder
    private let spool: SpoolFile?
    private let pipe: PipeEnd?

    /// A capture as it is.
    package convenience init(path: String) { self.init(path: path, order: CaptureOrder()) }

    init(path: String, order: CaptureOrder) {
        (self.path, name, place, trouble) = (path, Self.shown(path), path, nil)
        (spool, pipe) = (nil, nil)
        self.order = order
    }

    /// A file as people read it, and the place inside.
    static func shown(_ path: String, _ place: String = "") -> String {
        (path == "-" ? "standard input" : path) + (place.isEmpty ? "" : ": \(place)")
    }

    /// - Parameter original: as the user wrote it; `inside`: the place in it, empty for the whole.
    init(
        _ file: SpoolFile, of original: String, _ inside: String = "", order: CaptureOrder = CaptureOrder(),
        trouble: String? = nil
    ) {
        self.order = order
        (path, name) = (file.path, Self.shown(original, inside))
        place = inside.isEmpty ? original : name
        (self.trouble, spool, pipe) = (trouble, file, nil)
    }

    /// - Parameter descriptor: a pipe's end, which is this object's from now on.
    init(pipe descriptor: CInt, of original: String) {
        order = CaptureOrder()
        (path, name, place) = ("/proc/self/fd/\(descriptor)", Self.shown(original), original)
        (trouble, spool, pipe) = (nil, nil, PipeEnd(descriptor))
    }
}

/// The reading end of a pipe.
private final class PipeEnd: Sendable {
    private let descriptor: CInt

    init(_ descriptor: CInt) { self.descriptor = descriptor }

    deinit { close(descriptor) }
}
