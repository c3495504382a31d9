import Store
import TrackerCore

extension TrackerDesk {
    /// Decides, and then delivers: what is due goes to every sink, and what at least one has shown is remembered as
    /// told. What nobody showed is not counted and comes again (K-B15). Of any number of processes one gets to tell a
    /// decision; the claim of one that was killed meanwhile lapses by itself (tracker law B7).
    ///
    /// Who was away catches up first, so that everybody hears everything in one order.
    @discardableResult
    package func tell(_ sinks: [any NotificationSink]) async throws -> CheckReport {
        let telling = try await offer(to: sinks) { banner in
            try store.settle(banner.offered, of: banner.offer, shownBy: banner.shownBy, context)
            for sink in sinks {
                _ = await Patience.answer(within: sink.limit) {
                    await sink.recorded(); return true
                }
            }
        }
        afterCommit()
        return telling.report
    }

    /// The same in two steps, for a surface that knows only afterwards whether its answer came through: offers and
    /// delivers, and remembers nothing until `settle`.
    package func offer(to sinks: [any NotificationSink]) async throws -> Telling { try await offer(to: sinks) { _ in } }

    /// Remembers what was shown.
    /// - Parameter blind: a sink that turned out to have shown nothing.
    package func settle(_ telling: Telling, except blind: String? = nil) throws {
        try change {
            for banner in telling.banners {
                try store.settle(
                    banner.offered, of: banner.offer, shownBy: banner.shownBy.filter { $0 != blind }, context)
            }
        }
    }

    /// Somebody looks: notifications so far are read (`unread` in the state).
    package func openNotifications() throws { try change { try store.openNotifications(context) } }

    // MARK: - Parts

    /// So long after the offer nothing has to be made sure of yet: far less than a claim holds.
    private static let freshSeconds: Double = 10

    private func offer(to sinks: [any NotificationSink], _ delivered: (Telling.Banner) async throws -> Void)
        async throws -> Telling
    {
        var able: [any NotificationSink] = []
        for sink in sinks where await Patience.answer(within: sink.limit, { await sink.canShow() }) == true {
            able.append(sink)
        }
        var telling = try await offer(toAble: able, delivered)
        // What a program that died had left comes to its end first; then what is new.
        for banner in telling.banners where telling.offer.isLeft {
            try store.settle(banner.offered, of: banner.offer, shownBy: banner.shownBy, context)
        }
        guard telling.offer.isLeft else { return telling }
        let more = try await offer(toAble: able, delivered)
        telling.offer = more.offer
        telling.banners += more.banners
        return telling
    }

    private func offer(toAble able: [any NotificationSink], _ delivered: (Telling.Banner) async throws -> Void)
        async throws -> Telling
    {
        await withTaskGroup(of: Void.self) { group in
            for sink in able {
                group.addTask {
                    _ = await Patience.answer(within: sink.limit) {
                        await sink.catchUp(); return true
                    }
                }
            }
        }
        let began = ContinuousClock.now
        let offer = try store.offer(context, canNotify: !able.isEmpty)
        for id in offer.evaluation.closes {
            for sink in able {
                _ = await Patience.answer(within: sink.limit) {
                    await sink.close(id: id); return true
                }
            }
        }
        var telling = Telling(offer: offer)
        for offered in offer.banners {
            let elapsed = began.duration(to: .now) / .seconds(1)
            guard
                try able.isEmpty || elapsed < Self.freshSeconds
                    || store.hold(offered, of: offer, at: context.now.advanced(seconds: elapsed))
            else { continue }
            let banner = Telling.Banner(
                offered: offered, offer: offer, shownBy: await Self.deliver(offered.shown, to: able))
            try await delivered(banner)
            telling.banners.append(banner)
        }
        return telling
    }

    /// - Returns: who has shown it.
    private static func deliver(_ notification: TrackerNotification, to sinks: [any NotificationSink]) async -> [String]
    {
        let shown = await withTaskGroup(of: (Int, Bool).self) { group in
            for (index, sink) in sinks.enumerated() {
                group.addTask {
                    (index, await Patience.answer(within: sink.limit) { await sink.deliver(notification) } == true)
                }
            }
            return await group.reduce(into: Set<Int>()) { if $1.1 { $0.insert($1.0) } }
        }
        return sinks.indices.filter(shown.contains).map { sinks[$0].name }
    }
}

/// What was offered to sinks, and who has shown it.
package struct Telling: Sendable {
    var offer: Offer
    /// In the order in which they were decided.
    package internal(set) var banners: [Banner] = []

    /// Something that a person sees: decisions with equal words are one.
    package struct Banner: Sendable {
        let offered: Offer.Banner
        let offer: Offer
        /// The sinks that have shown it, by name.
        package let shownBy: [String]

        /// What the person saw.
        package var notification: TrackerNotification { offered.shown }
    }

    /// When something next changes by the mere passing of time.
    package var nextChange: Instant { offer.evaluation.nextChange }

    /// The same as an answer of a check.
    package var report: CheckReport {
        let unseen = banners.filter(\.shownBy.isEmpty).map(\.notification)
        var state = offer.evaluation.snapshot
        // A session's words may be meant for nobody who is here: that says nothing of the day's, and nothing where
        // sessions are nobody's business.
        if unseen.contains(where: { !$0.kind.isWaterline }) { state.hasNotificationServer = false }
        return CheckReport(
            notifications: banners.flatMap { banner in
                banner.offered.answers.map { NotificationReport($0, isShown: !banner.shownBy.isEmpty) }
            },
            state: state, unseen: unseen, nextChange: nextChange)
    }
}
