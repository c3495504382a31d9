import Foundation
import Store

/// The input file of a command, or standard input (`-`).
package final class InputFile {
    private let name: String
    private let descriptor: Int32
    /// The size in bytes, if this is a regular file.
    private let size: Int?

    /// - Parameter excluding: files that must not be read under any path, such as the open store.
    /// - Throws: `CommandFailure`.
    package init(_ path: String, excluding: [String] = []) throws {
        name = path == "-" ? "standard input" : path
        var found = stat()
        if path == "-" {
            descriptor = STDIN_FILENO
            guard fstat(descriptor, &found) == 0 else { throw Self.failure(name, errno) }
        } else {
            guard stat(path, &found) == 0 else { throw Self.failure(name, errno) }
            if let identity = FileIdentity(path), excluding.contains(where: { FileIdentity($0) == identity }) {
                throw CommandFailure(.wrongUse, "\(path) is the store in use", advice: "Name another file to read.")
            }
            descriptor = found.st_mode & S_IFMT == S_IFDIR ? -1 : open(path, O_RDONLY | O_CLOEXEC)
        }
        if found.st_mode & S_IFMT == S_IFDIR {
            throw CommandFailure(
                .badInput, "\(name) is a directory.",
                advice: "Name a file in it, for example export.xml of an Apple Health export.")
        }
        guard descriptor >= 0 else { throw Self.failure(name, errno) }
        size = found.st_mode & S_IFMT == S_IFREG ? Int(found.st_size) : nil
    }

    deinit { if descriptor > STDERR_FILENO { close(descriptor) } }

    package func read(_ receive: (UnsafeRawBufferPointer) throws -> Void) throws {
        var progress = ProgressLine()
        defer { progress.clear() }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
        defer { buffer.deallocate() }
        var done = 0
        var lastShown = 0
        while true {
            let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            if count < 0 {
                guard errno == EINTR || errno == EAGAIN else { throw Self.failure(name, errno) }
                var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                poll(&ready, 1, 1000)
                continue
            }
            guard count > 0 else { return }
            try receive(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            done += count
            guard done - lastShown >= 4_000_000 else { continue }
            lastShown = done
            let total =
                size.map { $0 > 0 ? " of \($0 / 1_000_000) MB (\(min(100, done * 100 / $0)) %)" : " MB" } ?? " MB"
            progress.show("Reading \(name): \(done / 1_000_000)\(total)")
        }
    }

    private static func failure(_ name: String, _ code: Int32) -> CommandFailure {
        CommandFailure(
            .failed, "\(name) cannot be read: \(String(cString: strerror(code))).",
            advice: "Check the name and its permissions.")
    }
}
