import Bluetooth
import BottleProtocol
import Foundation
import Gateway
import Links
import Synchronization

/// Keeps what the last polls said and heard, in memory, and writes it down when one of them failed or was odd.
final class FlightRecorder: Sendable {
    private struct Flight {
        var observations: [LinkObservation] = []
        var bytes = 0
        /// More passed than is kept.
        var isCut = false
    }

    private struct State {
        /// The present poll's is the last.
        var flights = [Flight()]
        /// When each kind of trouble was written down last.
        var kept: [String: MonotonicInstant] = [:]
    }

    /// Polls in the ring, the present one among them; and of each so many packets, and bytes of them.
    private static let polls = 3
    private static let packets = 4096
    private static let bytes = 256 << 10
    /// The same trouble is written down that often: a bottle that fails at each poll must not push out what went before.
    private static let pause = Duration.seconds(3600)

    private let state = Mutex(State())

    func note(_ observation: LinkObservation) {
        state.withLock { state in
            let last = state.flights.count - 1
            let size = if case .pdu(_, let bytes) = observation.event { bytes.count } else { 0 }
            guard state.flights[last].observations.count < Self.packets, state.flights[last].bytes + size <= Self.bytes else {
                state.flights[last].isCut = true
                return
            }
            state.flights[last].observations.append(observation)
            state.flights[last].bytes += size
        }
    }

    /// A poll is over: what led to it is kept beside the store, where it went wrong.
    /// - Returns: why it could not be kept, where it should have been.
    func end(_ report: PollReport, keptBeside store: String, _ clock: DriverClock) -> String? {
        let now = clock.now()
        let reason = Self.reason(report)
        let flights: [Flight]? = state.withLock { state in
            defer {
                state.flights.append(Flight())
                if state.flights.count > Self.polls { state.flights.removeFirst() }
            }
            guard let reason, state.flights.last?.observations.isEmpty == false else { return nil }
            if let kept = state.kept[reason], kept.duration(to: now) < Self.pause { return nil }
            state.kept[reason] = now
            defer { state.flights = [] }
            return state.flights
        }
        guard let flights, let reason else { return nil }
        let wall = clock.wall()
        let epoch = Duration.milliseconds(wall.milliseconds) - .nanoseconds(now.nanoseconds)
        let story = Self.story(report, reason, isCut: flights.contains(where: \.isCut))
        do {
            try KeptFlights(store: store)?.keep(story, at: wall) { path in
                let recorder = try LinkRecorder(path: path, peer: report.identity.flatMap { BluetoothAddress($0) } ?? BluetoothAddress(0), epoch: epoch) { _ in }
                for observation in flights.flatMap(\.observations) { recorder.observe(observation) }
                recorder.finish()
            }
        } catch {
            return error.localizedDescription
        }
        return nil
    }

    /// Why a poll is worth keeping; `nil`: all was well.
    static func reason(_ report: PollReport) -> String? {
        if let failure = report.failure { return failure.kind == .interrupted ? nil : failure.kind.text }
        if report.quarantined > 0 { return "Bytes that could not be understood" }
        if report.unconfirmed > 0 { return "Nobody saw whether the bottle forgot what it was told to" }
        return nil
    }

    private static func story(_ report: PollReport, _ reason: String, isCut: Bool) -> String {
        var lines = [reason + "."]
        if let failure = report.failure { lines.append(failure.sentence) }
        lines.append("bottle: \(report.bottle ?? "none was met")\(report.name.map { ", \($0)" } ?? "")\(report.profile.map { ", \($0.rawValue)" } ?? "")")
        lines.append(
            "received \(report.received), new \(report.new), known \(report.duplicates), in doubt \(report.suspect), unreadable \(report.quarantined), acknowledged \(report.acknowledged), perhaps acknowledged \(report.unconfirmed)")
        lines += report.recovery.map { "recovery: \($0.rung.rawValue): \($0.reason)\($0.outcome.map { ": \($0)" } ?? "")" }
        if isCut { lines.append("More passed than the capture has.") }
        return lines.joined(separator: "\n")
    }
}
