import Foundation
import Utilities
import Store
import Synchronization
import TrackerCore
import TrackerService

/// Takes back what brokers keep of the day and nobody owns any more (`Leavings`): what stood there before a purge, at a
/// broker that is not named any more. It goes on trying for 30 days, each time for a few seconds, and longer apart each
/// time.
actor BrokerCleaner {
    /// So long services try, seconds; then somebody else has to empty the topics. No clock says it that may be wrong.
    private static let lifetime = 30 * 24 * 3600
    /// How long a broker may take for each answer.
    private static let limit = Duration.seconds(10)
    /// Who speaks with the broker as who left it takes it back by itself.
    private static let courtesy = Duration.seconds(1)
    private static let lamp = "/availability"
    private static let info = "/bridge/info"

    /// A place that could not be reached.
    private struct Rest {
        var backoff = Backoff(first: .seconds(4), longest: .seconds(600))
        var until: ContinuousClock.Instant
        /// Up to when the store knows that it was tried.
        var noted = ContinuousClock.now
        var words: String?
    }

    private let around: MQTTOutlet.Surroundings
    private let voice: @Sendable () async -> MQTTOutlet.Voice
    private let isTold: Bool
    private let watch: StoreWatch?
    private var rests: [Leavings.Key: Rest] = [:]
    private var pause: Task<Void, Never>?
    private var isPoked = false

    /// - Parameter voice: who speaks to the settings' broker at this moment.
    init(_ around: MQTTOutlet.Surroundings, voice: @escaping @Sendable () async -> MQTTOutlet.Voice) {
        (self.around, self.voice) = (around, voice)
        watch = around.watch()
        isTold = watch != nil
    }

    /// Goes on until its task is cancelled.
    func run() async {
        let waking = DayFollower.waking(watch) { [weak self] in await self?.poke() }
        defer { waking?.cancel() }
        while !Task.isCancelled {
            isPoked = false
            await rest(await look())
        }
    }

    private func look() async -> Duration {
        // What cannot be read is told by whoever speaks to the broker.
        let all = (try? around.desk().store.leavings()) ?? []
        rests = rests.filter { rest in all.contains { $0.key == rest.key } }
        for one in all {
            guard let rest = rests[one.key] else {
                rests[one.key] = Rest(until: .now + Self.courtesy)
                continue
            }
            if rest.until > .now { continue }
            do {
                rests[one.key] = Rest(
                    until: .now + (try await takeBack(one) ? DayFollower.longestPause : Self.courtesy))
            } catch {
                guard !Task.isCancelled else { return .zero }
                later(one, MQTTAdvice.words(error, nil))
            }
        }
        let next = rests.values.map { $0.until - .now }.min() ?? DayFollower.lookEvery(isTold: isTold)
        return max(next, .milliseconds(100))
    }

    private func later(_ one: Leavings, _ reason: String) {
        var rest = rests[one.key] ?? Rest(until: .now)
        let seconds = Int((ContinuousClock.now - rest.noted).components.seconds)
        if seconds > 0, (try? around.desk().store.noteTried(one, seconds: seconds)) != nil {
            rest.noted += .seconds(seconds)
        }
        rest.until = .now + rest.backoff.next(chance: around.chance())
        if rest.words == nil {
            let place = BrokerAccess(one.place).flatMap(\.address).map { " at \($0)" } ?? ""
            around.say(
                .stays(
                    """
                    The broker\(place) keeps \(counted(one.topics.count, "retained message")) of this day that \
                    \(one.topics.count == 1 ? "is" : "are") not published there any more \
                    (\(one.topics[0])\(one.topics.count > 1 ? " and more" : "")), and cannot be asked to forget \
                    \(one.topics.count == 1 ? "it" : "them"): \(reason)\(reason.hasSuffix(".") ? "" : ".") It is \
                    tried again for 30 days.
                    """
                ))
            rest.words = reason
        }
        rests[one.key] = rest
    }

    /// - Returns: `false` where it cannot be told at this moment what is there.
    private func takeBack(_ one: Leavings) async throws -> Bool {
        let desk = try around.desk()
        let plan = (try? MQTTOutlet.plan(around)) ?? nil
        let access = BrokerAccess(one.place)
        // Nobody noted where: where the settings say.
        guard let address = access?.address ?? plan?.address else { return true }
        guard one.tried < Self.lifetime else {
            around.say(
                .stays(
                    """
                    The broker at \(address) was not reached for 30 days: what it keeps of this day stays there \
                    until somebody empties it (\(one.topics.joined(separator: ", "))).
                    """
                ))
            try desk.store.forget(one)
            return true
        }
        let isNamed = plan?.address == address
        // Who is known there by the settings is let in.
        guard var options = try isNamed ? plan?.options(id: one.id) : access?.options(id: one.id) else { return true }
        // Beside whoever is there as that client, and not in its place.
        options.clientID += "-back"
        (options.will, options.isForNow, options.limit) = (nil, true, Self.limit)
        let lit = Mutex<Set<String>>([])
        let infos = Mutex<[String: String]>([:])
        let session = try MQTTSession(options) { message in
            if message.topic.hasSuffix(Self.lamp), message.text == "online" {
                lit.withLock { _ = $0.insert(message.topic) }
            }
            if message.topic.hasSuffix(Self.info) { infos.withLock { $0[message.topic] = message.text } }
        }
        let before = await voice()
        do {
            _ = try await session.connected()
            let own = Set(try desk.store.keptTopics(of: MQTTOutlet.name))
            var spared: Set<String> = []
            if isNamed {
                spared.formUnion(own)
            } else {
                // The same broker may have two names, and somebody else may be published there by now: what is theirs
                // stays.
                let lamps = one.topics.filter { $0.hasSuffix(Self.lamp) }
                if !lamps.isEmpty {
                    // The answer to the second comes behind what the broker keeps at the first.
                    for _ in 0..<2 { try await session.watch(lamps + one.topics.filter { $0.hasSuffix(Self.info) }) }
                }
                // Who arrives just now may be there, and have said nothing yet.
                let after = await voice()
                guard lit.withLock(\.isEmpty) || (before != .arriving && before == after) else {
                    await session.close()
                    return false
                }
                for lamp in lit.withLock({ $0 }) {
                    // A broker that went away under a connection of ours still has its lamp lit, and nobody is there.
                    if Self.isLeft(
                        infos.withLock { $0[lamp.dropLast(Self.lamp.count) + Self.info] }, by: one.id, before)
                    {
                        continue
                    }
                    let prefix = lamp.dropLast(Self.lamp.count - 1)
                    spared.formUnion(own)
                    spared.formUnion(one.topics.filter { $0.hasPrefix(prefix) })
                }
            }
            let topics = one.topics.filter { !spared.contains($0) }
            try await session.publish(topics.map { MQTTMessage($0, [], isRetained: true) })
            try desk.store.forget(one)
            if !topics.isEmpty {
                around.say(
                    .takenBack(
                        """
                        What the broker at \(address) kept of this day and is not published there any more is \
                        taken back (\(counted(topics.count, "retained message"))).
                        """
                    ))
            }
        } catch {
            await session.close()
            throw error
        }
        await session.close()
        return true
    }

    /// Whether an earlier connection of ours said this of itself, and not the one that stands. Who lights a lamp says
    /// behind it who that is: where nothing stands, the broker went away in between.
    private static func isLeft(_ text: String?, by id: String, _ voice: MQTTOutlet.Voice) -> Bool {
        struct Said: Decodable { var id: String, connection: String? }
        guard let text else { return true }
        guard let said = try? JSONDecoder().decode(Said.self, from: Data(text.utf8)), said.id == id else {
            return false
        }
        return voice != said.connection.map(MQTTOutlet.Voice.heard)
    }

    private func poke() {
        isPoked = true
        pause?.cancel()
    }

    private func rest(_ length: Duration) async {
        guard !isPoked, !Task.isCancelled else { return }
        let pause = Task { _ = try? await Task.sleep(for: length) }
        self.pause = pause
        await withTaskCancellationHandler {
            await pause.value
        } onCancel: {
            pause.cancel()
        }
    }
}

extension Leavings {
    /// Tells places and those who left something there apart.
    fileprivate struct Key: Hashable { var place: String, id: String }
    fileprivate var key: Key { Key(place: place, id: id) }
}
