import BottleProtocol
import Bluetooth
import TrackerCore

/// Performs what `GatewayEngine` decides, over a link and a journal: one loop, one event at a time.
public actor GatewayDriver {
    /// Where sentences and figures go while a poll runs. Called in the loop: must return soon.
    public struct Outlets: Sendable {
        public var diagnostic: @Sendable (Diagnostic) -> Void = { _ in }
        public var progress: @Sendable (PollProgress) -> Void = { _ in }
        public var journaled: @Sendable ([JournalEntry], [JournalOutcome]) -> Void = { _, _ in }
        public var report: @Sendable (Frame) -> Void = { _ in }
        /// Today's counted total in ml, where somebody keeps one.
        public var todayTotal: @Sendable () throws -> Int? = { nil }

        public init() {}
    }

    private enum Input: Sendable {
        case link(CentralEvent)
        case linkEnded
        case tick
        case cancel
    }

    private let link: any CentralLink
    private let journal: any Journal
    private let clock: DriverClock
    private let outlets: Outlets
    private let inbox: AsyncStream<Input>
    private let inboxEnd: AsyncStream<Input>.Continuation
    private var pump: Task<Void, Never>?
    private var timer: (due: MonotonicInstant, task: Task<Void, Never>)?
    private var isPolling = false
    private var isLinkGone = false

    public init(link: any CentralLink, journal: any Journal, clock: DriverClock, outlets: Outlets = Outlets()) {
        self.link = link
        self.journal = journal
        self.clock = clock
        self.outlets = outlets
        (inbox, inboxEnd) = AsyncStream.makeStream()
    }

    /// One poll, from scan to disconnect. Never throws: what went wrong stands in the report. Cancelling the task stops
    /// the poll politely: disconnect, keep what came, acknowledge nothing more. Polls do not overlap.
    public func poll(_ options: PollOptions) async -> PollReport {
        precondition(!isPolling, "polls of one driver never overlap")
        isPolling = true
        defer { isPolling = false }
        startPump()
        // The loop runs in a task of its own: cancelling the consumer of a stream would end the stream for ever.
        let loop = Task { await self.loop(options) }
        return await withTaskCancellationHandler {
            await loop.value
        } onCancel: {
            inboxEnd.yield(.cancel)
        }
    }

    /// Closes the link. The driver is spent.
    public func close() async {
        await link.close()
        pump?.cancel()
        timer?.task.cancel()
        inboxEnd.finish()
    }

    private func startPump() {
        guard pump == nil else { return }
        let events = link.events
        let inboxEnd = inboxEnd
        pump = Task {
            for await event in events { inboxEnd.yield(.link(event)) }
            inboxEnd.yield(.linkEnded)
        }
    }

    private func loop(_ options: PollOptions) async -> PollReport {
        var engine = GatewayEngine(options: options, linkName: link.name, hasRadio: link.hasRadio)
        if let report = perform(.start, &engine) { return report }
        var inputs = inbox.makeAsyncIterator()
        while true {
            arm(engine.nextDeadline)
            let event: EngineEvent
            switch isLinkGone ? .linkEnded : await inputs.next() ?? .linkEnded {
            case .link(let linkEvent): event = .link(linkEvent)
            case .tick:
                timer = nil
                event = .tick
            case .cancel: event = .cancel
            case .linkEnded:
                isLinkGone = true
                let gone = LinkError(.serviceLost, "The link \(link.name) was closed.")
                for last in [EngineEvent.link(.disconnected(gone)), .link(.unavailable(gone)), .cancel, .link(.disconnected(nil))] {
                    if let report = perform(last, &engine) { return report }
                }
                continue
            }
            if let report = perform(event, &engine) { return report }
        }
    }

    /// Hands an event to the engine and performs what it wants, and what the answers to that bring, until it rests.
    private func perform(_ event: EngineEvent, _ engine: inout GatewayEngine) -> PollReport? {
        var events = [event][...]
        var done: PollReport?
        while let event = events.popFirst() {
            for effect in engine.handle(event, at: clock.now(), wall: clock.wall()) {
                switch effect {
                case .link(let request): link.perform(request)
                case .journal(let request): events.append(.journal(answer(request)))
                case .askTodayTotal: events.append(.todayTotal(todayTotal()))
                case .journaled(let entries, let outcomes): outlets.journaled(entries, outcomes)
                case .report(let frame): outlets.report(frame)
                case .diagnostic(let diagnostic): outlets.diagnostic(diagnostic)
                case .progress(let progress): outlets.progress(progress)
                case .done(let report): done = report
                }
            }
        }
        return done
    }

    private func answer(_ request: JournalRequest) -> JournalReply {
        do {
            switch request {
            case .lastCompletePoll(let bottle):
                return .lastCompletePoll(try journal.lastCompletePoll(of: bottle))
            case .append(let entries):
                return .appended(try journal.append(entries))
            case .quarantine(let bottle, let bytes, let reason, let received):
                try journal.quarantine(bottle: bottle, bytes: bytes, reason: reason, received: received)
                return .quarantined
            case .finishPoll(let record):
                try journal.finishPoll(record)
                return .finished
            }
        } catch {
            return .failed("\(error)")
        }
    }

    private func todayTotal() -> Int? {
        do {
            return try outlets.todayTotal()
        } catch {
            outlets.diagnostic(Diagnostic(.warning, "Today's total could not be read: \(error)"))
            return nil
        }
    }

    /// Sees to a tick at the deadline. A timer that is due earlier stays: a tick too many does no harm.
    private func arm(_ deadline: MonotonicInstant?) {
        guard let deadline else { return }
        if let timer, timer.due <= deadline { return }
        timer?.task.cancel()
        let (clock, inboxEnd) = (clock, inboxEnd)
        let task = Task {
            await clock.sleep(deadline)
            if !Task.isCancelled { inboxEnd.yield(.tick) }
        }
        timer = (deadline, task)
    }
}
