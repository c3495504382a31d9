import ArgumentParser
import Bluetooth
import Captures
import CommandSupport
import Foundation
import BlueZ
import Replay

struct RecordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record",
        abstract: "Record an adapter",
        discussion: """
            Records the kernel's HCI monitor channel until Ctrl-C: requires root or CAP_NET_RAW. The format is \
            btsnoop, or pcapng by the suffix; Wireshark reads both. With --bottle, the recording has only the traffic \
            of that bottle, from its next connection on.
            """)

    @Option(help: ArgumentHelp("Adapter: hci0 or its address", valueName: "adapter"))
    var adapter = "hci0"

    @Option(help: ArgumentHelp("File to write (- for standard output)", valueName: "file"), completion: .file())
    var output: String

    @Option(help: ArgumentHelp("Record only the traffic with this bottle", valueName: "address"))
    var bottle: BluetoothAddress?

    @Option(help: ArgumentHelp("Duration in seconds", valueName: "seconds"))
    var seconds: Double?

    func validate() throws {
        if let seconds, !(seconds > 0 && seconds.isFinite) {
            throw ValidationError("invalid --seconds: expected a number above 0")
        }
    }

    func run() async throws {
        let format =
            CaptureFormat(suffixOf: output)?.container == .pcapng
            ? CaptureFormat(.pcapng, .monitor) : CaptureFormat(.btsnoop, .monitor)
        let (found, monitor) = try CommandFailure.withAdapterAdvice { () throws(LinkError) in
            (try HostAdapter(adapter), try HCIMonitor())
        }
        let signals = StopSignals.stream()
        var recorder = MonitorRecorder(format, adapter: found.index, bottle: bottle)
        let destination = try OutputFile(output, kind: .capture, mode: CaptureRun.filePermissions)
        try destination.write(recorder.takeOutput())
        // Publish the file now, so that other programs can read it while it grows and it survives a crash.
        try destination.publish()
        var progress = ProgressLine()
        Diagnostics.line("recording \(found.name) (\(found.address)) to \(output); Ctrl-C ends it")
        let timer = seconds.map { limit in
            Task {
                try? await Task.sleep(for: .seconds(limit))
                monitor.close()
            }
        }
        let signalTask = Task { () -> ExitStatus in
            for await signal in signals {
                monitor.close()
                return StopSignals.status(for: signal)
            }
            return .done
        }
        defer { timer?.cancel() }
        do {
            for try await packet in monitor.packets {
                try recorder.add(packet)
                try destination.write(recorder.takeOutput())
                progress.show(recorder.summary)
            }
        } catch let error as LinkError {
            progress.clear()
            signalTask.cancel()
            try destination.commit()
            throw CommandFailure(.failed, "\(error)", advice: "The recording until then is in \(output).")
        } catch is OutputFile.ReaderClosed {
            progress.clear()
            return signalTask.cancel()
        }
        progress.clear()
        signalTask.cancel()
        try destination.commit()
        Diagnostics.line("\(output): \(recorder.summary)")
        let status = await signalTask.value
        if status != .done { throw ExitCode(status.rawValue) }
    }
}

extension CommandFailure {
    static func withAdapterAdvice<Opened>(_ open: () throws(LinkError) -> Opened) throws -> Opened {
        do {
            return try open()
        } catch {
            let advice =
                error.code == .permissionDenied
                ? "Run the command as root."
                : "Plug an adapter in, or use the test VM (waterh-bench-vm; in a checkout hardware/bench vm)."
            throw CommandFailure(.noLink, "\(error)", advice: advice)
        }
    }
}
