import Bluetooth
import CommandSupport
import Gateway
import HomeAssistant
import Logging
import Notifications
import PostgreSQL
import Store
import TrackerCore
import TrackerService
import WebServer

/// The running service: one store, one link, the polls, and the interfaces that publish their results.
final class ServiceHost: Sendable {
    let store: TrackerStore
    let tracker: ServiceStore
    let app: WebApp
    let address = PageAddress()
    private let polls: PollService
    private let pollHistory: PollHistory
    private let driver: GatewayDriver
    private let desktop: ServiceDesktop?
    /// The notification channel of the open pages.
    private let pageSink = PageSink()
    private let work: [Task<Void, Never>]

    /// Opens the store and the link, and starts polling.
    /// - Parameters:
    ///   - hasDesktop: whether notifications go to the desktop of this session.
    ///   - open: opens the link.
    init(
        _ plan: ServicePlan, _ systemd: SystemdNotifier, log: Logger, hasDesktop: Bool = true,
        open: (LinkOptions) throws -> any CentralLink = { try $0.open() }
    ) throws {
        let provider = try StoreProvider(plan.store, zone: plan.zone)
        let store = provider.store
        let central = try open(plan.link)
        log.debug(
            """
            Service on \(central.name)\(plan.link.allowPowerCycle ? ", power cycling allowed" : "")\
            \(plan.trustsClock ? "; the clock is trusted" : "").
            """)
        let clock = DriverClock.system(wall: { Machine.now() })
        let pollHistory = PollHistory()
        // Reports writes to the store; `nil` if inotify is unavailable.
        let watch = store.path == ":memory:" ? nil : StoreWatch(store.path)
        let tracker = ServiceStore(provider, plan, systemd, log, now: clock.now)
        if store.path != ":memory:", ServiceSocket(path: ServiceSocket.listeningPath(forStore: store.path)).isAnswering
        {
            log.warning(
                """
                Another service uses this store. Both poll, and each record is stored once, but only one of them can \
                connect to a broker. Stop one of them.
                """)
        }
        let (events, eventContinuation) = AsyncStream.makeStream(
            of: ConnectionEvent.self, bufferingPolicy: .bufferingNewest(16))
        let (endedPolls, endedPollsReceiver) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let callbacks = Self.callbacks(plan, store, pollHistory, tracker.logContext, eventContinuation, log)
        let recorder = PollRecorder()
        let driver = GatewayDriver(link: central, clock: clock) { recorder.record($0) }
        let polls = PollService(
            PollService.Dependencies(
                loadBottles: { await tracker.scheduledBottles() }, options: { await tracker.options($0) },
                poll: { options in
                    if options.job == .disconnect, await !driver.isKeepingConnection { return PollReport() }
                    pollHistory.begin()
                    let journal: any Journal = options.job == .inspect ? NoJournal() : store
                    let report = await driver.poll(options, journal: journal, callbacks: callbacks)
                    if let problem = recorder.end(report, nextTo: store.path, clock) {
                        log.warning("Saving the capture of the poll failed: \(problem)")
                    }
                    await pollHistory.end(report, isPoll: options.job == .poll, at: Machine.now())
                    return report
                },
                isConnected: { await driver.isKeepingConnection },
                isPollOnTime: { await driver.isOnTime(grace: $0) },
                afterPoll: {
                    await tracker.afterPoll($0, $1)
                    endedPollsReceiver.yield()
                },
                log: { await tracker.report($0) }), clock: clock)

        let shown = ShownNotifications(
            file: ServiceSocket.file(forStore: store.path, "notices.json"),
            userID: { (try? store.profile()).map { $0?.userID ?? "" } })
        let desktop = hasDesktop ? DesktopNotifications(history: shown) : nil
        let (agents, mqttChannel) = (AgentSink(), MQTTChannel())
        let sharesWaterline: @Sendable () -> Bool = { plan.sharesWaterline(store) }
        let mqttNotifications = BufferedSink(
            mqttChannel, CatchUpRule(skipsOutdated: false, sharesWaterline: sharesWaterline),
            tracker: { await tracker.tracker() })
        // Notifications go to the desktop of the service, or to a program of the user's session.
        let desktopNotifications = BufferedSink(
            FallbackSink("desktop", (desktop.map { [$0] } ?? []) + [agents]), tracker: { await tracker.tracker() },
            wasShown: { shown.wasRecentlyShown($0.announcement) }
        ) { log.notice("\($0)") }
        let senders = plan.senders(store, watch, log: log)
        let sinks: [any NotificationSink] = [pageSink, mqttNotifications, desktopNotifications] + senders
        let lights = LightTrigger(polls)
        let reminders = ReminderLoop(
            sinks: sinks, tracker: { await tracker.tracker() }, reportError: { log.warning("Reminders: \($0)") },
            afterEvaluation: { await lights.pollIfDue($0) }, sleep: { try? await Task.sleep(for: $0 / Machine.speed) })
        let scanner = BottleScanner(polls, tracker, log: log) { notification in
            var isShown = false
            for sink in sinks where await sink.canShow() { isShown = await sink.deliver(notification) || isShown }
            return isShown
        }
        let client = Self.client(polls, scanner, tracker, store, pollHistory)
        // Store this before any notification, because unshared ones are not sent.
        do { try store.recordSharing(sharesWaterline()) } catch {
            log.warning("Saving whether Waterline is shared failed: \(error)")
        }
        let publisher = MQTTPublisher(
            plan.mqttDependencies(store, client, reminders, watch, log: log), channel: mqttChannel,
            notifications: mqttNotifications)
        // Prepare before the first poll, so that its drinks are published.
        publisher.prepare()
        let postgres = plan.postgresPublisher(store, watch, log: log)
        postgres?.prepare()
        let app = WebApp(
            name: plan.instance ?? WebApp.defaultName, service: client, agents: agents,
            page: { [address] in hasDesktop ? address.page("") : nil }, sharesWaterline: sharesWaterline,
            storeChanged: { await reminders.checkNow() }
        ) { try plan.tracker(of: store, source: "http", canNotify: reminders.hasReceivers) }
        pageSink.setApp(app)
        let serviceDesktop = desktop.map { [address] in
            ServiceDesktop(
                desktop: $0, tracker: tracker, reminders: reminders, page: address, instance: plan.instance, log: log,
                presses: ServiceSocket.file(forStore: store.path, "service-taps.json"))
        }
        let sync = SyncLoop(tracker: { await tracker.tracker() }, log: log)
        (self.store, self.tracker, self.app, self.polls, self.driver) = (store, tracker, app, polls, driver)
        (self.pollHistory, self.desktop) = (pollHistory, serviceDesktop)
        let tasks: [Task<Void, Never>] = [
            Task { await polls.run() },
            Task {
                for await event in events { await event == .lost ? polls.connectionLost() : polls.bottleReported() }
            },
            Task {
                for await _ in endedPolls {
                    await reminders.checkNow()
                    await publisher.checkNow()
                    await postgres?.checkNow()
                }
            },
            Task { await scanner.run() },
            Task {
                await serviceDesktop?.connectCallbacks()
                await reminders.run()
            },
            Task { await serviceDesktop?.object.run() },
            Task { if let watch { await reminders.follow(watch.writes) } },
            Task { await sync.run() }, Task { await publisher.run() },
            Task { await postgres?.run() },
            Task { await Self.importInbox(tracker, reminders, log) },
            Task {
                guard store.stateFile != nil else { return }
                await app.updateStateFile(watch, every: DayObserver.longestPause / Machine.speed) {
                    log.warning("\($0)")
                }
            },
        ]
        work = tasks + senders.map { sender in Task { await sender.run { await reminders.checkNow() } } }
    }

    /// The callbacks of a poll, which log its messages and update the metrics.
    private static func callbacks(
        _ plan: ServicePlan, _ store: TrackerStore, _ pollHistory: PollHistory, _ logContext: PollLogContext,
        _ connectionEvents: AsyncStream<ConnectionEvent>.Continuation, _ log: Logger
    ) -> GatewayDriver.Callbacks {
        var callbacks = GatewayDriver.Callbacks(tracker: { try plan.tracker(of: store, source: "gateway") })
        callbacks.diagnostic = {
            pollHistory.show($0)
            log.log(
                level: $0.severity == .warning ? .warning : .debug, "\(PollAdvice.text($0))",
                metadata: logContext.metadata())
        }
        callbacks.progress = { pollHistory.show($0) }
        callbacks.bottleReported = { connectionEvents.yield(.reported) }
        callbacks.connectionLost = {
            pollHistory.connectionLost()
            connectionEvents.yield(.lost)
        }
        return callbacks
    }

    private static func client(
        _ polls: PollService, _ scanner: BottleScanner, _ tracker: ServiceStore, _ store: TrackerStore,
        _ pollHistory: PollHistory
    ) -> ServiceClient {
        let viewers = tracker.viewers
        var client = ServiceClient(
            status: {
                let onboardedAt = (try? store.profile()?.onboardedAt) ?? nil
                var status = await pollHistory.status(
                    next: await polls.untilNextPoll, setupDone: onboardedAt != nil, version: ProgramVersion.text)
                status.bottlesInRange = await scanner.found
                if Machine.accelerationLead != nil { status.speed = Machine.speed }
                return status
            },
            pollNow: { await polls.pollNow() },
            recentPolls: { await pollHistory.recent },
            send: { arguments in
                let options: PollOptions
                do {
                    options = try await tracker.commandOptions(arguments)
                } catch let failure as CommandFailure {
                    throw WrongInput("notACommand", failure.sentence)
                }
                let report = await polls.run(options)
                if let failure = report.failure {
                    throw Refusal("bottle", "\(failure.headline): \(asSentence(failure.sentence))")
                }
                return report.responses.map { $0.sent ? Send.text($0) : "The bottle rejected the write." }.joined(
                    separator: " ")
            },
            reportViewer: { event in
                switch event {
                case .begins: if viewers.begin() { await polls.wake() }
                case .once: if viewers.recordRequest() { await polls.wake() }
                case .ends: viewers.end()
                }
            })
        client.scan = { try await scanner.scan() }
        client.readContents = { try await scanner.readContents($0) }
        return client
    }

    func pollNow() async { await polls.pollNow() }

    func metrics() async -> String {
        await pollHistory.metrics(
            of: try? TrackerAPI.adoptedBottles(of: store), store: (store.bytes, try? store.outboxDepth()))
    }

    /// Whether polls meet their deadlines.
    var isOnTime: Bool { get async { await polls.isOnTime() } }

    func close() async {
        for task in work { task.cancel() }
        for task in work { await task.value }
        pageSink.setApp(nil)
        await desktop?.stop()
        // Close in a new task, which a cancelled caller does not cancel.
        await Task { await driver.close() }.value
    }
}

extension ServiceHost {
    /// The interval between checks of the health import directory.
    private static let inboxInterval = Duration.seconds(60)

    static func importInbox(_ tracker: ServiceStore, _ reminders: ReminderLoop, _ log: Logger) async {
        var reported: Set<String> = []
        while !Task.isCancelled {
            var current: Set<String> = []
            do {
                for report in try await tracker.tracker(source: "import").importInbox() {
                    if report.trouble == nil {
                        log.notice("Health: \(report.summary)")
                        await reminders.checkNow()
                    } else {
                        current.insert(report.summary)
                    }
                }
            } catch {
                current.insert(asSentence("\(error)"))
            }
            for problem in current.subtracting(reported) { log.warning("Health: \(problem)") }
            reported = current
            try? await Task.sleep(for: inboxInterval)
        }
    }
}
