import Bluetooth
import BottleProtocol
import Foundation
import Gateway
import CommandSupport
import Store
import Synchronization
import TrackerCore

/// Keeps the traffic of the last polls in memory, and writes it to files after a failed or unusual poll. A bottle's
/// files contain only polls of that bottle.
final class PollRecorder: Sendable {
    /// The bottle of a poll; empty if the poll did not reach it.
    private struct Owner: Hashable {
        var store: String
        var bottle: String?
    }

    private struct Flight {
        var owner: Owner?
        var observations: [LinkObservation] = []
        var bytes = 0
        var isCut = false
    }

    private struct State {
        var present = Flight()
        var store: String?
        /// The earlier polls, oldest first.
        var flights: [Flight] = []
        /// The time of the last file for each kind of error and store.
        var kept: [String: MonotonicInstant] = [:]
    }

    /// The number of kept polls of one bottle and of all, and the packets and bytes of each.
    private static let ofOne = 2
    private static let ofAll = 12
    private static let packets = 4096
    private static let bytes = 256 << 10
    /// The minimum time between files for the same error, so that it does not replace the files of others.
    private static let pause = Duration.seconds(3600)

    private let state = Mutex(State())

    func note(_ observation: LinkObservation) {
        state.withLock { state in
            let size = if case .pdu(_, let bytes) = observation.event { bytes.count } else { 0 }
            guard state.present.observations.count < Self.packets, state.present.bytes + size <= Self.bytes else {
                state.present.isCut = true
                return
            }
            state.present.observations.append(observation)
            state.present.bytes += size
        }
    }

    /// Starts a poll for this store. Traffic since the last one belongs to the kept connection.
    func begin(for store: String) {
        state.withLock { state in
            if state.store != store { state.present = Flight() }
            state.store = store
        }
    }

    /// Ends a poll and writes its traffic next to the store if it failed.
    /// - Returns: the error of writing.
    func end(_ report: PollReport, keptBeside store: String, _ clock: DriverClock) -> String? {
        let now = clock.now()
        let reason = Self.reason(report)
        let flights: [Flight]? = state.withLock { state in
            let owner = Owner(store: store, bottle: report.identity)
            state.present.owner = owner
            defer {
                state.flights.append(state.present)
                state.present = Flight()
                for old in state.flights.indices.filter({ state.flights[$0].owner == owner }).dropLast(Self.ofOne)
                    .reversed()
                { state.flights.remove(at: old) }
                if state.flights.count > Self.ofAll { state.flights.removeFirst() }
            }
            guard let reason, !state.present.observations.isEmpty else { return nil }
            let trouble = store + "|" + reason
            if let kept = state.kept[trouble], kept.duration(to: now) < Self.pause { return nil }
            state.kept[trouble] = now
            let found = state.flights.filter { $0.owner == owner } + [state.present]
            state.flights.removeAll { $0.owner == owner }
            state.present = Flight()
            return found
        }
        guard let flights, let reason else { return nil }
        let wall = clock.wall()
        let epoch = Duration.milliseconds(wall.milliseconds) - .nanoseconds(now.nanoseconds)
        let story = Self.story(report, reason, isCut: flights.contains(where: \.isCut))
        do {
            try PollRecordings(store: store)?.keep(story, at: wall) { path in
                let recorder = try LinkRecorder(
                    path: path, peer: report.identity.flatMap { BluetoothAddress($0) } ?? BluetoothAddress(0),
                    epoch: epoch
                ) { _ in }
                recorder.begin()
                for observation in flights.flatMap(\.observations) { recorder.observe(observation) }
                recorder.finish()
            }
        } catch {
            return FileTrouble.words(error)
        }
        return nil
    }

    /// The reason to keep a poll; `nil` if it was normal.
    static func reason(_ report: PollReport) -> String? {
        if let failure = report.failure { return failure.kind == .interrupted ? nil : failure.kind.text }
        if report.quarantined > 0 { return "Unreadable bytes" }
        if report.unconfirmed > 0 { return "Acknowledgement not confirmed" }
        return nil
    }

    private static func story(_ report: PollReport, _ reason: String, isCut: Bool) -> String {
        var lines = [reason + "."]
        if let failure = report.failure { lines.append(failure.sentence) }
        lines.append("bottle: \(report.bottle ?? "none found")\(report.profile.map { ", \($0.rawValue)" } ?? "")")
        // The name is on a separate line, so that a report can redact it.
        if let name = report.name { lines.append(PollRecordings.nameMark + name.filter { !$0.isNewline }) }
        lines.append(
            """
            received \(report.received), new \(report.new), known \(report.duplicates), suspect \
            \(report.suspect), unreadable \(report.quarantined), acknowledged \(report.acknowledged), possibly \
            acknowledged \(report.unconfirmed)
            """
        )
        lines += report.recovery.map {
            "recovery: \($0.rung.rawValue): \($0.reason)\($0.outcome.map { ": \($0)" } ?? "")"
        }
        if isCut { lines.append("The capture is truncated.") }
        return lines.joined(separator: "\n")
    }
}
