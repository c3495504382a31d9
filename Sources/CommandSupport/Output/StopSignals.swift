import Dispatch
import Foundation
import Synchronization
import Utilities

/// Signals as a stream, for an orderly exit.
package enum StopSignals {
    private static let listeners = Mutex<[(numbers: [Int32], continuation: AsyncStream<Int32>.Continuation)]>([])

    /// A stream of received signals. After this function returns, the signals no longer end the process.
    package static func stream(_ numbers: [Int32] = [SIGINT, SIGTERM]) -> AsyncStream<Int32> {
        let (stream, continuation) = AsyncStream<Int32>.makeStream(bufferingPolicy: .bufferingNewest(8))
        listeners.withLock { $0.append((numbers, continuation)) }
        pipeSource.interest = .reading
        for number in numbers {
            signal(number) { number in
                let before = errno
                var byte = UInt8(truncatingIfNeeded: number)
                _ = write(signalPipeEnd, &byte, 1)
                errno = before
            }
        }
        return stream
    }

    /// The signals that end an interactive command: SIGINT, SIGTERM, and SIGHUP unless the parent ignored it (nohup).
    package static var interrupting: [Int32] {
        var inherited = sigaction()
        let isHandled =
            sigaction(SIGHUP, nil, &inherited) == 0
            && unsafeBitCast(inherited.__sigaction_handler.sa_handler, to: Int.self) != ignoring
        return [SIGINT, SIGTERM] + (isHandled ? [SIGHUP] : [])
    }

    /// The value of SIG_IGN (signal(2)), which Swift does not import.
    private static let ignoring = 1

    /// The exit code after a signal: 130 for SIGINT, otherwise 0, because stopping a service is not an error.
    package static func status(for number: Int32) -> ExitStatus {
        number == SIGINT || number == SIGHUP ? .interrupted : .done
    }

    /// The read end of a pipe to which the handlers write the numbers of signals. A dispatch source of signals loses
    /// early ones.
    private static let pipeSource: DescriptorSource = {
        var ends: [Int32] = [-1, -1]
        let isPipeCreated = pipe(&ends) == 0
        precondition(isPipeCreated, "cannot create a pipe for signals")
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        signalPipeEnd = ends[1]
        // Start a timer now: libdispatch opens its descriptor at the first timer, and aborts if that fails later.
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) {}
        let readEnd = ends[0]
        return DescriptorSource(owning: readEnd, queue: DispatchQueue(label: "signals")) { _ in
            var numbers = [UInt8](repeating: 0, count: 64)
            let count = read(readEnd, &numbers, numbers.count)
            for number in numbers.prefix(max(0, count)).map(Int32.init) {
                for listener in listeners.withLock({ $0 }) where listener.numbers.contains(number) {
                    listener.continuation.yield(number)
                }
            }
        }
    }()
}

/// The write end of the pipe, set before the first handler is installed.
nonisolated(unsafe) private var signalPipeEnd: Int32 = -1
