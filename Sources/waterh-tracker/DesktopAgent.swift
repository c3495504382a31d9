import CommandKit
import Desktop
import Foundation
import TrackerCore

/// Shows what a service asks for, and tells it what was shown and what was pressed.
actor DesktopAgent {
    private static let (shortestPause, longestPause) = (Duration.seconds(1), Duration.seconds(30))

    private let store: String
    private let desktop: DesktopNotifications
    private var page: String?
    private var waiting: Task<Void, Never>?
    private var trouble: String?

    init(store: String) {
        self.store = store
        desktop = DesktopNotifications(memory: NoticeMemory(file: ServiceSocket.file(forStore: store, "notices.json")))
    }

    /// Goes on until its task is cancelled.
    func run() async {
        var outlets = DesktopNotifications.Outlets()
        outlets.log = { Diagnostics.line($0) }
        outlets.trouble = { Diagnostics.warning($0) }
        outlets.pressed = { await self.pressed($0) }
        outlets.appeared = { await self.wake() }
        await desktop.attend(outlets)
        let object = SessionObject(intents: intents)
        let offering = Task { await object.run() }
        defer { offering.cancel() }
        var pause = Self.shortestPause
        while !Task.isCancelled {
            // Whoever cannot show does not offer to.
            guard await desktop.canShow() else {
                await wait(Self.longestPause)
                continue
            }
            if await listen() { pause = Self.shortestPause }
            guard !Task.isCancelled else { break }
            await wait(pause)
            pause = min(pause * 2, Self.longestPause)
        }
        await desktop.stop()
    }

    /// Until the service goes, or the desktop's server does.
    /// - Returns: whether there was a service.
    private func listen() async -> Bool {
        var agent: String?
        do {
            for try await event in service.events("/api/v1/agent") {
                let data = Data(event.data.utf8)
                switch event.name {
                case "hello":
                    let hello = try JSONDecoder().decode(Hello.self, from: data)
                    (agent, page, trouble) = (hello.agent, hello.page, nil)
                    Diagnostics.line("Shows on this desktop what the service of \(store) has to tell.")
                case "show":
                    guard let agent else { continue }
                    let announcement = try JSONDecoder().decode(Announcement.self, from: data)
                    let isShown = await desktop.show(announcement)
                    _ = try await post("/api/v1/agent/shown", ["agent": .string(agent), "id": .string(announcement.id), "shown": .bool(isShown)])
                    if !isShown, await !desktop.canShow() { return true }
                case "close": await desktop.close(id: try JSONDecoder().decode(Close.self, from: data).id)
                default: break
                }
            }
        } catch {
            let sentence = (error as? CommandFailure)?.sentence ?? "The service at \(service.path): \(error)"
            if trouble != sentence, !Task.isCancelled { Diagnostics.warning("\(sentence) It is tried again.") }
            trouble = sentence
        }
        return agent != nil
    }

    private struct Hello: Decodable {
        var agent: String
        var page: String?
    }

    private struct Close: Decodable { var id: String }
    private struct Done: Decodable { var done: Bool }

    /// Looked for each time: the service may be another one by now.
    private var service: ServiceSocket { ServiceSocket(path: ServiceSocket.path(forStore: store)) }

    private func pressed(_ press: DesktopPress) async {
        do {
            let answer = try await post("/api/v1/agent/press", ["action": .string(press.action.rawValue), "key": .string(press.key)])
            guard try JSONDecoder().decode(Done.self, from: answer).done, press.action == .open else { return }
            guard let page else { return Diagnostics.line("There is no page to open: it is switched off.") }
            await desktop.open(page + press.kind.page, token: press.activationToken)
        } catch {
            Diagnostics.warning("\(press.action.rawValue) of \(press.kind.id): \((error as? CommandFailure)?.sentence ?? "\(error)")")
        }
    }

    /// The day on the session's bus, from the service.
    private var intents: SessionObject.Intents {
        @Sendable func post(_ target: String, _ body: JSONValue = [:]) async throws -> String {
            String(decoding: try await self.post("/api/v1/session" + target, body), as: UTF8.self)
        }
        return .init(
            logDrink: { preset in try await post("/drink", preset.map { ["preset": .string($0)] as JSONValue } ?? [:]) }, logWater: { try await post("/water") },
            startSession: {
                _ = try await post("")
                return String(decoding: try await self.away { try $0.get("/api/v1/session") }, as: UTF8.self)
            },
            endSession: { try await post("/end") }, state: { String(decoding: try await self.away { try $0.get("/api/v1/state") }, as: UTF8.self) })
    }

    private func post(_ target: String, _ body: JSONValue) async throws -> Data { try await away { try $0.post(target, body) } }

    /// On a thread that may wait.
    private func away(_ body: @escaping @Sendable (ServiceSocket) throws -> Data) async throws -> Data {
        let service = service
        return try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Result { try body(service) }) }
        }
    }

    private func wait(_ length: Duration) async {
        let task = Task { _ = try? await Task.sleep(for: length) }
        waiting = task
        await withTaskCancellationHandler { await task.value } onCancel: { task.cancel() }
    }

    private func wake() { waiting?.cancel() }
}
