import Dispatch
import Foundation

/// SIGINT and SIGTERM as a stream, so that a command ends itself cleanly. A second signal does not wait.
public enum StopSignals {
    /// The signals as they come. From the first call on they no longer kill the process.
    public static func stream(_ numbers: [Int32] = [SIGINT, SIGTERM]) -> AsyncStream<Int32> {
        let (stream, continuation) = AsyncStream<Int32>.makeStream(bufferingPolicy: .bufferingNewest(8))
        let sources = numbers.map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { continuation.yield(number) }
            source.resume()
            return UncheckedSource(source)
        }
        continuation.onTermination = { _ in for source in sources { source.value.cancel() } }
        return stream
    }

    /// The exit code that a signal asks for: 130 when a person interrupts, 0 when a supervisor stops a service.
    public static func status(for number: Int32) -> ExitStatus { number == SIGINT ? .interrupted : .done }
}

/// Dispatch sources are thread-safe, but on Linux their protocol does not say so.
private struct UncheckedSource: @unchecked Sendable {
    let value: any DispatchSourceSignal
    init(_ value: any DispatchSourceSignal) { self.value = value }
}
