import Gateway
import Logging
import Store
import TrackerCore
import TrackerService

/// Scans for bottles while the store has none, and reads the log of a bottle on request. It does not adopt a bottle.
actor BottleScanner {
    private static let pause = Duration.seconds(60)
    /// The time after which the user is notified of a bottle that is in range but not adopted.
    private static let secondsUntilNotification: Double = 7 * 86_400

    private let polls: PollService
    private let tracker: ServiceStore
    private let log: Logger
    private let notify: @Sendable (TrackerNotification) async -> Bool
    /// The bottles that the log has. The limit is for devices that change their address.
    private var logged: Set<String> = []
    private static let maximumLogged = 100
    /// The bottles of the last scan; `nil` while the store has a bottle.
    private(set) var found: [BottleInRange]?
    private var lastError: String?

    init(
        _ polls: PollService, _ tracker: ServiceStore, log: Logger,
        notify: @escaping @Sendable (TrackerNotification) async -> Bool
    ) {
        (self.polls, self.tracker, self.log, self.notify) = (polls, tracker, log, notify)
    }

    /// Scans once a minute until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            if await tracker.isUnadopted() {
                do {
                    found = try await scan()
                    await notifyUnadopted(found ?? [])
                    lastError = nil
                } catch {
                    if lastError != "\(error)", !Task.isCancelled { log.warning("Scan failed: \(error)") }
                    lastError = "\(error)"
                }
            } else {
                found = nil
            }
            try? await Task.sleep(for: Self.pause)
        }
    }

    /// The bottles in range that belong to no store on this machine.
    func scan() async throws -> [BottleInRange] {
        var options = try await tracker.pollOptions()
        options.job = .scan
        let ownAddresses = options.ownBottles.reduce(into: Set<String>()) { $0.formUnion($1.identities) }
        let report = await polls.run(options)
        if let failure = report.failure { throw Refusal("scan", failure.sentence, category: failure.category) }
        let adoptedAddresses = await tracker.bottlesElsewhere().union(ownAddresses)
        let list = BottleInRange.list(report.inRange).filter { !adoptedAddresses.contains($0.address) }
        return try await tracker.tracker().inRange(list)
    }

    func readContents(_ address: String) async throws -> BottleContents {
        var options = try await tracker.pollOptions()
        (options.job, options.bottle, options.ownBottles) = (.inspect, address, [])
        let report = await polls.run(options)
        if let failure = report.failure, report.records.isEmpty {
            throw Refusal("bottle", "\(failure.headline): \(asSentence(failure.sentence))", category: failure.category)
        }
        let newest = report.records.max { ($0.wall?.description ?? "") < ($1.wall?.description ?? "") }
        return BottleContents(
            address: address, name: report.name, records: report.records.count,
            newest: newest.map { BottleContents.Record(wall: $0.wall?.description, ml: $0.amountMl) })
    }

    private func notifyUnadopted(_ bottles: [BottleInRange]) async {
        let tracker = await tracker.tracker()
        for bottle in bottles where logged.count < Self.maximumLogged && logged.insert(bottle.address).inserted {
            log.notice("Bottle in range: \(bottle.text). If it is yours: waterh-gateway adopt \(bottle.address)")
        }
        do {
            try tracker.store.recordInRange(bottles.map(\.address), at: tracker.now)
            let notes = try tracker.store.inRangeBottles()
            let waiting = bottles.first { bottle in
                notes.since[bottle.address].map { $0.seconds(to: tracker.now) >= Self.secondsUntilNotification } == true
            }
            if let waiting, !notes.isNotified, await notify(.unadopted(waiting, tracker)) {
                try tracker.store.recordInRangeNotified()
            }
        } catch {
            log.warning("Storing the bottles in range failed: \(error)")
        }
    }
}

extension TrackerNotification {
    fileprivate static func unadopted(_ bottle: BottleInRange, _ tracker: TrackerAPI) -> TrackerNotification {
        TrackerNotification(
            kind: .unadopted, notificationId: "\(NotificationKind.unadopted.id)/\(bottle.address)/1",
            title: "Is this your bottle?",
            body: """
                \(bottle.name ?? bottle.address) has been in range for 7 days. Open the Bottle page to add it, or \
                choose "Not mine".
                """,
            urgency: .low, sound: false, dayKey: DayCalendar(zone: tracker.zone).date(of: tracker.now),
            acceptance: .none)
    }
}
