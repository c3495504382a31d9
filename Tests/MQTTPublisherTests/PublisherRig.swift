import Foundation
@testable import HomeAssistant
import Store
import Support
import Synchronization
import Testing
import TrackerCore
import TrackerService
import TrackerSupport

/// A store, its publisher, and a real broker.
final class PublisherRig: Sendable {
    let broker: Broker
    let store: TrackerStore
    let channel: BufferedSink
    let publisher: MQTTPublisher
    private let log = LogLines()
    let sent = Mutex<[[String]]>([])
    let polls = Mutex(0)
    let stateQueries = Mutex(0)
    let sharesWaterline = Mutex(false)
    private let task = Mutex<Task<Void, Never>?>(nil)

    /// - Parameters:
    ///   - limit: the timeout of a reminder at the broker.
    ///   - isInFile: the broker's address is in a file, which a purge does not change.
    init(
        _ broker: Broker, _ settings: [(String, String)] = [], store: TrackerStore? = nil,
        limit: Duration = .seconds(6), isInFile: Bool = false
    ) throws {
        self.broker = broker
        let store = try store ?? TrackerStore(inMemory: "UTC")
        self.store = store
        let boxed = Boxed()
        let tracker: @Sendable () throws -> TrackerAPI = { TrackerAPI(store, .test(at: .current, source: "mqtt")) }
        let mqtt = MQTTChannel(timeLimit: limit)
        let sharesWaterline: @Sendable () -> Bool = { boxed.rig?.sharesWaterline.withLock { $0 } ?? false }
        channel = BufferedSink(
            mqtt, CatchUpRule(skipsOutdated: false, sharesWaterline: sharesWaterline), tracker: tracker)
        let address = try isInFile ? TrackerStore(inMemory: "UTC") : store
        let given = ([("mqtt.url", broker.url), ("mqtt.prefix", "h")] + settings).map { (name: $0.0, text: $0.1) }
        _ = try TrackerAPI(address, tracker().context).set(given)
        let service = ServiceClient(
            status: {
                boxed.rig?.stateQueries.withLock { $0 += 1 }
                return ServiceStatus(version: "test")
            }, pollNow: { boxed.rig?.polls.withLock { $0 += 1 } }, recentPolls: { [] },
            send: { arguments in
                boxed.rig?.sent.withLock { $0.append(arguments) }
                if arguments.contains("rainbow") { throw Refusal("bottle", "It sleeps.") }
                return "sent"
            })
        let context = PublisherContext(
            store, tracker: tracker, settings: { try address.settings().service }, sharesWaterline: sharesWaterline,
            watch: store.path == ":memory:" ? nil : StoreWatch(store.path), log: log.logger, randomFraction: { 0 })
        publisher = MQTTPublisher(
            .init(context, service: service, version: "test"), channel: mqtt, notifications: channel)
        boxed.rig = self
    }

    /// A publisher that is connected to a new broker.
    static func connected(_ settings: [(String, String)] = []) async throws -> (Broker, PublisherRig) {
        let broker = try await Broker()
        return (broker, try await broker.publisher(settings))
    }

    /// A publisher that is connected to a new broker, and a subscriber that was there before.
    /// - Parameter client: the subscriber's client ID, for which the broker keeps messages.
    static func connected(
        listen topic: String, as client: String? = nil, _ settings: [(String, String)] = [], bottles: [String] = [],
        isInFile: Bool = false
    ) async throws -> (Broker, PublisherRig, RunningProgram) {
        let broker = try await Broker()
        let ear = try await broker.listen(topic, as: client)
        return (broker, try await broker.publisher(settings, bottles: bottles, isInFile: isInFile), ear)
    }

    var events: [String] { log.all }

    /// Expects that the publisher logs a line with these texts.
    func expectLine(_ texts: String..., at location: SourceLocation = #_sourceLocation) async {
        let isLogged = await eventually { events.contains { event in texts.allSatisfy { event.contains($0) } } }
        #expect(isLogged, "\(events)", sourceLocation: location)
    }

    /// Waits until the broker has confirmed all drinks.
    func hasPublishedAll(within limit: Double = 20) async -> Bool {
        await eventually(within: limit) { (try? store.waitingChanges(for: "mqtt")) == 0 }
    }

    /// Waits until the broker has the state and the devices of the store.
    func hasRetainedTopics() async -> Bool {
        await eventually { (try? store.retainedTopics(of: "mqtt").count >= 4) == true }
    }

    private final class Boxed: @unchecked Sendable { weak var rig: PublisherRig? }

    func tracker(at now: Instant = .current, source: String = "cli") -> TrackerAPI {
        TrackerAPI(store, .test(at: now, source: source))
    }

    /// The tracker of a service at noon of 15 June 2026: with nothing drunk, a reminder is due.
    func trackerAtNoon() throws -> TrackerAPI {
        tracker(at: try #require(Instant(iso: "2026-06-15T12:00:00Z")), source: "gateway")
    }

    /// The tracker of a service this long after the day began at 04:00.
    func tracker(hours: Double) throws -> TrackerAPI {
        let day = DayCalendar(zone: .utc, boundaryHour: 4).start(of: try tracker().today())
        return tracker(at: day.advanced(seconds: hours * 3600), source: "gateway")
    }

    func start() {
        publisher.prepare()
        let publisher = publisher
        task.withLock { $0 = Task { await publisher.run() } }
    }

    func stop() async {
        let task = task.withLock { $0 }
        task?.cancel()
        await publisher.checkNow()
        await task?.value
    }

    var connections: Int { events.count { $0.hasPrefix("MQTT: connected with ") } }

    /// Waits for `count` connections.
    func connected(_ count: Int = 1) async throws {
        #expect(await eventually { connections >= count }, "\(events)")
    }
}

extension Broker {
    /// Starts a publisher and waits for its connection.
    /// - Parameter bottles: the addresses of bottles that the store adopts before.
    func publisher(
        _ settings: [(String, String)] = [], store: TrackerStore? = nil, bottles: [String] = [],
        limit: Duration = .seconds(6), isInFile: Bool = false
    ) async throws -> PublisherRig {
        let rig = try PublisherRig(self, settings, store: store, limit: limit, isInFile: isInFile)
        for bottle in bottles { try rig.store.adoptBottle(bottle) }
        rig.start()
        try await rig.connected()
        return rig
    }
}

extension RunningProgram {
    /// The JSON objects of a topic in the output of `Broker.listen`, oldest first.
    func objects(at topic: String) -> [[String: Any]] { payloads(at: topic).map { object($0) } }

    /// The amounts of the published drinks, oldest first.
    var sips: [Int] { objects(at: "h/sip").compactMap { $0["ml"] as? Int } }

    /// The response to a command, by its number from 0; empty if none arrives.
    func response(to command: String, _ number: Int = 0) async -> [String: Any] {
        object(await event { payloads(at: "h/response/\(command)").dropFirst(number).first })
    }

    /// The last JSON object of a topic; empty if there is none.
    func lastObject(at topic: String) -> [String: Any] { object(payloads(at: topic).last) }

    /// Waits for `count` messages of a topic.
    func payloads(_ count: Int, at topic: String) async throws -> [String] {
        let received = await event { payloads(at: topic).count >= count ? payloads(at: topic) : nil }
        return try #require(received, "\(output)")
    }
}

func object(_ text: String?) -> [String: Any] {
    (text.flatMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) } as? [String: Any]) ?? [:]
}
