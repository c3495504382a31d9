import Bluetooth
import BottleProtocol
import Foundation
import Gateway
import CommandSupport
import Store
import Synchronization
import TrackerCore

/// Keeps the traffic of a poll in memory, and writes it to files if the poll failed or had anomalies.
final class PollRecorder: Sendable {
    private struct State {
        var observations: [LinkObservation] = []
        var bytes = 0
        var isTruncated = false
        /// The time at which files were last written, by reason.
        var written: [String: MonotonicInstant] = [:]
    }

    /// The maximum number of packets and bytes.
    private static let packets = 4096
    private static let bytes = 256 << 10
    /// The minimum time between files for the same reason, so that other reasons keep their files.
    private static let pause = Duration.seconds(3600)

    /// The prefix of the line with the bottle's advertised name in a trace.
    static let namePrefix = "name: "

    private let state = Mutex(State())

    func record(_ observation: LinkObservation) {
        state.withLock { state in
            let size = if case .pdu(_, let bytes) = observation.event { bytes.count } else { 0 }
            guard state.observations.count < Self.packets, state.bytes + size <= Self.bytes else {
                state.isTruncated = true
                return
            }
            state.observations.append(observation)
            state.bytes += size
        }
    }

    /// Ends a poll, and writes its traffic next to the store if there is a reason. Later traffic belongs to the next
    /// poll.
    /// - Returns: the error of writing; `nil` if there is none.
    func end(_ report: PollReport, nextTo store: String, _ clock: DriverClock) -> String? {
        let now = clock.now()
        let reason = Self.reason(report)
        let traffic: (observations: [LinkObservation], isTruncated: Bool)? = state.withLock { state in
            defer { (state.observations, state.bytes, state.isTruncated) = ([], 0, false) }
            guard let reason, !state.observations.isEmpty else { return nil }
            if let last = state.written[reason], last.duration(to: now) < Self.pause { return nil }
            state.written[reason] = now
            return (state.observations, state.isTruncated)
        }
        guard let reason, let traffic else { return nil }
        let wall = clock.wall()
        let epoch = Duration.milliseconds(wall.milliseconds) - .nanoseconds(now.nanoseconds)
        do {
            let trace = Self.trace(report, reason, isTruncated: traffic.isTruncated)
            try FailedPollFiles.keep(trace, of: store, at: wall) { path in
                let recorder = try LinkRecorder(
                    path: path, peer: report.identity.flatMap { BluetoothAddress($0) } ?? BluetoothAddress(0),
                    epoch: epoch
                ) { _ in }
                recorder.begin()
                for observation in traffic.observations { recorder.observe(observation) }
                recorder.finish()
            }
        } catch {
            return FileErrorText.text(error)
        }
        return nil
    }

    /// The reason to store the files of a poll; `nil` if it was normal.
    static func reason(_ report: PollReport) -> String? {
        if let failure = report.failure { return failure.kind == .interrupted ? nil : failure.kind.text }
        if report.undecodable > 0 { return "Unreadable bytes" }
        if report.unconfirmed > 0 { return "Acknowledgement not confirmed" }
        return nil
    }

    private static func trace(_ report: PollReport, _ reason: String, isTruncated: Bool) -> String {
        var lines = [reason + "."]
        if let failure = report.failure { lines.append(failure.sentence) }
        lines.append("bottle: \(report.bottle ?? "none found")\(report.profile.map { ", \($0.rawValue)" } ?? "")")
        // The name is on a separate line, so that a report can redact it.
        if let name = report.name { lines.append(Self.namePrefix + name.filter { !$0.isNewline }) }
        lines.append(
            """
            received \(report.received), new \(report.new), known \(report.duplicates), quarantined \
            \(report.suspect), unreadable \(report.undecodable), acknowledged \(report.acknowledged), possibly \
            acknowledged \(report.unconfirmed)
            """)
        lines += report.recovery.map {
            "recovery: \($0.action.rawValue): \($0.reason)\($0.outcome.map { ": \($0)" } ?? "")"
        }
        if isTruncated { lines.append("The capture is truncated.") }
        return lines.joined(separator: "\n")
    }
}

extension FailedPollFiles {
    /// Writes the files of a poll, and deletes the oldest ones above the limit. A store in memory has no files.
    fileprivate static func keep(
        _ trace: String, of store: String, at time: Instant, _ writeCapture: (String) throws -> Void
    ) throws {
        guard store.hasPrefix("/") else { return }
        let (files, folder) = (FileManager.default, folder(beside: store))
        if !files.fileExists(atPath: folder) {
            try files.createDirectory(
                atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        }
        let id = time.description.filter { $0.isNumber || $0 == "T" }
        let (capture, text) = ("\(folder)/\(id).btsnoop", "\(folder)/\(id).txt")
        do {
            try writeCapture(capture)
            try files.setAttributes([.posixPermissions: 0o600], ofItemAtPath: capture)
            let trace = Data((trace + "\n").utf8)
            guard files.createFile(atPath: text, contents: trace, attributes: [.posixPermissions: 0o600]) else {
                throw CocoaError(.fileWriteUnknown)
            }
        } catch {
            // A capture without its trace is useless.
            for file in [capture, text] { try? files.removeItem(atPath: file) }
            throw error
        }
        // The new files can seem old, because the clock can have been wrong.
        let kept = Set(all(beside: store).map(\.id)).union([id])
        for name in try files.contentsOfDirectory(atPath: folder)
        where isPollFile(name) && !kept.contains(String(name.prefix { $0 != "." })) {
            try files.removeItem(atPath: "\(folder)/\(name)")
        }
    }
}
