import Store
import TrackerCore
import TrackerDesk

/// A person's browsers as one place where notifications are shown (tracker law Section 10.9): each has a way of its
/// own, so that a push service that is away holds up no other, and what one of them has taken counts as told.
public actor PushSink: NotificationSink {
    /// As the store remembers it.
    public nonisolated let name = "push"
    private let around: PocketOutlet.Surroundings
    private var ways: [String: (outlet: PocketOutlet, work: Task<Void, Never>?)] = [:]
    private var isRunning = false
    private var arrivedLate: @Sendable () async -> Void = {}
    private var pause: Task<Void, Never>?

    /// Nothing is sent before it runs.
    public init(_ around: PocketOutlet.Surroundings) { self.around = around }

    /// Goes on until its task is cancelled.
    /// - Parameter arrivedLate: called after something arrived that nobody waited for any more.
    public func run(arrivedLate: @escaping @Sendable () async -> Void = {}) async {
        (isRunning, self.arrivedLate) = (true, arrivedLate)
        let waking = DayFollower.waking(around.watch) { [weak self] in await self?.wake() }
        defer { waking?.cancel() }
        let length = DayFollower.lookEvery(isTold: around.watch != nil)
        while !Task.isCancelled {
            look()
            let pause = Task { _ = try? await Task.sleep(for: length) }
            self.pause = pause
            await withTaskCancellationHandler {
                await pause.value
            } onCancel: {
                pause.cancel()
            }
        }
        // What it would call holds who holds this: whoever is let out is held by nobody, so that the store is closed.
        (isRunning, self.arrivedLate) = (false, {})
        let ended = ways.values.compactMap(\.work)
        ways = [:]
        for work in ended { work.cancel() }
        for work in ended { await work.value }
    }

    /// Something changed: looks at once.
    public func poke() async {
        wake()
        for way in ways.values { await way.outlet.poke() }
    }

    private func wake() { pause?.cancel() }

    public func canShow() async -> Bool {
        look()
        return !ways.isEmpty
    }

    public func deliver(_ notification: TrackerNotification) async -> Bool {
        look()
        let outlets = ways.values.map { $0.outlet }
        return await withTaskGroup(of: Bool.self) { group in
            for outlet in outlets { group.addTask { await outlet.deliver(notification) } }
            var isShown = false
            for await one in group where one { isShown = true }
            return isShown
        }
    }

    public func close(id: String) async { for way in ways.values { await way.outlet.close(place: id) } }

    /// A way for each browser that is there, and for no other.
    private func look() {
        guard let known = try? around.desk().store.pushSubscriptions() else { return }
        let wanted = Set(known.map(\.id))
        for (id, way) in ways where !wanted.contains(id) {
            way.work?.cancel()
            ways[id] = nil
        }
        for id in wanted where ways[id] == nil || (isRunning && ways[id]?.work == nil) {
            let outlet = ways[id]?.outlet ?? PocketOutlet(.push, around, subscription: id)
            let late = arrivedLate
            ways[id] = (outlet, isRunning ? Task { await outlet.run(arrivedLate: late) } : nil)
        }
    }
}
