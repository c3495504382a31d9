import Bluetooth
import Captures
import CommandSupport
import BlueZ
import Synchronization

/// Records the traffic of all adapters to a file.
final class AirRecorder: Sendable {
    private struct State {
        var recorder: MonitorRecorder
        var trouble: String?
    }

    private let monitor: HCIMonitor
    private let state: Mutex<State>
    private let work: Mutex<Task<Void, Never>?> = Mutex(nil)

    /// - Throws: `CommandFailure` without permission, or if the file cannot be written.
    init(_ path: String) throws {
        do {
            monitor = try HCIMonitor()
        } catch {
            throw CommandFailure(
                .noLink, sentence(error.description),
                advice:
                    "A session records every packet: run it as root (sudo), or give the program CAP_NET_RAW.")
        }
        state = Mutex(State(recorder: MonitorRecorder(CaptureFormat(.btsnoop, .monitor), adapter: nil, bottle: nil)))
        let file = UncheckedFile(try OutputFile(path, kind: .capture))
        try file.value.write(state.withLock { $0.recorder.takeOutput() })
        try file.value.publish()
        work.withLock { [monitor] in $0 = Task { await self.run(monitor, file) } }
    }

    /// The error that ended the recording.
    var trouble: String? { state.withLock { $0.trouble } }

    func close() { monitor.close() }

    private func run(_ monitor: HCIMonitor, _ file: UncheckedFile) async {
        do {
            for try await packet in monitor.packets {
                try file.value.write(
                    try state.withLock { state in
                        try state.recorder.take(packet)
                        return state.recorder.takeOutput()
                    })
            }
            try file.value.commit()
        } catch {
            state.withLock { $0.trouble = "\(error)" }
        }
    }

    /// Used by one task only.
    private struct UncheckedFile: @unchecked Sendable {
        let value: OutputFile
        init(_ value: OutputFile) { self.value = value }
    }
}
