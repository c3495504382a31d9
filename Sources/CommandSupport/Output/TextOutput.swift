import Foundation
import Synchronization
import Utilities

/// Writes lines to a descriptor, buffered unless it is a terminal. Control characters are escaped (`TerminalText`).
package final class TextOutput: Sendable {
    package static let standard = TextOutput(descriptor: STDOUT_FILENO)

    private struct State {
        var buffer: [UInt8] = []
        var isClosed = false
        var errorNumber: Int32?
    }

    private static let capacity = 1 << 16
    private let descriptor: Int32
    package let isTerminal: Bool
    private let state = Mutex(State())

    /// - Parameter descriptor: the output; not closed by this object.
    package init(descriptor: Int32) {
        self.descriptor = descriptor
        isTerminal = isatty(descriptor) == 1
    }

    /// Whether a user can answer questions: standard input and standard output are terminals.
    package static var isInteractive: Bool { isatty(STDIN_FILENO) == 1 && standard.isTerminal }

    package var isClosed: Bool { state.withLock { $0.isClosed } }

    /// A stream that ends when the reader closes the pipe. A thread waits for this event.
    package func readerClosed() -> AsyncStream<Never> {
        let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
        let descriptor = descriptor
        Thread.detachNewThread {
            var pollDescriptor = pollfd(fd: descriptor, events: 0, revents: 0)
            // poll(2) returns at once for a regular file, which has no reader.
            while poll(&pollDescriptor, 1, -1) >= 0 || errno == EINTR {
                if pollDescriptor.revents != 0 { break }
            }
            continuation.finish()
        }
        return stream
    }

    /// The error text of a failed write; `nil` if there is none, or if the reader closed the pipe.
    package var writeError: String? { state.withLock { $0.errorNumber }.map { String(cString: strerror($0)) } }

    /// Writes one line; line breaks in it are escaped.
    package func line(_ text: String) { put(text, keepsLines: false, end: "\n") }

    package func block(_ text: String) { put(text, keepsLines: true, end: "\n") }

    /// Writes a prompt without a line break.
    package func prompt(_ text: String) {
        put(text, keepsLines: false, end: "")
        flush()
    }

    private func put(_ text: String, keepsLines: Bool, end: String) {
        let isFull = state.withLock { state in
            guard !state.isClosed else { return false }
            TerminalText.append(text, to: &state.buffer, keepsLines: keepsLines, isColoured: isTerminal)
            state.buffer += end.utf8
            return state.buffer.count >= Self.capacity
        }
        if isFull || isTerminal { flush() }
    }

    package func line(_ value: JSONValue) { line(value.text) }

    package func flush() {
        state.withLock { state in
            if let number = writeAll(state.buffer, to: descriptor) {
                state.isClosed = true
                if number != EPIPE { state.errorNumber = number }
            }
            state.buffer.removeAll(keepingCapacity: true)
        }
    }
}

/// Writes diagnostics and progress to standard error.
package enum Diagnostics {
    /// Whether to use colours and progress lines: standard error is a terminal, and `NO_COLOR` is not set.
    package static let usesTerminalFeatures =
        isatty(STDERR_FILENO) == 1 && (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty

    package enum Severity: Sendable { case line, warning, error }

    private static let logger = Mutex<(@Sendable (Severity, String) -> Void)?>(nil)

    private static let repeatedStore = Mutex<String?>(nil)

    /// Adds `--store` with this path to all command lines in later messages.
    package static func repeatStore(_ path: String) { repeatedStore.withLock { $0 = path } }

    /// Adds `--store` to each command line of this project in the text, unless the text contains the option.
    package static func withStore(_ text: String) -> String {
        guard let path = repeatedStore.withLock({ $0 }), !text.contains("--store") else { return text }
        return text.replacing(
            /waterh-(?:gateway|tracker) (?:(?:settings|session|token|preset|journal) [a-z][a-z-]*|[a-z][a-z-]*)/
        ) { "\($0.0) --store \(Escaping.shellWord(path))" }
    }

    /// Sends all later diagnostics to `logger` instead of standard error.
    package static func redirect(to logger: @escaping @Sendable (Severity, String) -> Void) {
        Self.logger.withLock { $0 = logger }
    }

    /// Passes a line to the logger; returns `false` if there is none.
    private static func isLogged(_ severity: Severity, _ text: String) -> Bool {
        guard let logger = logger.withLock({ $0 }) else { return false }
        logger(severity, text)
        return true
    }

    package static func line(_ text: String) {
        let text = withStore(text)
        if !isLogged(.line, text) { put("", text) }
    }

    package static func block(_ text: String) { if !isLogged(.line, text) { put("", text, keepsLines: true) } }

    /// Prints `error: …`, and the advice on further lines.
    package static func error(_ sentence: String, advice: String? = nil) {
        let (sentence, advice) = (withStore(sentence), advice.map(withStore))
        let lines = advice?.split(separator: "\n").map(String.init) ?? []
        if isLogged(.error, ([sentence] + lines.prefix(1)).joined(separator: " ")) {
            for more in lines.dropFirst() { _ = isLogged(.error, more) }
            return
        }
        put(label("error:", .red), withoutFullStop(sentence))
        for advice in lines { line("  " + advice) }
    }

    /// The text without its full stop if it is one sentence.
    private static func withoutFullStop(_ text: String) -> String {
        let start = text.dropLast()
        guard text.hasSuffix("."), !start.contains(". "), let end = start.last else { return text }
        return end.isLetter || end.isNumber || ")]\"'%".contains(end) ? String(start) : text
    }

    package static func warning(_ sentence: String) {
        let sentence = withStore(sentence)
        if !isLogged(.warning, sentence) { put(label("warning:", .amber), sentence) }
    }

    private static func label(_ word: String, _ colour: TextColour) -> String {
        (usesTerminalFeatures ? colour.paint(word) : word) + " "
    }

    private static func put(_ label: String, _ text: String, keepsLines: Bool = false) {
        var bytes: [UInt8] = []
        TerminalText.append(label, to: &bytes, keepsLines: false, isColoured: true)
        TerminalText.append(text, to: &bytes, keepsLines: keepsLines, isColoured: false)
        bytes.append(UInt8(ascii: "\n"))
        _ = writeAll(bytes, to: STDERR_FILENO)
    }
}

/// A progress line that is updated during a long operation. It is shown only on a terminal.
package struct ProgressLine: Sendable {
    private var width = 0
    private let isShown: Bool

    package init(isShown: Bool = Diagnostics.usesTerminalFeatures) { self.isShown = isShown }

    package mutating func show(_ text: String) {
        guard isShown else { return }
        let text = TerminalText.safe(text)
        let padding = String(repeating: " ", count: max(0, width - text.count))
        width = text.count
        _ = writeAll(Array("\r\(text)\(padding)".utf8), to: STDERR_FILENO)
    }

    package mutating func clear() {
        guard isShown, width > 0 else { return }
        _ = writeAll(Array(("\r" + String(repeating: " ", count: width) + "\r").utf8), to: STDERR_FILENO)
        width = 0
    }
}

private func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Int32? {
    bytes.withUnsafeBytes { writeAll($0, to: descriptor) }
}

/// Writes all bytes. `didWrite` receives the number of bytes of each write.
/// - Parameter waits: whether to wait until the descriptor is ready. Otherwise EAGAIN is an error.
/// - Returns: the value of errno if an error occurs.
func writeAll(
    _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, waits: Bool = true, didWrite: (Int) -> Void = { _ in }
) -> Int32? {
    var rest = bytes
    while !rest.isEmpty {
        let count = write(descriptor, rest.baseAddress, rest.count)
        if count > 0 {
            didWrite(count)
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        } else if errno == EAGAIN, waits {
            var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            poll(&ready, 1, 1000)
        } else if errno != EINTR {
            return errno
        }
    }
    return nil
}
