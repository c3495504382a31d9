package import Bluetooth
import BottleProtocol
package import TrackerCore

/// Runs polls: passes the events of a link to `Poll` and executes its effects. It handles one event at a time, so a
/// peer that floods the link cannot fill the memory.
package actor GatewayDriver {
    /// Callbacks of a poll. The driver calls them between events; they must return within milliseconds.
    package struct Callbacks: Sendable {
        package var diagnostic: @Sendable (Diagnostic) -> Void = { _ in }
        package var progress: @Sendable (PollProgress) -> Void = { _ in }
        /// Entries that were appended to the journal, each with its outcome.
        package var journaled: @Sendable ([JournalEntry], [JournalOutcome]) -> Void = { _, _ in }
        /// Called when the bottle sends data without a request, in a poll or on a kept connection.
        package var bottleReported: @Sendable () -> Void = {}
        package var connectionLost: @Sendable () -> Void = {}
        package var display = DisplayValues()
        package var lightWritten: @Sendable (_ bottle: String, BottleLight) throws -> Void = { _, _ in }

        package init() {}
    }

    private let link: any CentralLink
    private let clock: DriverClock
    private let observe: (@Sendable (LinkObservation) -> Void)?
    private var transcript = CentralTranscript()
    /// The journal and the callbacks of the current poll, or of the kept connection.
    private var context: (journal: any Journal, callbacks: Callbacks)?
    /// The current poll, or the poll that kept its connection.
    private var current: Poll?
    private var pollContinuation: CheckedContinuation<PollReport, Never>?
    private var eventTask: Task<Void, Never>?
    private var timer: (due: MonotonicInstant, task: Task<Void, Never>)?
    private var isLinkGone = false

    /// - Parameter observe: receives the ATT traffic of polls (`CentralTranscript`); must return within milliseconds.
    package init(link: any CentralLink, clock: DriverClock, observe: (@Sendable (LinkObservation) -> Void)? = nil) {
        self.link = link
        self.clock = clock
        self.observe = observe
    }

    package var isKeepingConnection: Bool { current?.isKeepingConnection == true }

    /// Runs one poll, from the scan to the disconnect. If the options keep the connection, the next poll resumes it.
    ///
    /// An error is part of the report. Cancelling the task stops the poll: it stores the received records, disconnects
    /// and acknowledges nothing more. The caller must not start a poll before the previous one has returned.
    package func poll(
        _ options: PollOptions, journal: any Journal = NoJournal(), callbacks: Callbacks = Callbacks()
    ) async -> PollReport {
        precondition(current?.isOver ?? true, "polls of one driver never overlap")
        context = (journal, callbacks)
        startEventTask()
        current = Poll(
            options: options, display: callbacks.display, linkName: link.name, hasRadio: link.hasRadio, held: current)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                pollContinuation = continuation
                process(.start)
                if isLinkGone { linkEnded() }
            }
        } onCancel: {
            Task { await self.process(.cancel) }
        }
    }

    /// Stops the current poll as cancelling its task does. Does nothing without a poll.
    package func stop() {
        if current != nil { process(.cancel) }
    }

    /// Returns `false` if a deadline of the current poll is overdue by more than `grace`.
    package func isOnTime(grace: Duration) -> Bool {
        guard let deadline = current?.nextDeadline else { return true }
        return clock.now() <= deadline.advanced(by: grace)
    }

    package func close() async {
        await link.close()
        timer?.task.cancel()
    }

    private func startEventTask() {
        guard eventTask == nil else { return }
        let events = link.events
        eventTask = Task {
            for await event in events { self.process(.link(event)) }
            self.linkEnded()
        }
    }

    private func linkEnded() {
        isLinkGone = true
        let closed = LinkError(.serviceLost, "The link \(link.name) was closed.")
        for event in [
            PollEvent.link(.disconnected(closed)), .link(.unavailable(closed)), .cancel, .link(.disconnected(nil)),
        ] { process(event) }
    }

    /// Passes an event to the poll, and executes its effects.
    private func process(_ event: PollEvent) {
        if let observe, case .link(let event) = event {
            for observation in transcript.record(event, at: clock.now()) { observe(observation) }
        }
        guard var poll = current, let context, !poll.isOver || event == .start else { return handleIdle(event) }
        let effects = poll.handle(event, at: clock.now(), wall: clock.wall(), journal: context.journal)
        // Store the poll before executing its effects, because an effect may call this method again.
        current = poll
        for effect in effects { perform(effect, context.callbacks) }
        if !poll.isOver { setTimer(poll.nextDeadline) }
    }

    private func perform(_ effect: PollEffect, _ callbacks: Callbacks) {
        switch effect {
        case .link(let request):
            if let observe {
                for observation in transcript.record(request, at: clock.now()) { observe(observation) }
            }
            link.perform(request)
        case .lightWritten(let bottle, let light):
            do {
                try callbacks.lightWritten(bottle, light)
            } catch {
                callbacks.diagnostic(Diagnostic(.warning, "Saving the bottle's light failed: \(error)"))
            }
        case .journaled(let entries, let outcomes): callbacks.journaled(entries, outcomes)
        case .bottleReported: callbacks.bottleReported()
        case .diagnostic(let diagnostic): callbacks.diagnostic(diagnostic)
        case .progress(let progress): callbacks.progress(progress)
        case .done(let report): finish(report)
        }
    }

    /// Handles an event while no poll is running. Only a kept connection uses it.
    private func handleIdle(_ event: PollEvent) {
        guard case .link(let event) = event else { return }
        switch current?.handleIdle(event) {
        case .reported: context?.callbacks.bottleReported()
        case .lost:
            current = nil
            context?.callbacks.connectionLost()
            context = nil
        case nil: break
        }
    }

    private func finish(_ report: PollReport) {
        timer?.task.cancel()
        timer = nil
        if current?.isKeepingConnection != true { (current, context) = (nil, nil) }
        pollContinuation?.resume(returning: report)
        pollContinuation = nil
    }

    /// Schedules a tick at the deadline. An earlier timer is not replaced, because an extra tick has no effect.
    private func setTimer(_ deadline: MonotonicInstant?) {
        guard let deadline else { return }
        if let timer, timer.due <= deadline { return }
        timer?.task.cancel()
        let clock = clock
        let task = Task {
            await clock.sleep(deadline)
            if !Task.isCancelled { self.tick() }
        }
        timer = (deadline, task)
    }

    private func tick() {
        timer = nil
        process(.tick)
    }
}

/// A journal that accepts every record and stores none, for jobs such as `inspect`.
package struct NoJournal: Journal {
    package init() {}

    package func append(_ entries: [JournalEntry]) throws -> [JournalOutcome] { entries.map { _ in .stored } }
    package func storedState(of names: BottleNames) throws -> StoredBottleState { StoredBottleState() }
    package func adopt(_ names: BottleNames) throws {}
    package func reviewableRecords(of bottle: String, reading: String, after id: Int64, limit: Int) throws
        -> [ReviewableRecord]
    { [] }
    package func finishPoll(_ report: PollRecord) throws {}
    package func quarantine(bottle: String, bytes: [UInt8], reason: String, received: Instant) throws {}
}
