import ArgumentParser
import Bluetooth
import Captures
import CommandSupport
import Foundation
import BlueZ
import Replay

struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Decode live traffic",
        discussion: """
            SOURCE is an adapter (hci0, or its address), all (every adapter), a growing capture, or the pipe of a \
            sniffer (nRF's extcap, Ubertooth); - is standard input. A drink that several sources receive counts once. \
            Adapters require root or CAP_NET_RAW. Runs until Ctrl-C, or until all pipes have ended if no adapter is \
            named.
            """)

    @Argument(help: ArgumentHelp("Adapters, all, pipes or files", valueName: "source"), completion: .file())
    var sources: [String]

    @OptionGroup var records: RecordArguments
    @OptionGroup var attribution: AttributionArguments
    @OptionGroup var filter: FilterArguments
    @OptionGroup var colors: ColorArguments

    @Flag(help: "Print every ATT PDU, too")
    var att = false

    @Flag(help: "Print one JSON object per line, as drinks, commands and att do")
    var json = false

    @Option(help: ArgumentHelp("Duration in seconds", valueName: "seconds"))
    var seconds: Double?

    /// The maximum number of files and pipes, each of which has a thread.
    private static let maximumSources = 64

    func validate() throws {
        if let seconds, !(seconds > 0 && seconds <= 1e9) {
            throw ValidationError("invalid --seconds: expected a number above 0 and at most 1000000000")
        }
        if Set(sources).count != sources.count { throw ValidationError("the same source is given twice") }
        if sources.count > Self.maximumSources {
            throw ValidationError("too many sources: \(sources.count), expected at most \(Self.maximumSources)")
        }
    }

    func run() async throws {
        let run = try CaptureRun()
        let watch = CaptureWatch(
            run.out, DrinkReader.Options(records, attribution, filter), showsATT: att, isJSON: json,
            isColoured: colors.isColoured)
        let (files, adapters) = try sortedSources()
        for (number, path) in files { watch.name(number, CaptureRun.name(path)) }
        let needsMonitor = !adapters.isEmpty || sources.contains("all")
        let monitor =
            needsMonitor ? try CommandFailure.withAdapterAdvice { () throws(LinkError) in try HCIMonitor() } : nil
        let signals = StopSignals.stream()
        let (stream, continuation) = AsyncStream.makeStream(of: WatchEvent.self, bufferingPolicy: .unbounded)
        FollowedFiles.read(files, continuation)
        let monitorTask = monitor.map { monitor in
            let wanted = sources.contains("all") ? nil : Set(adapters.map(\.index))
            return Task {
                do {
                    for try await packet in monitor.packets where wanted?.contains(packet.adapter) ?? true {
                        let capturePacket = CapturePacket(packet, number: 0)
                        continuation.yield(.packet(capturePacket, packet.bytes, source: CaptureWatch.ownAdapters))
                    }
                } catch {
                    continuation.yield(.readingError("\(error)"))
                }
                continuation.yield(.ended)
            }
        }
        let timer = seconds.map { limit in
            Task {
                try? await Task.sleep(for: .seconds(limit))
                continuation.yield(.stop(.done))
            }
        }
        let signalTask = Task {
            for await signal in signals {
                continuation.yield(.stop(StopSignals.status(for: signal)))
                return
            }
        }
        defer {
            timer?.cancel()
            signalTask.cancel()
            monitorTask?.cancel()
            monitor?.close()
        }
        if monitor != nil { Diagnostics.line("watching \(sources.joined(separator: ", ")); Ctrl-C ends it") }
        var status = ExitStatus.done
        var openSources = files.count + (monitor == nil ? 0 : 1)
        do {
            for await part in stream {
                switch part {
                case .packet(let packet, let bytes, let source):
                    if source != CaptureWatch.ownAdapters { FollowedFiles.packetDone() }
                    try watch.add(packet, bytes.span.bytes, from: source)
                case .header(let info): watch.addNames(from: info)
                case .readingError(let sentence): run.report(sentence)
                case .stop(let reason): (status, openSources) = (reason, 0)
                case .ended: openSources -= 1
                }
                try run.out.flush()
                if openSources == 0 { break }
            }
            try watch.finish()
            if !json { run.out.put(text: Self.summary(watch)) }
        } catch is OutputFile.ReaderClosed {
            return
        }
        try run.finish()
        if status != .done { throw ExitCode(status.rawValue) }
    }

    /// Sorts the sources into files and adapters. Files and pipes are numbered from 1; adapters are source 0.
    private func sortedSources() throws -> (files: [(UInt16, String)], adapters: [HostAdapter]) {
        var files: [(UInt16, String)] = [], adapters: [HostAdapter] = []
        for source in sources where source != "all" {
            if source == "-" || FileManager.default.fileExists(atPath: source) {
                files.append((UInt16(files.count + 1), source))
                continue
            }
            let isAdapter =
                BluetoothAddress(source) != nil || source.hasPrefix("hci") && UInt16(source.dropFirst(3)) != nil
            guard isAdapter else {
                throw CommandFailure(
                    .failed, "\(source) is neither an adapter nor a file",
                    advice: "Use an adapter name such as hci0, its address, or 'all' for every adapter.")
            }
            adapters.append(try CommandFailure.withAdapterAdvice { () throws(LinkError) in try HostAdapter(source) })
        }
        return (files, adapters)
    }

    private static func summary(_ watch: CaptureWatch) -> String {
        """
        \(counted(watch.packets, "packet")), \(counted(watch.commandCount, "request")) to a bottle, \
        \(counted(watch.tally.drinks, "drink")), \(watch.tally.millilitres) ml\n
        """
    }
}
