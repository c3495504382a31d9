import ArgumentParser
import CommandSupport
import Foundation
import Notifications
import TrackerCore
import TrackerService
import Utilities

struct Agent: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "agent", abstract: "Show the service's notifications on this desktop",
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
        let (file, location) = try options.load()
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

    private let store: String
    private let instance: String?
    private let desktop: DesktopNotifications
    private var page: String?
    private let pause = Pause()
    private var lastProblem: String?
    private lazy var presses = ActionQueue(
        file: ServiceSocket.file(forStore: store, "taps.json"), log: { Diagnostics.warning($0) }
    ) { try await self.send($0) }
    private var hasReportedNoDesktop = false

    /// Creates an agent for the service that uses this store.
    /// - Parameter instance: the service's instance name, which is a part of the D-Bus names.
    init(store: String, instance: String?) {
        (self.store, self.instance) = (store, instance)
        desktop = DesktopNotifications(
            history: ShownNotifications(file: ServiceSocket.file(forStore: store, "notices.json")))
    }

    /// Runs until its task is cancelled.
    func run() async {
        var callbacks = DesktopNotifications.Callbacks()
        callbacks.log = { Diagnostics.line($0) }
        callbacks.warn = { Diagnostics.warning($0) }
        callbacks.actionInvoked = { [presses] in await presses.keep($0) }
        callbacks.serverAppeared = { [pause] in pause.end() }
        await desktop.connectCallbacks(callbacks)
        let object = TrackerObject(instance: instance) { try await self.perform($0) }
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
        await presses.stop()
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

    /// Handles the service's events until the service or the notification server disconnects.
    /// - Returns: whether the service responded.
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
                    Task { await presses.performQueued() }
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
            let reason = (error as? CommandFailure)?.sentence ?? (error as? Refusal)?.sentence
            let sentence = reason ?? "The service at \(service.path): \(error)"
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

    /// Sends a press to the service. Its key prevents duplicates.
    private func send(_ press: DesktopPress) async throws {
        var body = [JSONValue.Member("action", .string(press.action.rawValue)), .init("key", .string(press.key))]
        if let delay = press.delay { body.append(.init("at", .string((Date() - delay).ISO8601Format()))) }
        let answer = try await post("/api/v1/agent/press", .object(body), source: DrinkSource.notification.rawValue)
        if try JSONDecoder().decode(Done.self, from: answer).done, press.action == .open { await open(press) }
    }

    private func open(_ press: DesktopPress) async {
        guard let page else { return Diagnostics.line("cannot open the page: the service has switched it off") }
        await desktop.open(page + press.kind.page, token: press.activationToken)
    }

    /// Performs an action of the D-Bus object by the service.
    private func perform(_ action: TrackerObject.Action) async throws -> String {
        func post(_ target: String, _ body: JSONValue = [:]) async throws -> Data {
            try await self.post("/api/v1/session" + target, body, source: DrinkSource.dbus.rawValue)
        }
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
    }

    private func post(_ target: String, _ body: JSONValue, source: String? = nil) async throws -> Data {
        try await onThread { try $0.post(target, body, source: source) }
    }

    /// Runs a blocking closure on another thread.
    /// - Throws: `Refusal` with the service's message, without the advice of the command line.
    private func onThread(_ body: @escaping @Sendable (ServiceSocket) throws -> Data) async throws -> Data {
        let service = service
        do {
            return try await withCheckedThrowingContinuation { continuation in
                DispatchQueue.global().async { continuation.resume(with: Result { try body(service) }) }
            }
        } catch let failure as CommandFailure {
            let category: ProblemCategory = failure.status == .refused ? .refused : .busy
            throw Refusal(failure.code ?? "failed", failure.sentence, category: category)
        }
    }

    private func wait(_ length: Duration) async { await pause.wait { try? await Task.sleep(for: length) } }
}
