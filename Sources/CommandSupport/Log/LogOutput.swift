import Foundation
import Synchronization

/// Where the lines of a log go. A service outlives its log: a disk that is full for an hour, a reader that stalls or is
/// started anew cost the lines of that time and nothing else. The first line that can be written again comes behind one
/// that tells how many are missing.
package final class LogOutput: Sendable {
    /// Standard error.
    package static let standard = LogOutput(descriptor: STDERR_FILENO)

    private struct State {
        /// Lines that could not be written since the last one that could.
        var lost = 0
        /// Why the last one could not.
        var trouble = ""
        /// A line was begun and not ended.
        var isCut = false
        /// Nobody reads: nothing waits for that again.
        var isStalled = false
    }

    /// As much as a pipe that takes something takes at once (`PIPE_BUF`).
    private static let piece = 4096
    /// How long a reader is waited for, once, in milliseconds.
    private static let patience: Int32 = 1000
    private let descriptor: Int32
    private let state = Mutex(State())

    /// To that descriptor, which stays open.
    package init(descriptor: Int32) { self.descriptor = descriptor }

    /// Writes one line at once; whatever is in the text, it stays one.
    /// - Parameter gap: the line that tells of those that are missing: how many, and why, in the system's words.
    func line(_ text: String, gap: (_ count: Int, _ trouble: String) -> String) {
        state.withLock { state in
            if state.lost > 0 {
                guard put(gap(state.lost, state.trouble), &state) else {
                    state.lost += 1
                    return
                }
                state.lost = 0
            }
            if !put(text, &state) { state.lost = 1 }
        }
    }

    private func put(_ text: String, _ state: inout State) -> Bool {
        let line = Array(((state.isCut ? "\n" : "") + TerminalText.safe(text) + "\n").utf8)
        var rest = line[...]
        while !rest.isEmpty {
            let trouble = write(&rest, waiting: state.isStalled ? 0 : Self.patience)
            guard trouble == 0 else {
                state.isStalled = trouble == EAGAIN
                state.trouble = state.isStalled ? "nobody read them" : String(cString: strerror(trouble))
                state.isCut = state.isCut || rest.count < line.count
                return false
            }
        }
        (state.isCut, state.isStalled) = (false, false)
        return true
    }

    /// Writes the next piece. What kept it from that (`errno`), `EAGAIN` where nobody reads, or 0.
    private func write(_ rest: inout ArraySlice<UInt8>, waiting milliseconds: Int32) -> Int32 {
        var place = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        let ready = poll(&place, 1, milliseconds)
        guard ready > 0 else { return ready == 0 ? EAGAIN : errno == EINTR ? 0 : errno }
        let count = rest.prefix(Self.piece).withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
        if count > 0 { rest = rest.dropFirst(count) }
        return count >= 0 || errno == EINTR ? 0 : errno
    }
}
