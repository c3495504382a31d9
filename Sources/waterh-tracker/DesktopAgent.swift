import ArgumentParser
import CommandSupport
import Foundation
import Notifications
import TrackerCore
import TrackerService
import Utilities

struct Agent: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "agent",
        abstract: "Show the service's notifications on this desktop",
        discussion: """
            A system service has no desktop. Run this program in the desktop session: it shows the service's \
            notifications, and sends pressed buttons to the service. It waits for the service and for a notification \
            server.
            """)
    @OptionGroup var options: LocationOptions
    @OptionGroup var logOptions: ServiceLogOptions

    func run() async throws {
        let signals = StopSignals.stream()
        logOptions.redirectDiagnostics("waterh-tracker")
        let file = try Configuration.load(options.config)
        let location = try StoreLocation.find(options.store, file)
        let agent = DesktopAgent(store: location.path, instance: file.instance)
        let work = Task { await agent.run() }
        var stopped = ExitStatus.done
        for await signal in signals {
            stopped = StopSignals.status(for: signal)
            break
        }
        work.cancel()
        await work.value
        if stopped != .done { throw ExitCode(stopped.rawValue) }
    }
}

/// Shows the service's notifications on the desktop, and reports shown ones and pressed buttons to the service.
actor DesktopAgent {
    private static let (shortestPause, longestPause) = (Duration.seconds(1), Duration.seconds(30))

    /// The age from which a press is sent with its time.
    private static let lateAge = Duration.seconds(30)

    private let store: String
    private let instance: String?
    private let desktop: DesktopNotifications
    private var page: String?
    private let pause = Pause()
    private var lastProblem: String?
    private let presses: PendingActions
    private var isSendingPresses = false
    /// Whether the agent has reported that there is no desktop.
    private var hasReportedNoDesktop = false
    /// The key of the queued press whose error was reported.
    private var reportedPress: String?

    /// Creates an agent for the service that uses this store.
    /// - Parameter instance: the service's instance name, which is a part of the D-Bus names.
    init(store: String, instance: String?) {
        (self.store, self.instance) = (store, instance)
        desktop = DesktopNotifications(
            memory: ShownNotifications(file: ServiceSocket.file(forStore: store, "notices.json")))
        presses = PendingActions(file: ServiceSocket.file(forStore: store, "taps.json"))
    }

    /// Runs until its task is cancelled.
    func run() async {
        var callbacks = DesktopNotifications.Callbacks()
        callbacks.log = { Diagnostics.line($0) }
        callbacks.warn = { Diagnostics.warning($0) }
        callbacks.actionInvoked = { await self.pressed($0) }
        callbacks.serverAppeared = { [pause] in pause.end() }
        await desktop.connectCallbacks(callbacks)
        let object = SessionObject(instance: instance) { try await self.perform($0) }
        let offering = Task { await object.run() }
        defer { offering.cancel() }
        var backoff = Backoff(first: Self.shortestPause, longest: Self.longestPause)
        while !Task.isCancelled {
            // Register with the service only if the desktop is available.
            guard await desktop.canShow() else {
                reportNoDesktop()
                await wait(Self.longestPause)
                continue
            }
            hasReportedNoDesktop = false
            if await listen() { backoff.reset() }
            guard !Task.isCancelled else { break }
            await wait(backoff.next(jitter: 1))
        }
        await desktop.stop()
    }

    private func reportNoDesktop() {
        guard !hasReportedNoDesktop, !Task.isCancelled else { return }
        hasReportedNoDesktop = true
        Diagnostics.line(
            SessionBus.find() == nil
                ? """
                No session bus: waiting for a desktop session. Its address is DBUS_SESSION_BUS_ADDRESS or \
                $XDG_RUNTIME_DIR/bus.
                """
                : "No notification server on the session bus: waiting for one.")
    }

    /// Handles the service's stream until the service or the desktop's server has gone.
    /// - Returns: whether there was a service.
    private func listen() async -> Bool {
        var agent: String?
        do {
            for try await event in service.events("/api/v1/agent") {
                let data = Data(event.data.utf8)
                switch event.name {
                case "hello":
                    let hello = try JSONDecoder().decode(Hello.self, from: data)
                    (agent, page, lastProblem) = (hello.agent, hello.page, nil)
                    Diagnostics.line("Showing the notifications of the service of \(store) on this desktop.")
                    await sendPresses()
                case "show":
                    guard let agent else { continue }
                    let announcement = try JSONDecoder().decode(Announcement.self, from: data)
                    let isShown = await desktop.show(announcement)
                    _ = try await post(
                        "/api/v1/agent/shown",
                        ["agent": .string(agent), "id": .string(announcement.id), "shown": .bool(isShown)])
                    if !isShown, await !desktop.canShow() { return true }
                case "close": await desktop.close(id: try JSONDecoder().decode(Close.self, from: data).id)
                default: break
                }
            }
        } catch {
            let sentence = (error as? CommandFailure)?.sentence ?? "The service at \(service.path): \(error)"
            if lastProblem != sentence, !Task.isCancelled {
                Diagnostics.warning("\(sentence) It is retried automatically.")
            }
            lastProblem = sentence
        }
        return agent != nil
    }

    private struct Hello: Decodable {
        var agent: String
        var page: String?
    }

    private struct Close: Decodable { var id: String }
    private struct Done: Decodable { var done: Bool }

    /// The service's socket. It is found again for each use, because the service can restart.
    private var service: ServiceSocket { ServiceSocket(path: ServiceSocket.path(forStore: store)) }

    private func pressed(_ press: DesktopPress) async {
        for lost in presses.append(press) {
            Diagnostics.warning("\(lost.logText): dropped, because too many actions are queued")
        }
        await sendPresses()
    }

    /// Sends queued presses to the service in order, as soon as it is available. Their keys prevent duplicates.
    private func sendPresses() async {
        guard !isSendingPresses else { return }
        isSendingPresses = true
        defer { isSendingPresses = false }
        while let press = presses.first {
            do {
                let isDone = try await send(press)
                presses.remove(press)
                if isDone, press.press.action == .open { await open(press.press) }
            } catch let failure as CommandFailure where failure.status != .refused {
                if reportedPress != press.press.key {
                    Diagnostics.warning("\(press.logText): \(failure.sentence) It is retried automatically.")
                }
                reportedPress = press.press.key
                return
            } catch {
                presses.remove(press)
                Diagnostics.warning("\(press.logText): \((error as? CommandFailure)?.sentence ?? "\(error)")")
            }
        }
    }

    /// Sends a press to the service. Returns `false` if the press was a duplicate.
    private func send(_ press: PendingActions.ButtonPress) async throws -> Bool {
        var body = [
            JSONValue.Member("action", .string(press.press.action.rawValue)), .init("key", .string(press.press.key)),
        ]
        let waited = press.age
        if waited >= Self.lateAge { body.append(.init("at", .string((Date() - waited / .seconds(1)).ISO8601Format()))) }
        let answer = try await post("/api/v1/agent/press", .object(body), source: DrinkSource.notification.rawValue)
        return try JSONDecoder().decode(Done.self, from: answer).done
    }

    private func open(_ press: DesktopPress) async {
        guard let page else { return Diagnostics.line("cannot open the page: the service has switched it off") }
        await desktop.open(page + press.kind.page, token: press.activationToken)
    }

    /// Performs an action of the D-Bus object by the service.
    private func perform(_ action: SessionObject.Action) async throws -> String {
        func post(_ target: String, _ body: JSONValue = [:]) async throws -> Data {
            try await self.post("/api/v1/session" + target, body, source: DrinkSource.dbus.rawValue)
        }
        do {
            let answer: Data
            switch action {
            case .logDrink(let preset):
                answer = try await post("/drink", preset.map { ["preset": .string($0)] as JSONValue } ?? [:])
            case .logWater: answer = try await post("/water")
            case .startSession:
                _ = try await post("")
                answer = try await onThread { try $0.get("/api/v1/session") }
            case .endSession: answer = try await post("/end")
            case .getState: answer = try await onThread { try $0.get("/api/v1/state") }
            }
            return String(decoding: answer, as: UTF8.self)
        } catch let failure as CommandFailure {
            // Return the service's message without the advice of the command line.
            throw Refusal(
                failure.code ?? "failed", failure.sentence, category: failure.status == .refused ? .refused : .failed)
        }
    }

    private func post(_ target: String, _ body: JSONValue, source: String? = nil) async throws -> Data {
        try await onThread { try $0.post(target, body, by: source) }
    }

    /// Runs a blocking closure on another thread.
    private func onThread(_ body: @escaping @Sendable (ServiceSocket) throws -> Data) async throws -> Data {
        let service = service
        return try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Result { try body(service) }) }
        }
    }

    private func wait(_ length: Duration) async { await pause.wait { try? await Task.sleep(for: length) } }
}
