import Foundation
import Synchronization

/// Text to a file descriptor: whole lines, buffered unless a terminal reads them.
public final class TextOutput: Sendable {
    public static let standard = TextOutput(descriptor: STDOUT_FILENO)

    private struct State {
        var buffer: [UInt8] = []
        var isClosed = false
    }

    private static let capacity = 1 << 16
    private let descriptor: Int32
    public let isTerminal: Bool
    private let state = Mutex(State())

    public init(descriptor: Int32) {
        self.descriptor = descriptor
        isTerminal = isatty(descriptor) == 1
    }

    /// Nobody reads any more (`| head`): a command may stop early.
    public var isClosed: Bool { state.withLock { $0.isClosed } }

    public func line(_ text: String) {
        let isFull = state.withLock { state in
            guard !state.isClosed else { return false }
            state.buffer += text.utf8
            state.buffer.append(UInt8(ascii: "\n"))
            return state.buffer.count >= Self.capacity
        }
        if isFull || isTerminal { flush() }
    }

    /// One JSON object on a line of its own.
    public func line(_ value: JSONValue) { line(value.text) }

    public func flush() {
        state.withLock { state in
            let isOpen = writeAll(state.buffer, to: descriptor)
            state.isClosed = state.isClosed || !isOpen
            state.buffer.removeAll(keepingCapacity: true)
        }
    }
}

/// Diagnostics and progress: standard error only.
public enum Diagnostics {
    /// Whether colour and progress lines are welcome: a terminal, and no `NO_COLOR`.
    public static let isLively = isatty(STDERR_FILENO) == 1 && (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty

    public static func line(_ text: String) {
        _ = writeAll(Array((text + "\n").utf8), to: STDERR_FILENO)
    }

    /// `error: WHAT` and, on a line of its own, what to try.
    public static func error(_ sentence: String, advice: String? = nil) {
        line((isLively ? "\u{1B}[31merror:\u{1B}[0m " : "error: ") + sentence)
        if let advice { line("  " + advice) }
    }

    public static func warning(_ sentence: String) {
        line((isLively ? "\u{1B}[33mwarning:\u{1B}[0m " : "warning: ") + sentence)
    }
}

/// A line that is written over and over while something long runs. Silent unless a person watches.
public struct ProgressLine: Sendable {
    private var width = 0
    private let isShown: Bool

    public init(isShown: Bool = Diagnostics.isLively) { self.isShown = isShown }

    public mutating func show(_ text: String) {
        guard isShown else { return }
        let padding = String(repeating: " ", count: max(0, width - text.count))
        width = text.count
        _ = writeAll(Array("\r\(text)\(padding)".utf8), to: STDERR_FILENO)
    }

    /// Wipes the line, so that what follows starts clean.
    public mutating func clear() {
        guard isShown, width > 0 else { return }
        _ = writeAll(Array(("\r" + String(repeating: " ", count: width) + "\r").utf8), to: STDERR_FILENO)
        width = 0
    }
}

/// Writes all bytes, however often that takes; false if nobody reads.
private func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        if count > 0 {
            rest = rest.dropFirst(count)
        } else if errno == EAGAIN {
            var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            poll(&ready, 1, 1000)
        } else if errno != EINTR {
            return false
        }
    }
    return true
}
