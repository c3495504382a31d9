import Outgoing
import Pauses
import Store
import TrackerCore
import TrackerDesk

/// Brings a person's notifications to ntfy, Gotify or a webhook for as long as a service runs (tracker law Section 10.8). Settings are looked at as they change.
///
/// Each is noted in the store before it is sent, and forgotten as a thing to send only when the server has taken it: so it comes also after a
/// restart, and once. To a person it is of the moment: what is 15 minutes old, what was taken back, and what a later one of its kind replaced is not sent any more.
/// A webhook gets everything that is not a day old.
public actor PocketOutlet {
    /// What it is used in.
    public struct Surroundings: Sendable {
        /// A desk of the person, for one thing that is done.
        public var desk: @Sendable () throws -> TrackerDesk
        /// What a file says over the settings.
        public var overlay: @Sendable (Settings) throws -> Settings
        /// As listed; `nil` where nobody is.
        public var person: String?
        /// Whether Waterline is shown beyond this machine.
        public var sharesWaterline: @Sendable () -> Bool
        /// Tells whenever the store is written, by whatever program; `nil` where nothing does: then it is looked at all the time.
        public var watch: StoreWatch?
        /// Takes what a person should hear.
        public var say: @Sendable (Word) -> Void
        /// From 0 to 1.
        public var chance: @Sendable () -> Double
        /// How long a server may take.
        public var limit: Duration

        public init(
            desk: @escaping @Sendable () throws -> TrackerDesk, overlay: @escaping @Sendable (Settings) throws -> Settings = { $0 }, person: String? = nil,
            sharesWaterline: @escaping @Sendable () -> Bool, watch: StoreWatch? = nil, say: @escaping @Sendable (Word) -> Void,
            chance: @escaping @Sendable () -> Double = { .random(in: 0...1) }, limit: Duration = .seconds(10)
        ) {
            (self.desk, self.overlay, self.person, self.sharesWaterline, self.watch) = (desk, overlay, person, sharesWaterline, watch)
            (self.say, self.chance, self.limit) = (say, chance, limit)
        }
    }

    /// What there is to say to people; each once, until it changes.
    public enum Word: Hashable, Sendable {
        case on(String)
        case trouble(String)
        case goesOn
        /// The settings name no server any more.
        case off
        /// Something is not sent, and why.
        case dropped(String)
    }

    /// Whoever delivers is not kept longer: what arrives later counts at the next look.
    static let patience = Duration.seconds(4)

    /// Which of the three it brings notifications to.
    public nonisolated let service: PocketService
    nonisolated let around: Surroundings
    /// The browser that is meant, where it is one's push service.
    private nonisolated let subscription: String?
    /// As the store knows it.
    private nonisolated let name: String
    private let claimant: String
    /// How often settings are looked at, and work of another process.
    private var lookEvery: Duration { DayFollower.lookEvery(isTold: around.watch != nil) }
    private var plan: PocketPlan?
    private var pause: Task<Void, Never>?
    private var isPoked = false
    private var backoff = Backoff(first: .seconds(2), longest: .seconds(300))
    private var restsUntil: ContinuousClock.Instant?
    private var lastTrouble: String?
    /// What let us in at addresses that the settings named since this began.
    private var tokens: [String: String] = [:]
    private var takesBackAgain = (backoff: Backoff(first: .seconds(4), longest: .seconds(600)), until: ContinuousClock.now)
    /// Who waits for what becomes of a notification, by its id.
    private var waiting: [String: [CheckedContinuation<Bool, Never>]] = [:]

    /// - Parameter subscription: of which browser, where it is a browser's push service.
    public init(_ service: PocketService, _ around: Surroundings, subscription: String? = nil) {
        (self.service, self.around, self.subscription) = (service, around, subscription)
        name = subscription.map { "push-\($0)" } ?? service.rawValue
        claimant = "\(service.rawValue)-\((0..<4).map { _ in String(UInt32.random(in: .min ... .max), radix: 36) }.joined())"
    }

    /// Goes on until its task is cancelled.
    /// - Parameter arrivedLate: called after something arrived that nobody waited for any more.
    public func run(arrivedLate: @Sendable () async -> Void = {}) async {
        let waking = DayFollower.waking(around.watch) { [weak self] in await self?.poke() }
        defer { waking?.cancel() }
        while !Task.isCancelled {
            isPoked = false
            var length = lookEvery
            do {
                if try lookAtPlan() { length = min(length, try await sendAll(arrivedLate)) }
                length = min(length, try await takeBack())
            } catch {
                trouble("\(error)")
                length = DayFollower.lookOften
            }
            await rest(length)
        }
        for id in waiting.keys { answer(id, false) }
    }

    /// Something is to be sent, or the settings changed: looks at once.
    public func poke() {
        isPoked = true
        pause?.cancel()
    }

    // MARK: - As a sink

    /// Whether the settings name a server, and say all that is needed.
    nonisolated var isOn: Bool { (try? currentPlan()) != nil }

    /// Notes it, and waits for a moment until the server has it.
    func deliver(_ notification: TrackerNotification) async -> Bool {
        guard let plan = try? currentPlan(), plan.tells(notification.kind), !notification.kind.isWaterline || around.sharesWaterline() else { return false }
        do {
            let desk = try around.desk()
            let (state, givenUp) = try desk.store.post(
                notification.announcement, to: name, keepsAll: service.keepsAll, at: desk.now, makeKey: TrackerDesk.secret)
            if givenUp > 0 { around.say(.dropped("more than \(TrackerStore.pocketLimit) wait: the oldest is not sent")) }
            guard state == .waiting else { return state == .sent }
        } catch {
            trouble("\(error)")
            return false
        }
        // Nobody is asked while the server rests: it comes when it goes on.
        if let restsUntil, restsUntil > .now { return false }
        let id = notification.notificationId
        poke()
        return await withCheckedContinuation { continuation in
            waiting[id, default: []].append(continuation)
            Task {
                try? await Task.sleep(for: Self.patience)
                answer(id, false)
            }
        }
    }

    /// Takes away what is shown in that place, and what waits for it.
    func close(place: String) async {
        guard !service.keepsAll, let plan = try? currentPlan(), let store = try? around.desk().store, let shown = try? store.withdrawPosts(place, from: name) else { return }
        for message in shown {
            // What is shown elsewhere is taken back there.
            if let address = message.sentTo, address != plan.url { continue }
            guard let request = plan.withdrawal(message) else {
                try? store.withdrawn(message)
                continue
            }
            if let restsUntil, restsUntil > .now { return }
            // A server that knows no way back says so, and is not asked again for this one.
            guard let answer = try? await plan.client(limit: around.limit).send(request), answer.status < 500, answer.status != 429 else { return }
            try? store.withdrawn(message)
        }
    }

    /// Takes away what is shown where it is not to be seen any more: at an address that the settings do not name any more, and of Waterline where that is not
    /// shared any more. For a day; what is older nobody has before their eyes.
    /// - Returns: how long there is nothing to do.
    private func takeBack() async throws -> Duration {
        guard service == .ntfy else { return lookEvery }
        let desk = try around.desk()
        let shown = try desk.store.shownPosts(from: name).filter {
            ($0.sentTo.map { $0 != plan?.url } ?? false) || ($0.announcement.kind.isWaterline && !around.sharesWaterline())
        }
        tokens = tokens.filter { known in known.key == plan?.url || shown.contains { $0.sentTo == known.key } }
        guard !shown.isEmpty else {
            takesBackAgain.backoff.reset()
            return lookEvery
        }
        guard takesBackAgain.until <= .now else { return takesBackAgain.until - .now }
        for message in shown where !Task.isCancelled {
            guard message.since.seconds(to: desk.now).magnitude < Self.shownLongest, let address = message.sentTo ?? plan?.url else {
                try desk.store.withdrawn(message)
                continue
            }
            let there = plan?.at(address, token: tokens[address]) ?? PocketPlan(service, at: address, token: tokens[address], person: around.person)
            if let request = there.withdrawal(message) {
                guard let answer = try? await there.client(limit: around.limit).send(request), answer.status < 500, answer.status != 429 else {
                    let rest = takesBackAgain.backoff.next(chance: around.chance())
                    takesBackAgain.until = .now + rest
                    return rest
                }
            }
            try desk.store.withdrawn(message)
        }
        return lookEvery
    }

    private static let shownLongest: Double = 24 * 3600

    // MARK: - Sending

    /// Sends what waits, in its order, until nothing does or the server wants a rest.
    /// - Returns: how long there is nothing to do.
    private func sendAll(_ arrivedLate: @Sendable () async -> Void) async throws -> Duration {
        guard let plan else { return lookEvery }
        while !Task.isCancelled {
            if let restsUntil, restsUntil > .now { return restsUntil - .now }
            let desk = try around.desk()
            let message: PocketMessage
            switch try desk.store.nextPost(from: name, as: claimant, at: desk.now) {
            case .message(let next): message = next
            case .busy: return try min(DayFollower.lookOften, lookAtOthers(desk.store))
            case .nothing: return try lookAtOthers(desk.store)
            }
            let outcome = await attempt(message, plan, desk)
            let after = try around.desk()
            switch outcome {
            case .sent(let remote):
                try after.store.endPost(message, from: name, as: claimant, at: after.now, .sent, remote: remote, sentTo: plan.url)
                backoff.reset()
                restsUntil = nil
                if lastTrouble != nil { around.say(.goesOn) }
                lastTrouble = nil
                if !answer(message.announcement.id, true) { await arrivedLate() }
            case .refused(let words):
                try after.store.endPost(message, from: name, as: claimant, at: after.now, .refused)
                around.say(.dropped(words))
                answer(message.announcement.id, false)
            case .gone(let words):
                if let subscription { try after.store.unsubscribe(subscription) }
                around.say(.dropped(words))
                for id in waiting.keys { answer(id, false) }
                self.plan = nil
                return lookEvery
            case .later(let words, let pause):
                try after.store.endPost(message, from: name, as: claimant, at: after.now, .waiting)
                restsUntil = .now + max(pause ?? .zero, backoff.next(chance: around.chance()))
                trouble(words)
                for id in waiting.keys { answer(id, false) }
            case nil:
                try after.store.endPost(message, from: name, as: claimant, at: after.now, .dropped)
                answer(message.announcement.id, false)
            }
        }
        return lookEvery
    }

    /// Another process may have sent what is waited for here.
    /// - Returns: when to look again.
    private func lookAtOthers(_ store: TrackerStore) throws -> Duration {
        for id in waiting.keys {
            let state = try store.postState(id, at: name)
            if state != .waiting { answer(id, state == .sent) }
        }
        return waiting.isEmpty ? lookEvery : .milliseconds(100)
    }

    /// `nil` where it is not of the moment any more.
    private func attempt(_ message: PocketMessage, _ plan: PocketPlan, _ desk: TrackerDesk) async -> PocketOutcome? {
        guard message.since.seconds(to: desk.now).magnitude < service.lifetime else {
            around.say(.dropped("\"\(message.announcement.title)\" is older than \(service.keepsAll ? "a day" : "15 minutes") and is not sent any more"))
            return nil
        }
        guard !message.announcement.kind.isWaterline || around.sharesWaterline() else { return nil }
        do {
            return plan.outcome(try await plan.client(limit: around.limit).send(try plan.request(message, now: desk.now)), now: desk.now)
        } catch is PushEncryption.WrongKey {
            return .gone("\(plan.browser?.subscription.label ?? "A browser") gave a key for which nothing can be encrypted")
        } catch {
            return .later("\(error)", after: nil)
        }
    }

    /// - Returns: whether anybody waited.
    @discardableResult
    private func answer(_ id: String, _ isShown: Bool) -> Bool {
        guard let all = waiting.removeValue(forKey: id) else { return false }
        for one in all { one.resume(returning: isShown) }
        return true
    }

    // MARK: - Parts

    private nonisolated func currentPlan() throws -> PocketPlan? {
        if let subscription {
            let store = try around.desk().store
            guard let known = try store.pushSubscription(subscription) else { return nil }
            return PocketPlan(known, try PushSender.of(store), try around.overlay(store.settings()).service, person: around.person)
        }
        return try PocketPlan(service, try around.overlay(around.desk().store.settings()).service, person: around.person)
    }

    /// - Returns: whether there is anybody to send to.
    private func lookAtPlan() throws -> Bool {
        let new: PocketPlan?
        do { new = try currentPlan() } catch {
            plan = nil
            throw error
        }
        guard new != plan else { return new != nil }
        if let new { around.say(.on("\(new)")) } else if service != .push { around.say(.off) }
        plan = new
        if let new { tokens[new.url] = new.token }
        (lastTrouble, restsUntil) = (nil, nil)
        backoff.reset()
        return new != nil
    }

    private func trouble(_ words: String) {
        guard words != lastTrouble, !Task.isCancelled else { return }
        lastTrouble = words
        around.say(.trouble(words))
    }

    private func rest(_ length: Duration) async {
        guard !isPoked, !Task.isCancelled else { return }
        let pause = Task { _ = try? await Task.sleep(for: length) }
        self.pause = pause
        await withTaskCancellationHandler { await pause.value } onCancel: { pause.cancel() }
    }
}
