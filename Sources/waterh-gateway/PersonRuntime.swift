import CommandSupport
import Notifications
import Gateway
import WebServer
import Logging
import HomeAssistant
import Store
import TrackerService
import Synchronization
import TrackerCore

/// The store of the running service, with the interfaces that publish its data.
final class PersonRuntime: Sendable {
    let store: TrackerStore
    let tracker: ServiceStore
    let pollHistory = PollHistory()
    let log: Logger
    let plan: ServicePlan
    /// Reports writes to the store; `nil` if inotify is unavailable.
    let watch: StoreWatch?
    private let logContext = PollLogContext()
    private let viewers: ActiveViewers
    /// The notification channel of the open pages.
    private let pageSink = EventSink()
    private let mqttChannel = MQTTChannel()
    private let mqttNotifications: BufferedSink
    private let activePublisher = Mutex<MQTTPublisher?>(nil)
    private let senders: [NotificationSender]
    let reminders: ReminderLoop
    private let sinks: [any NotificationSink]
    private let lights = LightTrigger()
    private let desktop: ServiceDesktop?
    private let agents = AgentSink()
    private let pages: PageAddress?

    /// - Parameter desktopPages: the page that desktop notifications open; `nil` for no desktop notifications.
    init(
        _ plan: ServicePlan, _ provider: StoreProvider, supervisor: Supervisor, log: Logger, clock: DriverClock,
        desktopPages: PageAddress?
    ) {
        (self.plan, store, self.log) = (plan, provider.store, log)
        watch = provider.store.path == ":memory:" ? nil : StoreWatch(provider.store.path)
        viewers = ActiveViewers(now: clock.now)
        let tracker = ServiceStore(
            provider: provider, plan: plan, supervisor: supervisor, log: log, logContext: logContext, viewers: viewers,
            now: clock.now
        )
        self.tracker = tracker
        let shown = ShownNotifications(
            file: ServiceSocket.file(forStore: provider.store.path, "notices.json"),
            userID: { [store = provider.store] in (try? store.profile()).map { $0?.userID ?? "" } })
        let desktop = desktopPages.map { _ in DesktopNotifications(memory: shown) }
        // Notifications go to the desktop of the service, or to a program of the user's session.
        let bufferedSink = BufferedSink(
            FallbackSink("desktop", (desktop.map { [$0] } ?? []) + [agents]), tracker: { await tracker.tracker() },
            wasShown: { shown.wasRecentlyShown($0.announcement) }
        ) { log.notice("\($0)") }
        pages = desktopPages
        senders = Self.senders(provider.store, plan, watch, log: log)
        mqttNotifications = BufferedSink(
            mqttChannel,
            CatchUpRule(skipsOutdated: false) { [store = provider.store] in plan.sharesWaterline(store) },
            tracker: { await tracker.tracker() })
        sinks = [pageSink, mqttNotifications, bufferedSink] + senders
        let reminders = ReminderLoop(
            sinks: sinks, tracker: { await tracker.tracker() },
            reportError: { log.warning("Reminders: \($0)") },
            afterEvaluation: { [lights] in await lights.pollIfDue($0) },
            sleep: { try? await Task.sleep(for: $0 / Machine.speed) })
        self.reminders = reminders
        self.desktop = desktopPages.flatMap { pages in
            desktop.map {
                ServiceDesktop(
                    desktop: $0, tracker: tracker, reminders: reminders, page: pages, instance: plan.instance, log: log,
                    presses: ServiceSocket.file(forStore: provider.store.path, "service-taps.json"))
            }
        }
    }

    /// Stores whether Waterline is shared. It must run before any notification, because unshared ones are not sent.
    private func saveSharing() {
        do { try store.recordSharing(plan.sharesWaterline(store)) } catch {
            log.warning("Saving whether Waterline is shared failed: \(error)")
        }
    }

    /// Runs reminders, sync, MQTT, notifications and the state file until cancelled.
    func run(_ page: Person) async {
        let (tracker, log) = (tracker, log)
        let sync = SyncLoop(tracker: { await tracker.tracker() }, report: { Self.log($0, log) })
        await desktop?.connectCallbacks()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.reminders.run() }
            if let desktop { group.addTask { await desktop.object.run() } }
            if let watch { group.addTask { await self.reminders.follow(watch.writes) } }
            group.addTask { await sync.run() }
            for sender in senders { group.addTask { await sender.run { await self.reminders.checkNow() } } }
            if let activePublisher = activePublisher.withLock({ $0 }) { group.addTask { await activePublisher.run() } }
            group.addTask { await self.importInbox() }
            if store.stateFile != nil {
                group.addTask {
                    await page.updateStateFile(self.watch, every: DayObserver.longestPause / Machine.speed) {
                        log.warning("\($0)")
                    }
                }
            }
        }
        pageSink.setPerson(nil)
        lights.connect(to: nil)
        await desktop?.stop()
    }

    /// The callbacks of a poll, which log its messages and update the metrics.
    func callbacks(_ connectionEvents: AsyncStream<ConnectionEvent>.Continuation) -> GatewayDriver.Callbacks {
        let (pollHistory, logContext, log) = (pollHistory, logContext, log)
        var callbacks = GatewayDriver.Callbacks(tracker: { [plan, store] in
            try plan.tracker(of: store, source: "gateway")
        })
        callbacks.diagnostic = {
            pollHistory.show($0)
            log.log(
                level: $0.severity == .warning ? .warning : .debug, "\(PollAdvice.text($0))",
                metadata: logContext.metadata)
        }
        callbacks.progress = { pollHistory.show($0) }
        callbacks.bottleReported = { connectionEvents.yield(.reported) }
        callbacks.connectionLost = {
            pollHistory.connectionLost()
            connectionEvents.yield(.lost)
        }
        return callbacks
    }

    /// Shows a notification that is not a reminder.
    /// - Returns: whether a channel has shown it.
    func notify(_ notification: TrackerNotification) async -> Bool {
        var isShown = false
        for sink in sinks where await sink.canShow() { isShown = await sink.deliver(notification) || isShown }
        return isShown
    }

    func afterPoll(_ report: PollReport, _ options: PollOptions) async {
        await tracker.afterPoll(report, options)
        await reminders.checkNow()
        await activePublisher.withLock { $0 }?.checkNow()
    }

    func page(_ service: PollService, _ scanner: BottleScanner) -> Person {
        let (store, reminders, client) = (store, reminders, client(service, scanner))
        lights.connect(to: service)
        let publisher = mqttPublisher(mqttChannel, mqttNotifications, client, canNotify: { reminders.hasReceivers }) {
            await reminders.checkNow()
        }
        saveSharing()
        // Prepare before the first poll, so that its drinks are published.
        publisher.prepare()
        activePublisher.withLock { $0 = publisher }
        let person = Person(
            name: plan.instance ?? Person.unnamed, service: client, agents: agents,
            page: { [pages] in pages?.page("") },
            sharesWaterline: { [plan] in plan.sharesWaterline(store) },
            storeChanged: { await reminders.checkNow() }
        ) { [self] in
            try plan.tracker(of: store, source: "http", canNotify: reminders.hasReceivers)
        }
        pageSink.setPerson(person)
        return person
    }

    private func client(_ service: PollService, _ scanner: BottleScanner) -> ServiceClient {
        let (pollHistory, tracker, store, viewers) = (pollHistory, tracker, store, viewers)
        var client = ServiceClient(
            status: {
                let onboardedAt = (try? store.profile()?.onboardedAt) ?? nil
                var status = await pollHistory.status(
                    next: await service.untilNextPoll, setupDone: onboardedAt != nil,
                    version: ProgramVersion.text)
                status.bottlesInRange = await scanner.found
                if Machine.accelerationLead != nil { status.speed = Machine.speed }
                return status
            },
            pollNow: { await service.pollNow() },
            recentPolls: { await pollHistory.recent },
            send: { arguments in
                let options: PollOptions
                do {
                    options = try await tracker.commandOptions(arguments)
                } catch let failure as CommandFailure {
                    throw WrongInput("notACommand", failure.sentence)
                }
                let report = await service.run(options)
                if let failure = report.failure {
                    throw Refusal("bottle", "\(failure.headline): \(sentence(failure.sentence))")
                }
                return report.answers.map { $0.sent ? Send.text($0) : "The bottle rejected the write." }.joined(
                    separator: " ")
            },
            noteViewer: { event in
                switch event {
                case .begins: if viewers.begin() { await service.wake() }
                case .once: if viewers.recordRequest() { await service.wake() }
                case .ends: viewers.end()
                }
            })
        client.scan = { try await scanner.scan() }
        client.readContents = { try await scanner.readContents($0) }
        return client
    }

    private static func log(_ event: SyncLoop.Event, _ log: Logger) {
        switch event {
        case .failed(let reason): log.warning("Sync: \(reason)")
        case .continues: log.notice("Sync continues.")
        case .refused(let rows):
            log.warning(
                "\(counted(rows, "row")) of the sync server could not be stored. See: waterh-tracker check --doctor"
            )
        }
    }
}
