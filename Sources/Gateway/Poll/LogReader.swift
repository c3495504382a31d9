import BottleProtocol
import Bluetooth

/// Reads the log once: from the request to the end of the response.
///
/// A response is *whole* if a status frame or the first frame opened it, and every frame and its end arrived. The end
/// is silence for a retail bottle, an empty frame for a draft bottle. Any other response is *odd*, and its first reason
/// is kept.
struct LogReader: Hashable, Sendable {
    enum Stage: Hashable, Sendable {
        /// Wait until the link is quiet, so that no part of an earlier response arrives after the request.
        case quiet(until: MonotonicInstant)
        /// The request is being written.
        case writing(until: MonotonicInstant)
        /// The link has confirmed the request; no data has arrived.
        case asked(until: MonotonicInstant)
        /// A frame is arriving, or a status frame has announced one.
        case receiving(until: MonotonicInstant)
        /// A frame is whole; another one may follow.
        case between(until: MonotonicInstant)
        case fetching(until: MonotonicInstant)
    }

    enum Action: Hashable, Sendable {
        case none
        /// Write the request, and call `asked` when it is confirmed.
        case ask
        /// Read the response characteristic, and call `fetched`.
        case fetch
        /// The response is complete, or cannot be completed.
        case done
        /// The link accepted a request, but the bottle did not respond.
        case silent
    }

    private(set) var stage: Stage
    private(set) var oddity: String?
    /// The records of whole frames, frame by frame in order of arrival.
    private(set) var frames: [[RawRecord]] = []
    /// The records of frames whose values ended within records, so that only the frame's length joins the pieces.
    private(set) var pieced: Set<RawRecord> = []
    private(set) var requestedAt: MonotonicInstant
    /// The number of times that the request was written.
    private(set) var questions = 0
    /// The number of frames in a single notification, whose loss cannot be detected.
    private var singleFrames = 0
    private var packet: [UInt8]?
    private(set) var opening = Opening.none
    private(set) var ending = Ending.none

    enum Opening: Hashable, Sendable { case none, status, frame }

    enum Ending: Hashable, Sendable {
        case none
        /// The bottle reported the end of its log, or an empty log.
        case said
        /// A read returned the previous packet again, so the end of the log is uncertain.
        case repeatedPacket
        /// There was no response.
        case unanswered
    }

    private let profile: BottleProfile
    /// Whether the response characteristic can be read if notifications do not arrive in time.
    private let canFetch: Bool
    private let limits: PollLimits
    private let linger: Duration

    /// - Parameter isQuiet: whether no response to an earlier request can be in transit.
    init(
        profile: BottleProfile, canFetch: Bool, isQuiet: Bool, hasRadio: Bool, limits: PollLimits,
        at now: MonotonicInstant
    ) {
        self.profile = profile
        self.canFetch = canFetch
        self.limits = limits
        linger = hasRadio ? limits.linger : limits.lingerWithoutRadio
        requestedAt = now
        stage = isQuiet ? .writing(until: now) : .quiet(until: now.advanced(by: limits.quiet))
    }

    var deadline: MonotonicInstant {
        switch stage {
        case .quiet(let until), .writing(let until), .asked(let until), .receiving(let until), .between(let until),
            .fetching(let until):
            until
        }
    }

    /// The command that requests the log.
    var question: HostCommand { profile == .draft ? .draftDump(1) : .drinkLog }
    var isWhole: Bool { oddity == nil }
    var isNotified: Bool { packet == nil }

    /// The records of the log, oldest first, each once.
    var records: [RawRecord] { (isNewestFirst ? frames.reversed() : frames).flatMap { $0 }.distinct }

    /// The number of readings that must agree before records are acknowledged.
    var readingsNeeded: Int {
        let leavesNoTrace = isNotified && (profile == .draft || frames.count > 1 && singleFrames > 0)
        return leavesNoTrace ? 4 : pieced.isEmpty ? 2 : 3
    }

    /// Whether the newest packet comes first, as from bottles that are read: most start before the previous one.
    private var isNewestFirst: Bool {
        guard !isNotified, frames.count > 1 else { return false }
        let starts = frames.compactMap { $0.first?.timestamp }
        let falling = zip(starts, starts.dropFirst()).count { $0 > $1 }
        return falling * 2 > starts.count - 1
    }

    // MARK: - Events

    /// Starts the request at once if there is nothing to wait for.
    mutating func begin(at now: MonotonicInstant) -> Action {
        if case .quiet = stage { return .none }
        return ask(at: now)
    }

    mutating func asked(at now: MonotonicInstant) {
        guard case .writing = stage else { return }
        stage = .asked(until: now.advanced(by: canFetch ? limits.beforeRead : limits.answer))
    }

    /// The bottle reported whether records follow.
    mutating func status(follows: Bool, at now: MonotonicInstant) -> Action {
        guard isListening(at: now) else { return .none }
        if opening != .none || !frames.isEmpty { note("the bottle began its answer a second time") }
        opening = .status
        guard follows else { return end(.said) }
        stage = .receiving(until: now.advanced(by: limits.silence))
        return .none
    }

    mutating func progress(at now: MonotonicInstant) {
        guard isListening(at: now) else { return }
        if opening == .none { opening = .frame }
        stage = .receiving(until: now.advanced(by: limits.silence))
    }

    /// Handles a whole frame.
    /// - Parameter isSingle: whether the frame arrived in one value.
    mutating func frame(_ transfer: LogTransfer, isSingle: Bool, at now: MonotonicInstant) -> Action {
        guard isListening(at: now) else { return .none }
        if opening == .none { opening = .frame }
        let records = transfer.records
        guard !records.isEmpty else { return end(.said) }
        frames.append(records)
        if transfer.isPieced { pieced.formUnion(records) }
        if isSingle { singleFrames += 1 }
        guard frames.reduce(0, { $0 + $1.count }) <= limits.records else {
            note("it has more than \(limits.records) records")
            return .done
        }
        // A draft bottle marks the end of its log.
        stage = .between(until: now.advanced(by: profile == .draft ? limits.silence : linger))
        return .none
    }

    /// Records the first anomaly of the response.
    mutating func note(_ reason: String) { oddity = oddity ?? reason }

    /// Handles a completed read.
    /// - Parameter transfers: the whole frames in the value.
    mutating func fetched(_ value: [UInt8], _ transfers: [LogTransfer], isSubscribed: Bool, at now: MonotonicInstant)
        -> Action
    {
        guard case .fetching = stage else { return .none }
        if value.isEmpty, isSubscribed, frames.isEmpty { return askAgain(at: now) }
        if value == packet { return end(.repeatedPacket) }
        packet = value
        if value.isEmpty { return end(.said) }
        guard !transfers.isEmpty else {
            note("the value that was read is not a packet of the log")
            return .done
        }
        for transfer in transfers {
            if transfer.count == 0 { return end(.said) }
            frames.append(transfer.records)
        }
        return fetch(at: now)
    }

    /// - Parameter isWriting: whether a write on this connection awaits its response, so the link is not quiet.
    mutating func tick(isWriting: Bool, at now: MonotonicInstant) -> Action {
        guard deadline <= now else { return .none }
        switch stage {
        case .quiet:
            guard !isWriting else {
                stage = .quiet(until: now.advanced(by: limits.quiet))
                return .none
            }
            return ask(at: now)
        case .writing, .fetching:
            return .silent
        case .asked:
            return canFetch ? fetch(at: now) : askAgain(at: now)
        case .receiving:
            note("the log broke off")
            return .done
        case .between:
            if profile == .draft { note("the end of the log is missing") }
            return .done
        }
    }

    // MARK: - Steps

    private mutating func ask(at now: MonotonicInstant) -> Action {
        if questions == 0 { requestedAt = now }
        questions += 1
        stage = .writing(until: now.advanced(by: limits.request))
        return .ask
    }

    private mutating func askAgain(at now: MonotonicInstant) -> Action {
        guard questions < limits.sendings else {
            note("the bottle did not answer the question for its log")
            return end(.unanswered)
        }
        note("the question had to be repeated")
        return ask(at: now)
    }

    private mutating func fetch(at now: MonotonicInstant) -> Action {
        if packet == nil { packet = [] }
        stage = .fetching(until: now.advanced(by: limits.request))
        return .fetch
    }

    private mutating func end(_ ending: Ending) -> Action {
        self.ending = ending
        return .done
    }

    /// Whether arriving data can belong to the response. Data during the wait for silence restarts the wait.
    private mutating func isListening(at now: MonotonicInstant) -> Bool {
        if case .quiet = stage {
            stage = .quiet(until: now.advanced(by: limits.quiet))
            return false
        }
        return true
    }
}

extension PollLimits {
    /// The time without log data after which the link counts as quiet: longer than the repetition of a request.
    var quiet: Duration { answer * 2 }
}
