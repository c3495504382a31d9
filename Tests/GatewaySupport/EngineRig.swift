package import Bluetooth
package import Gateway
package import TrackerCore

/// Events of a link, each with its delay.
package typealias DelayedEvents = [(after: Duration, event: CentralEvent)]

/// A simulated peer: handles requests and returns events with their delays.
package protocol ScriptedPeer {
    mutating func handle(_ request: CentralRequest, at now: MonotonicInstant) -> DelayedEvents
}

/// Runs one engine against one scripted peer and a journal in memory, in simulated time.
package struct EngineRig<Peer: ScriptedPeer> {
    package var engine: Poll
    package var peer: Peer
    package let journal: MemoryJournal
    package private(set) var now = MonotonicInstant(nanoseconds: 0)
    package let start: Instant
    package private(set) var effects: [PollEffect] = []
    package var todayTotal: Int? {
        didSet { engine.display.todayTotal = { [todayTotal] in todayTotal } }
    }
    /// The requested light of the bottle; `nil`: unchanged.
    package var light: BottleLight? {
        didSet { engine.display.light = { [light] _ in light } }
    }
    private var queue: [(at: MonotonicInstant, event: PollEvent)] = []
    /// Effects until the kill; -1: no kill.
    private var effectsUntilKill = -1
    /// Another actor's action, after the given number of effects.
    package var interruption: (effectCount: Int, action: @Sendable () -> Void)?

    package init(
        options: PollOptions, peer: Peer, journal: MemoryJournal = MemoryJournal(), start: Instant,
        hasRadio: Bool = false, held: Poll? = nil
    ) {
        engine = Poll(options: options, linkName: "unix:test.sock", hasRadio: hasRadio, held: held)
        self.peer = peer
        self.journal = journal
        self.start = start
    }

    package var held: Poll? { engine.isKeepingConnection ? engine : nil }
    package var wall: Instant { Instant(milliseconds: start.milliseconds + now.nanoseconds / 1_000_000) }
    package var requests: [CentralRequest] {
        effects.compactMap { if case .link(let request) = $0 { request } else { nil } }
    }
    package var diagnostics: [Diagnostic] {
        effects.compactMap { if case .diagnostic(let diagnostic) = $0 { diagnostic } else { nil } }
    }

    package mutating func schedule(_ event: PollEvent, after delay: Duration) {
        // Sorted with the next event last.
        let at = now.advanced(by: delay)
        var low = 0
        var high = queue.count
        while low < high {
            let middle = (low + high) / 2
            if queue[middle].at > at { low = middle + 1 } else { high = middle }
        }
        queue.insert((at, event), at: low)
    }

    /// The poll did not end: the engine waits for an event that does not come, or for too long.
    package struct Stuck: Error {
        package var at: MonotonicInstant
    }

    /// Runs until the poll ends, for at most `limit` of simulated time.
    @discardableResult
    package mutating func run(limit: Duration = .seconds(120)) throws -> PollReport {
        let end = now.advanced(by: limit)
        if let report = perform(.start) { return report }
        while now <= end {
            let deadline = engine.nextDeadline
            if let first = queue.last, deadline.map({ first.at <= $0 }) ?? true {
                queue.removeLast()
                now = max(now, first.at)
                if let report = perform(first.event) { return report }
            } else if let deadline {
                now = max(now, deadline)
                if let report = perform(.tick) { return report }
            } else {
                break
            }
        }
        throw Stuck(at: now)
    }

    /// Runs until `count` effects are executed and drops the engine there, as a kill does.
    package mutating func run(effects count: Int) {
        effectsUntilKill = count
        _ = try? run()
    }

    private mutating func perform(_ event: PollEvent) -> PollReport? {
        var done: PollReport?
        for effect in engine.handle(event, at: now, wall: wall, journal: journal) {
            guard effectsUntilKill != 0 else { return PollReport() }
            effectsUntilKill -= 1
            if let interruption, effects.count == interruption.effectCount { interruption.action() }
            effects.append(effect)
            switch effect {
            case .link(let request):
                for (delay, event) in peer.handle(request, at: now) { schedule(.link(event), after: delay) }
            case .done(let report): done = report
            case .journaled, .bottleReported, .diagnostic, .progress, .lightWritten: break
            }
        }
        return done
    }
}
