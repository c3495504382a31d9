import Outgoing
import Store
import TrackerCore
import TrackerDesk

extension PocketOutlet {
    /// Whether something may be shown on a phone that is to be taken back when the store is not served any more.
    public static func leavesSomething(_ store: TrackerStore) throws -> Bool {
        let ntfy = PocketService.ntfy.rawValue
        return try !store.shownPosts(from: ntfy).isEmpty || !store.pocketLeavings().isEmpty
    }

    /// Instead of `run`, for who is not served any more: takes back what is shown, and ends. Goes on trying until it is
    /// done, or its task is cancelled.
    /// - Returns: whether nothing is left.
    public func takeBackAll() async -> Bool {
        leave()
        while !Task.isCancelled {
            do {
                plan = (try? currentPlan()) ?? nil
                takingBack.know(plan)
                let length = try await takeBack()
                guard try Self.leavesSomething(around.desk().store) else { return true }
                await rest(length)
            } catch {
                trouble("\(error)")
                await rest(DayFollower.lookOften)
            }
        }
        return false
    }

    /// Takes away what is shown where it is not to be seen any more: at an address that the settings do not name any
    /// more, or under another name of its person; what is over, of Waterline where that is not shared any more, and of
    /// a store that was purged. Each for a day.
    /// - Returns: how long there is nothing to do.
    func takeBack() async throws -> Duration {
        guard service == .ntfy else { return lookEvery }
        let desk = try around.desk()
        let shown = try desk.store.shownPosts(from: name).filter(isToGo)
        let left = try desk.store.pocketLeavings()
        if let pause = takingBack.pause, !shown.isEmpty || !left.isEmpty { return pause }
        // One server that is away holds up no other.
        var away: Set<String> = []
        for message in shown where !Task.isCancelled {
            guard let address = message.sentTo ?? plan?.url else {
                try desk.store.withdrawn(message)
                continue
            }
            guard !away.contains(address) else { continue }
            if await !withdraw(message, by: there(address), desk) { away.insert(address) }
        }
        for one in left where !Task.isCancelled && !away.contains(one.address) {
            if await !takeBack(one, desk) { away.insert(one.address) }
        }
        return away.isEmpty ? lookEvery : takingBack.pause ?? DayFollower.lookOften
    }

    /// - Returns: `false` where it is tried again later.
    func withdraw(_ message: PocketMessage, by plan: PocketPlan, _ desk: TrackerDesk) async -> Bool {
        guard let standing = plan.standing(of: message) else { return (try? desk.store.withdrawn(message)) != nil }
        return await takeBack(standing, by: plan, desk) { try desk.store.withdrawn(message) }
    }

    // MARK: - Parts

    private func isToGo(_ message: PocketMessage) -> Bool {
        if isLeaving || (message.announcement.kind.isWaterline && !around.sharesWaterline()) { return true }
        if let address = message.sentTo, address != plan?.url { return true }
        guard let plan else { return false }
        // A server that wants a rest gets it.
        if let restsUntil, restsUntil > .now { return false }
        return plan.standing(of: message) != plan.place(of: message)
            || takingBack.isClosed(message.announcement.kind.id)
    }

    /// Who says there what is to be said.
    private func there(_ address: String, token: String? = nil) -> PocketPlan {
        let known = takingBack.token(at: address) ?? token
        return plan?.at(address, token: known) ?? PocketPlan(service, at: address, token: known, person: around.person)
    }

    private func takeBack(_ one: PocketLeaving, _ desk: TrackerDesk) async -> Bool {
        guard one.tried < TakingBack.longest else { return (try? desk.store.forget(one)) != nil }
        let began = ContinuousClock.now
        if await takeBack(one.place, by: there(one.address, token: one.token), desk, { try desk.store.forget(one) }) {
            return true
        }
        // The pause behind it is as much of trying as the attempt.
        let seconds = (ContinuousClock.now - began + (takingBack.pause ?? .zero)).components.seconds
        try? desk.store.noteTried(one, seconds: max(1, Int(seconds)))
        return false
    }

    private func takeBack(_ standing: String, by plan: PocketPlan, _ desk: TrackerDesk, _ done: () throws -> Void) async
        -> Bool
    {
        let what = plan.url + " " + standing
        // Who is at it says how it went.
        guard takingBack.begin(what) else { return true }
        guard let request = plan.withdrawal(standing), !takingBack.isGivenUp(what),
            !around.isAnothers(plan.url, standing)
        else {
            takingBack.succeeded(what)
            return (try? done()) != nil
        }
        let trouble: (words: String, pause: Duration?)?
        do {
            trouble = plan.trouble(takingBack: try await plan.client(limit: around.limit).send(request), now: desk.now)
        } catch {
            trouble = ("\(error)", nil)
        }
        guard let trouble else {
            takingBack.succeeded(what)
            return (try? done()) != nil
        }
        if takingBack.failed(what, trouble.words, least: trouble.pause, chance: around.chance()), !Task.isCancelled {
            around.say(.trouble("What is shown there and is over cannot be taken back: \(trouble.words)"))
        }
        return false
    }
}
