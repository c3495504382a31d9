import CommandStore
import Gateway
import HTTPAPI
import Synchronization
import TrackerCore

/// What the service did lately, for pages and metrics: polls that are over, and whether one is under way.
actor PollBoard {
    /// So many polls are remembered.
    private static let limit = 50
    /// Upper ends of the histogram of poll durations, seconds.
    private static let buckets: [Double] = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

    private var lines: [PollLine] = []
    /// The poll under way, as it goes.
    private struct Course {
        var stage = "idle"
        var trying: String?
        /// A connection is kept.
        var isConnected = false
        /// The poll goes on with the connection that was kept: nobody needs to hear of each.
        var isLook = false
    }

    private let course = Mutex(Course())
    private var lastPoll: Instant?
    private var storedRecords: Int?
    private var results: [String: Int] = [:]
    private var totals = (received: 0, new: 0, duplicates: 0, suspect: 0, acknowledged: 0)
    private var seconds = (sum: 0.0, counts: [Int](repeating: 0, count: 8))
    private var battery: [String: Int] = [:]

    /// Newest first.
    var recent: [PollLine] { lines }

    /// The same surroundings, with every poll noted here.
    nonisolated func watching(_ surroundings: PollService.Surroundings) -> PollService.Surroundings {
        var watched = surroundings
        watched.poll = { options in
            self.begin()
            let report = await surroundings.poll(options)
            await self.end(report, isPoll: options.job == .poll, at: Machine.now())
            return report
        }
        return watched
    }

    func status(next: Duration?, setupDone: Bool, version: String) -> ServiceStatus {
        let course = course.withLock { $0 }
        return ServiceStatus(
            version: version, stage: course.stage, lastPoll: lastPoll,
            nextPoll: next.map { Machine.now().advanced(seconds: $0 / .seconds(1)) }.map { Instant(seconds: $0.wholeSeconds) },
            pollSentence: lines.first?.sentence, trying: course.trying, storedRecords: storedRecords, setupDone: setupDone)
    }

    /// Where the poll under way stands.
    nonisolated func show(_ progress: PollProgress) {
        course.withLock { course in
            switch progress.stage {
            case .scanning, .connecting: (course.stage, course.isLook) = (progress.stage.rawValue, false)
            case .connected, .polling, .storing, .disconnecting: if !course.isLook { course.stage = "polling" }
            }
        }
    }

    nonisolated func show(_ diagnostic: Diagnostic) {
        if diagnostic.code == "recovery" { course.withLock { $0.trying = diagnostic.sentence } }
    }

    /// A connection that was kept has ended by itself.
    nonisolated func lost() { course.withLock { $0 = Course() } }

    private nonisolated func begin() {
        course.withLock { course in
            course.isLook = course.isConnected
            if !course.isLook { course.stage = "polling" }
        }
    }

    private func end(_ report: PollReport, isPoll: Bool, at now: Instant) {
        let wasLook = course.withLock { course in
            defer { course = Course(stage: report.isConnected ? "connected" : "idle", isConnected: report.isConnected) }
            return course.isLook
        }
        guard isPoll else { return }
        lastPoll = now
        if let stored = report.storedRecords { storedRecords = stored }
        let result = report.failure?.kind.rawValue ?? "done"
        count(report, result)
        if wasLook, report.failure == nil, report.received == 0, report.quarantined == 0 { return }
        let words = report.failure.map { "\($0.kind.text): \(sentence($0.sentence))" } ?? PollText.lines(report, state: nil).joined(separator: ". ")
        lines.insert(
            PollLine(
                at: now, bottle: report.bottle, result: result, sentence: words, received: report.received, new: report.new, duplicates: report.duplicates,
                suspect: report.suspect, acknowledged: report.acknowledged, seconds: report.seconds),
            at: 0)
        if lines.count > Self.limit { lines.removeLast() }
    }

    private func count(_ report: PollReport, _ result: String) {
        results[result, default: 0] += 1
        totals.received += report.received
        totals.new += report.new
        totals.duplicates += report.duplicates
        totals.suspect += report.suspect
        totals.acknowledged += report.acknowledged
        seconds.sum += report.seconds
        for (index, end) in Self.buckets.enumerated() where report.seconds <= end { seconds.counts[index] += 1 }
        if let bottle = report.bottle, let percent = report.batteryPercent { battery[bottle] = percent }
    }

    /// In Prometheus' text format, with its conventions of names and units.
    var metrics: String {
        var lines = ["# HELP waterh_polls_total Polls that are over, by how they went.", "# TYPE waterh_polls_total counter"]
        lines += results.sorted { $0.key < $1.key }.map { "waterh_polls_total{result=\"\($0.key)\"} \($0.value)" }
        let counters = [
            ("received", "Records that bottles sent.", totals.received), ("new", "Records that were stored for the first time.", totals.new),
            ("duplicate", "Records that were known.", totals.duplicates), ("suspect", "Records that are kept and not counted.", totals.suspect),
            ("acknowledged", "Records that bottles were told to forget.", totals.acknowledged),
        ]
        for (name, help, value) in counters {
            lines += ["# HELP waterh_records_\(name)_total \(help)", "# TYPE waterh_records_\(name)_total counter", "waterh_records_\(name)_total \(value)"]
        }
        let polls = results.values.reduce(0, +)
        lines += ["# HELP waterh_poll_duration_seconds How long polls took.", "# TYPE waterh_poll_duration_seconds histogram"]
        lines += zip(Self.buckets, seconds.counts).map { "waterh_poll_duration_seconds_bucket{le=\"\($0)\"} \($1)" }
        lines += [
            "waterh_poll_duration_seconds_bucket{le=\"+Inf\"} \(polls)", "waterh_poll_duration_seconds_sum \(seconds.sum)",
            "waterh_poll_duration_seconds_count \(polls)",
        ]
        lines += [
            "# HELP waterh_link_connected Whether a bottle's connection is kept right now.", "# TYPE waterh_link_connected gauge",
            "waterh_link_connected \(course.withLock { $0.isConnected } ? 1 : 0)",
        ]
        if !battery.isEmpty {
            lines += ["# HELP waterh_battery_ratio A bottle's battery, 0 to 1.", "# TYPE waterh_battery_ratio gauge"]
            lines += battery.sorted { $0.key < $1.key }.map { "waterh_battery_ratio{bottle=\"\(Self.escaped($0.key))\"} \(Double($0.value) / 100)" }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}
