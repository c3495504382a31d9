import Bluetooth
import BottleProtocol
import CommandSupport
import Gateway
import Logging
import Store
import TrackerCore
import TrackerService

/// The store of the running service, with its current settings and time zone.
actor ServiceStore {
    /// The open store with the settings and time zone that were read last.
    private var provider: StoreProvider
    private let plan: ServicePlan
    private let systemd: SystemdNotifier
    private let log: Logger
    nonisolated let logContext = PollLogContext()
    nonisolated let viewers: ActiveViewers
    private let now: @Sendable () -> MonotonicInstant
    private var settingsError: String?
    private var problems: [PollTarget.ID: PollFailure.Kind] = [:]
    private var targets: [PollTarget] = []
    private var ownBottles: [AdoptedBottle] = []
    private var isMissingLogged = false
    /// Whether a poll has ended since the service started, or the service has no bottle to poll.
    private var isFirstPollOver = false

    init(
        _ provider: StoreProvider, _ plan: ServicePlan, _ systemd: SystemdNotifier, _ log: Logger,
        now: @escaping @Sendable () -> MonotonicInstant
    ) {
        (self.provider, self.plan, self.systemd, self.log, self.now) = (provider, plan, systemd, log, now)
        viewers = ActiveViewers(now: now)
    }

    /// The application API with the current time, for uses other than polls.
    func tracker(source: String = "gateway", canNotify: Bool = false) -> TrackerAPI {
        reread()
        let log = log
        var tracker = provider.tracker(source: source, canNotify: canNotify, warn: { log.warning("\($0)") })
        tracker.context.reminderHold =
            (try? tracker.isFirstVisit()) == true ? .setup : isFirstPollOver ? nil : .firstPoll
        return tracker
    }

    func commandOptions(_ arguments: [String]) async throws -> PollOptions {
        var options = try await pollOptions()
        options.job = .send([try BottleCommandParser.command(arguments, zone: options.zone, now: Machine.now())])
        options.bottle = AdoptedBottle.resolvingAlias(plan.bottles.first, among: options.ownBottles)
        options.allowPowerCycle = plan.link.allowPowerCycle
        return options
    }

    func scheduledBottles() -> [ScheduledBottle] {
        reread()
        if let found = try? provider.tracker().adoptedBottles() { ownBottles = found }
        // A capture is not a bottle of the store.
        let ownBottles = isReplay ? [] : ownBottles
        targets = PollTarget.all(
            selectedBottles: plan.bottles.compactMap { AdoptedBottle.resolvingAlias($0, among: ownBottles) },
            ownBottles: ownBottles, adoptsFirst: !plan.hasNeighbours)
        logAdoption(isMissing: targets.isEmpty)
        if targets.isEmpty { isFirstPollOver = true }
        let interval = try? provider.tracker().pollSchedule()
        return targets.map { ScheduledBottle($0, interval: interval, holdRequest: holdRequest($0, interval)) }
    }

    private func logAdoption(isMissing: Bool) {
        guard isMissing != isMissingLogged else { return }
        isMissingLogged = isMissing
        if isMissing {
            log.notice(
                """
                No bottle is adopted: the service only scans. Adopt one on the page, or: waterh-gateway adopt ADDRESS
                """)
        }
    }

    func isUnadopted() -> Bool { scheduledBottles().isEmpty }

    /// The options of a poll by the current settings. A scan uses only their time limits.
    func pollOptions() async throws -> PollOptions {
        reread()
        return try await provider.pollOptions(dialect: plan.dialect)
    }

    func bottlesElsewhere() -> Set<String> { Adoption.bottlesOfOtherServices(than: provider.store.path) }

    /// The request to keep the bottle's connection after a poll, by the setting `bottle.hold`.
    private func holdRequest(_ bottle: PollTarget, _ interval: PollSchedule?) -> HoldRequest? {
        let own = bottle.ownBottles.count == 1 ? bottle.ownBottles[0].settings : nil
        guard !isReplay, (own?.mode ?? (try? provider.store.settings().bottle.mode)) != .share,
            let hold = own?.hold ?? (try? provider.store.settings().bottle.hold)
        else { return nil }
        return HoldRequest(hold, viewers: viewers.until, interval: interval, now: now())
    }

    /// The poll options; `nil` if the store cannot be read, because a poll could empty another person's bottle.
    func options(_ bottle: PollTarget) async -> PollOptions? {
        logContext.begin(bottle.name)
        guard var options = try? await pollOptions() else { return nil }
        options.isAcknowledgementDisabled = plan.keep
        options.allowPowerCycle = plan.link.allowPowerCycle
        if plan.trustsClock { options.isClockSynchronised = true }
        if options.ownBottles.isEmpty { options.bottlesOfOtherServices = bottlesElsewhere() }
        if isReplay { options.markAsReplay() }
        return options
    }

    private var isReplay: Bool { if case .capture? = try? plan.link.name { true } else { false } }

    func afterPoll(_ report: PollReport, _ options: PollOptions) {
        isFirstPollOver = true
        // A failure counts as a connection problem only if the polls of all bottles fail.
        let id = targets.first { $0.ownBottles == options.ownBottles && $0.selectedBottle == options.bottle }?.id ?? ""
        problems[id] = report.failure?.kind
        let isConclusive = report.failure == nil || targets.allSatisfy { problems[$0.id] != nil }
        let (log, metadata) = (log, logContext.metadata())
        provider.tracker(warn: { log.warning("\($0)", metadata: metadata) }).afterPoll(
            report, isLive: isConclusive && !isReplay)
        logNextPoll()
    }

    private func logNextPoll() {
        switch try? provider.tracker().pollSchedule() {
        case .every(let seconds): log.debug("Next poll in \(Int(seconds)) s.")
        case .paused: log.debug("Next poll when drinking hours begin.")
        case nil: break
        }
    }

    /// Reads the settings and the time zone again, because other processes can change them.
    private func reread() {
        do {
            provider = try provider.reread(zone: plan.zone)
            settingsError = nil
        } catch {
            // The error is reported once. Polls continue with the last settings.
            if settingsError != "\(error)" { log.warning("Reading the settings failed: \(error)") }
            settingsError = "\(error)"
        }
    }

    /// Logs one line per event. Errors are logged once until they change.
    func report(_ message: ServiceMessage) {
        switch message {
        case .failed(let bottle, let failure, let isNew):
            systemd.notify(status: failure.headline)
            guard isNew else { return }
            var metadata = logContext.metadata(bottle: bottle.name)
            metadata["code"] = "\(failure.kind.rawValue)"
            log.error(
                "\(failure.headline): \(asSentence(failure.sentence)) \(PollAdvice.about(failure))", metadata: metadata)
        case .respondsAgain(let bottle):
            log.notice("The bottle responds again.", metadata: logContext.metadata(bottle: bottle.name))
        case .adopted(_, let report):
            if let line = PollText.adoption(report) {
                log.notice("\(line)", metadata: logContext.metadata(bottle: report.identity ?? report.bottle))
            }
        case .receivedRecords(_, let report):
            let lines = PollText.lines(report, state: try? provider.tracker().state())
            log.notice(
                "\(lines.map { $0.hasSuffix(".") ? $0 : $0 + "." }.joined(separator: " "))",
                metadata: logContext.metadata(of: report))
            systemd.notify(status: "\(counted(report.received, "record")) in the last poll with data")
        }
    }
}
