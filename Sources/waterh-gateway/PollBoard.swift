import CommandSupport
import Gateway
import WebServer
import Synchronization
import TrackerCore
import TrackerService

/// The recent polls of the service, for pages and metrics.
actor PollBoard {
    private static let limit = 50
    /// The upper bounds of the histogram of poll durations, in seconds.
    private static let buckets: [Double] = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

    private var lines: [PollLine] = []
    /// The current poll.
    private struct Course {
        var stage = "idle"
        var trying: String?
        var isConnected = false
        /// Whether the poll uses the kept connection and is not shown.
        var isLook = false
    }

    private let course = Mutex(Course())
    private var lastPoll: Instant?
    private var storedRecords: Int?
    private var results: [String: Int] = [:]
    private var totals = (received: 0, new: 0, duplicates: 0, suspect: 0, acknowledged: 0)
    private var seconds = (sum: 0.0, counts: [Int](repeating: 0, count: 8))
    /// The battery levels by identity, because names can change.
    private var battery: [String: Int] = [:]
    private var rssi: [String: Int] = [:]
    private let link = Mutex(LinkTime())

    var recent: [PollLine] { lines }

    func status(next: Duration?, setupDone: Bool, version: String) -> ServiceStatus {
        let course = course.withLock { $0 }
        return ServiceStatus(
            version: version, stage: course.stage, lastPoll: lastPoll,
            nextPoll: next.map { Machine.now().advanced(seconds: $0 / .seconds(1)) }.map {
                Instant(seconds: $0.wholeSeconds)
            },
            pollSentence: lines.first?.sentence, trying: course.trying, storedRecords: storedRecords,
            setupDone: setupDone)
    }

    nonisolated func show(_ progress: PollProgress) {
        if progress.stage == .connected { link.withLock { $0.note(isUp: true) } }
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

    nonisolated func lost() {
        course.withLock { $0 = Course() }
        link.withLock { $0.note(isUp: false) }
    }

    nonisolated func begin() {
        course.withLock { course in
            course.isLook = course.isConnected
            if !course.isLook { course.stage = "polling" }
        }
    }

    func end(_ report: PollReport, isPoll: Bool, at now: Instant) {
        let wasLook = course.withLock { course in
            defer { course = Course(stage: report.isConnected ? "connected" : "idle", isConnected: report.isConnected) }
            return course.isLook
        }
        link.withLock { $0.note(isUp: report.isConnected) }
        guard isPoll else { return }
        lastPoll = now
        if let stored = report.storedRecords { storedRecords = stored }
        let result = report.failure?.kind.rawValue ?? "done"
        count(report, result)
        if wasLook, report.failure == nil, report.received == 0, report.quarantined == 0 { return }
        let words =
            report.failure.map { "\($0.kind.text): \(sentence($0.sentence))" }
            ?? PollText.lines(report, state: nil).joined(separator: ". ")
        lines.insert(
            PollLine(
                at: now, bottle: report.bottle, result: result, sentence: words, received: report.received,
                new: report.new, duplicates: report.duplicates,
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
        guard let bottle = report.identity ?? report.bottle else { return }
        if let percent = report.batteryPercent { battery[bottle] = percent }
        if let heard = report.rssi { rssi[bottle] = heard }
    }

    /// - Parameters:
    ///   - bottles: the store's bottles with their names; others are dropped. `nil` if unknown.
    ///   - store: its size, and the number of changes that wait for a server.
    func figures(of bottles: [OwnBottle]?, store: (bytes: Int?, waiting: Int?)) -> PollFigures {
        func known(_ identity: String) -> OwnBottle? {
            bottles?.first { $0.identities.contains(identity) || $0.aliases.contains(identity) }
        }
        func named(_ figures: [String: Int]) -> [String: Int] {
            Dictionary(
                figures.compactMap { identity, figure in known(identity).map { ($0.alias ?? identity, figure) } }
            ) { first, _ in first }
        }
        if bottles != nil {
            (battery, rssi) = (battery.filter { known($0.key) != nil }, rssi.filter { known($0.key) != nil })
        }
        return PollFigures(
            results: results, received: totals.received, new: totals.new, duplicates: totals.duplicates,
            suspect: totals.suspect,
            acknowledged: totals.acknowledged, seconds: seconds.sum, buckets: Array(zip(Self.buckets, seconds.counts)),
            battery: named(battery), rssi: named(rssi),
            isConnected: course.withLock { $0.isConnected }, linkSeconds: link.withLock { $0.seconds },
            storeBytes: store.bytes, waiting: store.waiting)
    }
}
