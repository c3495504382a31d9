import Glibc

/// Waits until a growing capture file has more bytes. Checks the file ten times a second, because inotify(7) reports
/// nothing on network file systems.
///
/// Use one object for each reading of a file. It also detects that the file was truncated, or replaced by another file
/// of the same name.
package final class FileGrowth {
    /// The event that ended the wait.
    package enum Change: Sendable, Hashable {
        case grown
        /// The file was truncated to fewer bytes than were read.
        case truncated(to: Int)
        case replaced
        /// The reader of the output has closed it.
        case outputClosed
    }

    /// The event that ended the reading; `nil` for the end of a pipe, or before the end.
    package private(set) var end: Change?
    /// Called before each wait, to flush the output.
    package var onWait: (() throws -> Void)?
    private let path: String
    private let output: CInt
    private static let pollMilliseconds: CInt = 100

    /// - Parameters:
    ///   - path: the file, or `-`: standard input is not checked, only `onWait` is called.
    ///   - output: the descriptor of the output; the wait ends when its reader has closed it.
    package init(_ path: String, output: CInt) { (self.path, self.output) = (path, output) }

    /// Waits until a file that was read to `position` has more bytes.
    /// - Parameter file: the descriptor of the file.
    /// - Returns: `false` if there will be no more bytes; `end` has the reason.
    func waitForMore(_ file: CInt, after position: Int) throws -> Bool {
        var status = stat()
        // A pipe that has ended has no more bytes.
        guard path != "-", fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
        try onWait?()
        while true {
            switch try change(file, position) {
            case .grown?: return true
            case let change?:
                end = change
                return false
            case nil: break
            }
            var outputEvents = pollfd(fd: output, events: 0, revents: 0)
            guard poll(&outputEvents, 1, Self.pollMilliseconds) >= 0 || errno == EINTR else {
                throw CaptureFileError(path: path, errno: errno)
            }
            if outputEvents.revents & Int16(POLLERR | POLLNVAL) != 0 {
                end = .outputClosed
                return false
            }
        }
    }

    func willRead() throws {
        if path == "-" { try onWait?() }
    }

    private func change(_ file: CInt, _ position: Int) throws -> Change? {
        var openedFile = stat()
        guard fstat(file, &openedFile) == 0 else { throw CaptureFileError(path: path, errno: errno) }
        let size = Int(openedFile.st_size)
        if size < position { return .truncated(to: size) }
        if size > position { return .grown }
        var pathFile = stat()
        guard stat(path, &pathFile) == 0 else { return nil }
        return pathFile.st_ino != openedFile.st_ino || pathFile.st_dev != openedFile.st_dev ? .replaced : nil
    }
}
