import Bluetooth
import BlueZ
import BottleProtocol
import Captures
import CommandSupport
import Foundation
import Store
import TrackerCore

/// The output directory of a session. Over bluez it records the HCI monitor, on other links each connection.
actor BenchDayFolder {
    nonisolated let path: String
    private let link: LinkOptions
    private let monitor: HCIMonitor?
    private var monitorRecording: Task<Void, any Error>?
    /// The error that ended the recording of the monitor.
    private var monitorFailure: (any Error)?
    private var recorder: LinkRecorder?
    private var recordsFile: OutputFile?

    nonisolated var store: String { path + "/waterh.sqlite" }

    /// Creates the directory, private to the user, and starts to record the monitor.
    /// - Parameter path: `nil` for a name such as `bench-day-2026-11-23-1030`.
    init(_ path: String?, _ link: LinkOptions, at wall: WallTime) throws {
        let path =
            path
            ?? "bench-day-" + wall.description.prefix(16).replacing("T", with: "-").replacing(":", with: "")
        if let files = try? FileManager.default.contentsOfDirectory(atPath: path), !files.isEmpty {
            throw CommandFailure(
                .wrongUse, "\(path) is not empty",
                advice: "Name another directory with --folder: an earlier recording is not replaced.")
        }
        (self.path, self.link) = (path, link)
        if case .bluez = try link.name {
            do {
                monitor = try HCIMonitor()
            } catch {
                throw CommandFailure(
                    .noLink, asSentence(error.description),
                    advice: "A session records every packet: run the command as root (sudo) or with CAP_NET_RAW.")
            }
        } else {
            monitor = nil
        }
        do {
            try FileManager.default.createDirectory(
                atPath: path + "/captures", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
        } catch {
            throw CommandFailure(
                .failed, "creating \(path) failed: \(FileErrorText.text(error))",
                advice: "Name another one with --folder.")
        }
    }

    // MARK: - Captures

    /// Opens the link for one connection. Without the HCI monitor, it records the traffic to a capture.
    func open(_ capture: String) throws -> any CentralLink {
        try check()
        if let monitor {
            if monitorRecording == nil { try record(monitor) }
            return try link.open()
        }
        let epoch = HostClock.sinceEpoch() - .nanoseconds(MonotonicClock.system.now().nanoseconds)
        let recorder = try LinkRecorder(
            path: "\(path)/captures/\(capture).btsnoop", peer: BluetoothAddress(0), epoch: epoch,
            log: { Diagnostics.warning($0) })
        recorder.begin()
        self.recorder = recorder
        return try link.open { recorder.observe($0) }
    }

    /// Ends the capture of a connection. Throws if a recording is incomplete.
    func finish() throws {
        recorder?.finish()
        try check()
    }

    func close() async {
        recorder?.finish()
        monitor?.close()
        _ = await monitorRecording?.result
    }

    private func check() throws {
        guard monitorFailure != nil || recorder?.isComplete == false else { return }
        throw CommandFailure(
            .failed, "The recording is incomplete\(monitorFailure.map { ": \($0)" } ?? "").",
            advice: "Free some space, and start a new session.")
    }

    private func record(_ monitor: HCIMonitor) throws {
        var recorder = MonitorRecorder(CaptureFormat(.btsnoop, .monitor), adapter: nil, bottle: nil)
        let file = try OutputFile(path + "/captures/air.btsnoop", kind: .capture)
        try file.write(recorder.takeOutput())
        try file.publish()
        monitorRecording = Task {
            do {
                for try await packet in monitor.packets {
                    try recorder.add(packet)
                    try file.write(recorder.takeOutput())
                }
                try file.commit()
            } catch {
                monitorFailure = error
            }
        }
    }

    // MARK: - Files

    /// Appends records to `records.txt`, 26 hexadecimal digits per line, and synchronises the file.
    func append(_ records: [[UInt8]]) throws {
        let file = try recordsFile ?? OutputFile(path + "/records.txt")
        recordsFile = file
        try file.write(Array(records.map { hex($0) + "\n" }.joined().utf8))
        try file.publish()
    }

    nonisolated func write(_ day: BenchDayRecord, isComplete: Bool) throws {
        try write(object(day, isComplete: isComplete), to: "findings.json")
        try write(.array(day.steps.map(\.json)), to: "steps.json")
    }

    private nonisolated func write(_ value: JSONValue, to name: String) throws {
        let file = try OutputFile("\(path)/\(name)")
        try file.write(Array((value.text + "\n").utf8))
        try file.commit()
    }

    /// The session as a JSON object with the keys of CLI spec C5.
    nonisolated func object(_ day: BenchDayRecord, isComplete: Bool) -> JSONValue {
        [
            "folder": .string(path), "complete": .bool(isComplete), "name": JSONValue(day.name),
            "bottle": JSONValue(day.identity), "profile": JSONValue(day.profile?.rawValue),
            "model": JSONValue(day.model?.rawValue), "mtu": JSONValue(day.mtu),
            "findings": .array(BenchDayQuestion.all.map { $0.json(day) }),
            "leftOut": .array(day.omissions.map { .string($0) }),
        ]
    }

    nonisolated var names: [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        return names.filter { !$0.hasPrefix(".") && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }.sorted().map {
            $0 == "captures" ? "captures/" : $0
        }
    }
}
