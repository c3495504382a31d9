import TrackerService
import Utilities
import Store
import TrackerCore

/// Sends a person's notifications to ntfy or a webhook while a service runs, and follows changes of the settings
/// (tracker law Section 10.8).
///
/// A notification is stored before it is sent, and waits until the server has accepted it. So a restart neither loses
/// nor repeats it. What the server has accepted counts as told (B7, K-B15). ntfy does not get a notification that is 15
/// minutes old, whose reason is gone, or that a later one of its kind replaced. A webhook gets every notification that
/// is less than a day old.
package actor NotificationSender: NotificationSink {
    /// What it is used in.
    package struct Surroundings: Sendable {
        /// A desk of the person, for one thing that is done.
        package var desk: @Sendable () throws -> TrackerDesk
        /// What a file says over the settings.
        package var overlay: @Sendable (Settings) throws -> Settings
        /// The service's instance name.
        package var person: String?
        /// Whether Waterline is shown beyond this machine.
        package var sharesWaterline: @Sendable () -> Bool
        /// Tells whenever the store is written, by whatever program; `nil` where nothing does: then it is looked at all
        /// the time.
        package var watch: StoreWatch?
        /// Takes what a person should hear.
        package var say: @Sendable (Word) -> Void
        /// From 0 to 1.
        package var chance: @Sendable () -> Double
        /// How long a server may take.
        package var limit: Duration

        package init(
            desk: @escaping @Sendable () throws -> TrackerDesk,
            overlay: @escaping @Sendable (Settings) throws -> Settings = { $0 }, person: String? = nil,
            sharesWaterline: @escaping @Sendable () -> Bool,
            watch: StoreWatch? = nil,
            say: @escaping @Sendable (Word) -> Void,
            chance: @escaping @Sendable () -> Double = { .random(in: 0...1) }, limit: Duration = .seconds(10)
        ) {
            (self.desk, self.overlay, self.person, self.sharesWaterline, self.watch) = (
                desk, overlay, person, sharesWaterline, watch
            )
            (self.say, self.chance, self.limit) = (say, chance, limit)
        }
    }

    /// What there is to say to people; each once, until it changes.
    package enum Word: Hashable, Sendable {
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

    nonisolated let channel: NotificationChannel
    nonisolated let around: Surroundings
    /// The channel's name, also in the store.
    package nonisolated let name: String
    private let claimant: String
    /// How often settings are looked at, and work of another process.
    private var lookEvery: Duration { DayFollower.lookEvery(isTold: around.watch != nil) }
    private var plan: NotificationTarget?
    private var pause: Task<Void, Never>?
    private var isPoked = false
    private var backoff = Backoff(first: .seconds(2), longest: .seconds(300))
    private var restsUntil: ContinuousClock.Instant?
    private var lastTrouble: String?
    /// Who waits for what becomes of a notification, by its id.
    private var waiting: [String: [CheckedContinuation<Bool, Never>]] = [:]
    /// Since when each message of the queue waits here, by its number. A machine's clock may be wrong for a while.
    private var waitsSince: [Int64: ContinuousClock.Instant] = [:]
    /// What the server has, until the store knows it, by its number in the queue.
    private var unnoted: Set<Int64> = []

    package init(_ channel: NotificationChannel, _ around: Surroundings) {
        (self.channel, self.around, name) = (channel, around, channel.rawValue)
        claimant =
            "\(channel.rawValue)-\((0..<4).map { _ in String(UInt32.random(in: .min ... .max), radix: 36) }.joined())"
    }

    /// Goes on until its task is cancelled.
    /// - Parameter arrivedLate: called after something arrived that nobody waited for any more.
    package func run(arrivedLate: @Sendable () async -> Void = {}) async {
        let waking = DayFollower.waking(around.watch) { [weak self] in await self?.poke() }
        defer { waking?.cancel() }
        while !Task.isCancelled {
            isPoked = false
            var length = lookEvery
            do {
                if try lookAtPlan() {
                    try bring(around.desk())
                    length = min(length, try await sendAll(arrivedLate))
                }
            } catch {
                trouble("\(error)")
                length = DayFollower.lookOften
            }
            await rest(length)
        }
        for id in waiting.keys { answer(id, false) }
    }

    /// Something is to be sent, or the settings changed: looks at once.
    package func poke() {
        isPoked = true
        pause?.cancel()
    }

    // MARK: - As a sink

    /// Whether the settings name a server, and say all that is needed.
    package nonisolated func canShow() async -> Bool { (try? currentPlan()) != nil }

    /// Stores it, and waits a few seconds until the server has it. Earlier notifications are sent before it.
    package func deliver(_ notification: TrackerNotification) async -> Bool {
        guard (try? currentPlan()) != nil, channel.takes(notification.kind),
            !notification.kind.isWaterline || around.sharesWaterline()
        else { return false }
        do {
            let desk = try around.desk()
            try bring(desk, before: notification)
            guard try post(notification, since: desk.now, desk) == .waiting else {
                return try desk.store.postState(notification.notificationId, at: name) == .sent
            }
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

    /// Drops what still waits for that place, because its reason is gone. A webhook gets it nevertheless.
    package func close(id: String) async {
        guard !channel.keepsAll else { return }
        try? around.desk().store.dropPosts(id, from: name)
    }

    // MARK: - Sending

    /// Sends what waits, in its order, until nothing does or the server wants a rest.
    /// - Returns: how long there is nothing to do.
    private func sendAll(_ arrivedLate: @Sendable () async -> Void) async throws -> Duration {
        guard let plan else { return lookEvery }
        while !Task.isCancelled {
            if let restsUntil, restsUntil > .now { return restsUntil - .now }
            let desk = try around.desk()
            let message: QueuedNotification
            switch try desk.store.nextPost(from: name, as: claimant, at: desk.now) {
            case .message(let next): message = next
            case .busy: return try min(DayFollower.lookOften, lookAtOthers(desk.store))
            case .nothing: return try lookAtOthers(desk.store)
            }
            // Where it cannot be noted, on a disk that is full, it is not sent again for that.
            let outcome = unnoted.contains(message.sequence) ? .sent : await attempt(message, plan, desk)
            let after = try around.desk()
            switch outcome {
            case .sent:
                unnoted.insert(message.sequence)
                try after.store.endPost(message, from: name, as: claimant, at: after.now, .sent)
                unnoted.remove(message.sequence)
                waitsSince[message.sequence] = nil
                backoff.reset()
                restsUntil = nil
                try after.store.forgetChannelTrouble(of: name)
                if lastTrouble != nil { around.say(.goesOn) }
                lastTrouble = nil
                if !answer(message.announcement.id, true) { await arrivedLate() }
            case .refused(let words):
                try after.store.endPost(message, from: name, as: claimant, at: after.now, .refused)
                around.say(.dropped(words))
                answer(message.announcement.id, false)
            case .later(let words, let pause):
                note(words)
                try after.store.endPost(message, from: name, as: claimant, at: after.now, .waiting)
                restsUntil = .now + max(pause ?? .zero, backoff.next(chance: around.chance()))
                if channel.keepsAll { try noteWaiting(after.store) }
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
    private func attempt(_ message: QueuedNotification, _ plan: NotificationTarget, _ desk: TrackerDesk) async
        -> DeliveryOutcome?
    {
        let age = age(of: message, desk)
        guard age < .seconds(channel.lifetime) else {
            waitsSince[message.sequence] = nil
            let what = channel.keepsAll ? "has been waiting for a day" : "is older than 15 minutes"
            around.say(.dropped("\"\(message.announcement.title)\" \(what) and is not sent any more"))
            return nil
        }
        guard !message.announcement.kind.isWaterline || around.sharesWaterline() else { return nil }
        do {
            return plan.outcome(
                try await plan.client(limit: around.limit).send(try plan.request(message, now: desk.now)),
                now: desk.now)
        } catch {
            return .later("\(error)", after: nil)
        }
    }

    /// How long it has been waiting here. Only of what to a person is of the moment, and came before this began, the
    /// machine's clock is believed, which may be wrong: what a program is to have is given up by no clock.
    private func age(of message: QueuedNotification, _ desk: TrackerDesk) -> Duration {
        if let since = waitsSince[message.sequence] { return .now - since }
        guard channel.keepsAll else { return .seconds(message.since.seconds(to: desk.now).magnitude) }
        waitsSince[message.sequence] = .now
        return .zero
    }

    /// From now on all that waits has been waiting here.
    private func noteWaiting(_ store: TrackerStore) throws {
        let all = Set(try store.waitingPosts(for: name))
        waitsSince = waitsSince.filter { all.contains($0.key) }
        for one in all where waitsSince[one] == nil { waitsSince[one] = .now }
    }

    /// - Returns: whether anybody waited.
    @discardableResult
    private func answer(_ id: String, _ isShown: Bool) -> Bool {
        guard let all = waiting.removeValue(forKey: id) else { return false }
        for one in all { one.resume(returning: isShown) }
        return true
    }

    // MARK: - Parts

    /// Notes it in the store.
    func post(_ notification: TrackerNotification, since: Instant, _ desk: TrackerDesk) throws
        -> QueuedNotification.State
    {
        let (state, sequence, givenUp) = try desk.store.post(
            notification.announcement, to: name, keepsAll: channel.keepsAll, at: since, makeKey: TrackerDesk.secret)
        if givenUp > 0 { around.say(.dropped("more than \(TrackerStore.queueLimit) wait: the oldest is not sent")) }
        // To a person it is as old as the decision.
        if state == .waiting, !channel.keepsAll || waitsSince[sequence] == nil {
            waitsSince[sequence] = .now - .seconds(channel.keepsAll ? 0 : max(0, since.seconds(to: desk.now)))
        }
        return state
    }

    private nonisolated func currentPlan() throws -> NotificationTarget? {
        try NotificationTarget(
            channel, try around.overlay(around.desk().store.settings()).service, person: around.person)
    }

    /// - Returns: whether there is anybody to send to.
    private func lookAtPlan() throws -> Bool {
        let new: NotificationTarget?
        do { new = try currentPlan() } catch {
            plan = nil
            // What is wrong with the settings, unless the store itself is: then nothing is known of them.
            if !(error is StoreError) { note("\(error)") }
            throw error
        }
        let store = try around.desk().store
        if new == nil { try store.forgetChannelTrouble(of: name) }
        // What others are told from here on comes here, too; without a server nothing does.
        if new != nil { _ = try store.toldThrough(name) } else { try store.stopsHearing(name) }
        guard new != plan else { return new != nil }
        if let new { around.say(.on("\(new)")) } else { around.say(.off) }
        // With other settings it may be over.
        if let new { try store.forgetChannelTrouble(of: name, unlessWith: new.mark) }
        plan = new
        (lastTrouble, restsUntil) = (nil, nil)
        backoff.reset()
        return new != nil
    }

    private func trouble(_ words: String) {
        guard words != lastTrouble, !Task.isCancelled else { return }
        lastTrouble = words
        around.say(.trouble(words))
    }

    /// Whoever looks at the day sees it, too.
    private func note(_ words: String) {
        guard !Task.isCancelled, let desk = try? around.desk() else { return }
        try? desk.store.noteChannelTrouble(words, of: name, with: plan?.mark ?? "", at: desk.now)
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
