import CommandSupport
import Gateway
import WebServer
import Synchronization
import TrackerCore
import TrackerService
import Utilities

/// The recent polls of the service, for pages and metrics.
actor PollHistory {
    private static let limit = 50
    /// The upper bounds of the histogram of poll durations, in seconds.
    private static let buckets: [Double] = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
    private static let counters: [(name: String, help: String, value: @Sendable (PollReport) -> Int)] = [
        ("received", "Records received from bottles.", { $0.received }),
        ("new", "Records that were stored for the first time.", { $0.new }),
        ("duplicate", "Records that were already stored.", { $0.duplicates }),
        ("suspect", "Quarantined records: stored, but not counted.", { $0.suspect }),
        ("acknowledged", "Records that were acknowledged to bottles.", { $0.acknowledged }),
    ]

    /// The newest poll first.
    private(set) var recent: [PollLine] = []
    /// The state of the current poll, or of the time between polls.
    private struct CurrentPoll {
        var stage = "idle"
        var trying: String?
        var isConnected = false
        /// Whether the poll uses the kept connection. The page does not show such a poll.
        var isOnKeptConnection = false
    }

    private let current = Mutex(CurrentPoll())
    private var lastPoll: Instant?
    private var storedRecords: Int?
    private var results: [String: Int] = [:]
    private var totals = [Int](repeating: 0, count: counters.count)
    private var seconds = 0.0
    private var bucketCounts = [Int](repeating: 0, count: buckets.count)
    /// The battery levels by identity, because names can change.
    private var battery: [String: Int] = [:]
    private var rssi: [String: Int] = [:]
    private let connectionTime = Mutex(ConnectionTime())

    func status(next: Duration?, setupDone: Bool, version: String) -> ServiceStatus {
        let current = current.withLock { $0 }
        return ServiceStatus(
            version: version, stage: current.stage, lastPoll: lastPoll,
            nextPoll: next.map { Machine.now().advanced(seconds: $0 / .seconds(1)) }.map {
                Instant(seconds: $0.wholeSeconds)
            },
            pollSentence: recent.first?.sentence, trying: current.trying, storedRecords: storedRecords,
            setupDone: setupDone)
    }

    nonisolated func show(_ progress: PollProgress) {
        if progress.stage == .connected { connectionTime.withLock { $0.update(isUp: true) } }
        current.withLock { current in
            switch progress.stage {
            case .scanning, .connecting: (current.stage, current.isOnKeptConnection) = (progress.stage.rawValue, false)
            case .connected, .polling, .storing, .disconnecting:
                if !current.isOnKeptConnection { current.stage = "polling" }
            }
        }
    }

    nonisolated func show(_ diagnostic: Diagnostic) {
        if diagnostic.code == "recovery" { current.withLock { $0.trying = diagnostic.sentence } }
    }

    nonisolated func connectionLost() {
        current.withLock { $0 = CurrentPoll() }
        connectionTime.withLock { $0.update(isUp: false) }
    }

    nonisolated func begin() {
        current.withLock { current in
            current.isOnKeptConnection = current.isConnected
            if !current.isOnKeptConnection { current.stage = "polling" }
        }
    }

    func end(_ report: PollReport, isPoll: Bool, at now: Instant) {
        let wasOnKeptConnection = current.withLock { current in
            defer {
                current = CurrentPoll(stage: report.isConnected ? "connected" : "idle", isConnected: report.isConnected)
            }
            return current.isOnKeptConnection
        }
        connectionTime.withLock { $0.update(isUp: report.isConnected) }
        guard isPoll else { return }
        lastPoll = now
        if let stored = report.storedRecords { storedRecords = stored }
        let result = report.failure?.kind.rawValue ?? "done"
        count(report, result)
        if wasOnKeptConnection, report.failure == nil, report.received == 0, report.undecodable == 0 { return }
        let text =
            report.failure.map { "\($0.headline): \(asSentence($0.sentence))" }
            ?? PollText.lines(report, state: nil).joined(separator: ". ")
        recent.insert(PollLine(at: now, report, sentence: text, seconds: report.seconds), at: 0)
        if recent.count > Self.limit { recent.removeLast() }
    }

    private func count(_ report: PollReport, _ result: String) {
        results[result, default: 0] += 1
        for (index, counter) in Self.counters.enumerated() { totals[index] += counter.value(report) }
        seconds += report.seconds
        for (index, bound) in Self.buckets.enumerated() where report.seconds <= bound { bucketCounts[index] += 1 }
        guard let bottle = report.identity ?? report.bottle else { return }
        if let percent = report.batteryPercent { battery[bottle] = percent }
        if let rssi = report.rssi { self.rssi[bottle] = rssi }
    }

    /// The metrics in the Prometheus text format.
    /// - Parameters:
    ///   - store: the size of the store, and the number of changes that wait for a server.
    func metrics(of bottles: [AdoptedBottle]?, store: (bytes: Int?, waiting: Int?)) -> String {
        func known(_ identity: String) -> AdoptedBottle? {
            bottles?.first { $0.identities.contains(identity) || $0.aliases.contains(identity) }
        }
        if bottles != nil {
            (battery, rssi) = (battery.filter { known($0.key) != nil }, rssi.filter { known($0.key) != nil })
        }
        func byName(_ values: [String: Int], _ text: (Int) -> String) -> [String] {
            let named = values.compactMap { identity, value in known(identity).map { ($0.alias ?? identity, value) } }
            return Dictionary(named) { first, _ in first }.sorted { $0.key < $1.key }.map { bottle, value in
                let label = Escaping.replacing(bottle, ["\\": "\\\\", "\"": "\\\"", "\n": "\\n"])
                return "{bottle=\"\(label)\"} \(text(value))"
            }
        }
        var text = ""
        func add(_ name: String, _ kind: String, _ help: String, _ samples: [String]) {
            text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind)\n"
            for sample in samples { text += "\(name)\(sample)\n" }
        }
        func addIfKnown(_ name: String, _ help: String, _ samples: [String]) {
            if !samples.isEmpty { add(name, "gauge", help, samples) }
        }
        add(
            "waterh_polls_total", "counter", "Completed polls by result.",
            results.sorted { $0.key < $1.key }.map { "{result=\"\($0.key)\"} \($0.value)" })
        for (counter, total) in zip(Self.counters, totals) {
            add("waterh_records_\(counter.name)_total", "counter", counter.help, [" \(total)"])
        }
        let polls = results.values.reduce(0, +)
        add(
            "waterh_poll_duration_seconds", "histogram", "Duration of polls.",
            zip(Self.buckets, bucketCounts).map { "_bucket{le=\"\($0)\"} \($1)" }
                + ["_bucket{le=\"+Inf\"} \(polls)", "_sum \(seconds)", "_count \(polls)"])
        add(
            "waterh_link_connected", "gauge", "1 while a connection to a bottle is open, else 0.",
            [current.withLock { $0.isConnected } ? " 1" : " 0"])
        add(
            "waterh_link_seconds_total", "counter", "Total duration of connections to bottles.",
            [" \(connectionTime.withLock { $0.seconds })"])
        addIfKnown(
            "waterh_rssi_dbm", "Signal strength of a bottle before the last connection.", byName(rssi) { "\($0)" })
        addIfKnown("waterh_store_bytes", "Size of the store file and its WAL.", store.bytes.map { [" \($0)"] } ?? [])
        addIfKnown(
            "waterh_outbox_depth", "Changes that wait for the sync server.", store.waiting.map { [" \($0)"] } ?? [])
        addIfKnown(
            "waterh_battery_ratio", "Battery level of the bottle as a ratio (0–1).",
            byName(battery) { "\(Double($0) / 100)" })
        return text
    }
}

/// Measures the total time of connections to bottles.
private struct ConnectionTime: Sendable {
    private var completed = Duration.zero
    private var since: ContinuousClock.Instant?

    /// Records whether a connection is open. A repeated state has no effect.
    mutating func update(isUp: Bool, at now: ContinuousClock.Instant = .now) {
        if isUp {
            since = since ?? now
        } else if let since {
            completed += now - since
            self.since = nil
        }
    }

    /// The connection time up to now in seconds.
    var seconds: Double { (completed + (since.map { .now - $0 } ?? .zero)) / .seconds(1) }
}
