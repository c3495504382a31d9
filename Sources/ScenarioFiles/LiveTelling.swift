import Emulation
import Foundation
import MQTTSurface
import Scenarios
import Store
import TrackerCore
import TrackerDesk

/// The house's store at a broker that can be taken away: told by the product's own outlet, heard by somebody who
/// listens.
struct LiveTelling {
    private let broker: LiveBroker
    private let store: TrackerStore
    private let outlet: MQTTOutlet
    private let work: Task<Void, Never>
    private var absences = 0
    private var isAway = false
    /// Longer than the outlet waits between two attempts.
    private static let limit = Duration.seconds(90)

    /// Starts a broker, and tells it of all that is drunk from now on.
    /// - Parameter mosquitto: the broker's program.
    init(_ store: TrackerStore, zone: Zone, mosquitto: String) async throws {
        let desk: @Sendable () throws -> TrackerDesk = {
            let now = Instant(milliseconds: Int64(HostClock.sinceEpoch() / .milliseconds(1)))
            return TrackerDesk(
                store, WriteContext(now: now, zone: zone, source: "mqtt", makeID: { UUID().uuidString.lowercased() }))
        }
        broker = try LiveBroker(mosquitto, topic: Topics(prefix: "hydration").sip)
        self.store = store
        try await broker.start()
        _ = try desk().set([(name: "mqtt.url", text: broker.url), (name: "mqtt.prefix", text: "hydration")])
        let outlet = MQTTOutlet(
            .init(desk: desk, sharesWaterline: { false }, version: "scenario", say: { _ in }), sink: MQTTSink())
        outlet.prepare()
        self.outlet = outlet
        work = Task { await outlet.run() }
    }

    /// The broker goes.
    /// - Returns: which absence it is.
    mutating func leave() async throws -> Int {
        if !isAway { try await broker.stop() }
        (isAway, absences) = (true, absences + 1)
        return absences
    }

    /// It comes back, where it was not taken away since.
    /// - Parameter absence: `nil`: whatever took it away.
    mutating func back(from absence: Int? = nil) async throws -> Bool {
        guard isAway, absence.map({ $0 == absences }) ?? true else { return false }
        isAway = false
        try await broker.start()
        return true
    }

    /// Waits until the broker has everything, and ends.
    /// - Returns: what was heard.
    mutating func finish() async throws -> BrokerEar {
        _ = try await back()
        let queue = try SipQueue(opening: store, id: "scenario")
        let end = ContinuousClock.now + Self.limit
        while try queue.waiting() > 0, ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(50)) }
        work.cancel()
        await outlet.poke()
        await work.value
        try await broker.stop()
        var ear = BrokerEar()
        // What was under way when the broker went may be there, and is told again: here nobody sees which.
        for text in broker.payloads { ear.hear(try HeardDrink(json: text), mayRepeat: absences > 0) }
        return ear
    }
}
