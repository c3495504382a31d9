import BottleProtocol
import Bluetooth

/// One reading of the log, from the request to the end of the response.
///
/// A response is *whole* if its start, every frame and its end arrived. A status frame or the first log frame is the
/// start. The end is silence for a retail bottle, and an empty frame for a draft bottle. `anomaly` is the first reason
/// why a response is not whole.
struct LogReader: Hashable, Sendable {
    enum Stage: Hashable, Sendable {
        /// The reader waits until the link is quiet, so that no part of an earlier response arrives after the request.
        case quiet(until: MonotonicInstant)
        case writing(until: MonotonicInstant)
        /// The link has confirmed the write of the request; no data has arrived.
        case awaitingResponse(until: MonotonicInstant)
        /// A frame is arriving, or a status frame has announced one.
        case receiving(until: MonotonicInstant)
        /// A frame is complete, and another frame might follow.
        case betweenFrames(until: MonotonicInstant)
        case fetching(until: MonotonicInstant)
    }

    enum Action: Hashable, Sendable {
        case none
        /// Write the request, and call `requestWritten` when the link confirms the write.
        case request
        /// Read the response characteristic, and call `fetched` with the value.
        case fetch
        /// The reading is over, with or without an anomaly.
        case done
        /// The bottle did not respond to a request that the link accepted.
        case silent
    }

    private(set) var stage: Stage
    private(set) var anomaly: String?
    /// The records of each complete frame, in order of arrival. They have the calendar dialect, which accepts all
    /// bytes, so two records are equal if all their bytes are.
    private(set) var frames: [[DrinkRecord]] = []
    /// The records that were split between two values: only the frame's length shows whether a value is missing.
    private(set) var splitRecords: Set<DrinkRecord> = []
    private(set) var requestedAt: MonotonicInstant
    private(set) var requestCount = 0
    /// The number of frames that fitted in one notification. The loss of such a frame cannot be detected.
    private var singleFrames = 0
    private var lastValue: [UInt8]?
    private(set) var firstFrame = FirstFrame.none
    private(set) var ending = Ending.none

    enum FirstFrame: Hashable, Sendable { case none, status, frame }

    enum Ending: Hashable, Sendable {
        case none
        /// The bottle reported the end of its log, or that its log is empty.
        case reported
        /// A read returned the previous packet again, so the end of the log is uncertain.
        case repeatedPacket
        /// There was no response.
        case unanswered
    }

    private let pair: CharacteristicPair
    private let limits: PollLimits
    private let nextFrame: Duration

    /// - Parameters:
    ///   - isQuiet: whether no response to an earlier request can still arrive.
    ///   - anomalies: the number of readings of this connection with an anomaly. Each doubles the wait for another
    ///     frame, because a slow bottle's next frame can arrive after it.
    init(
        pair: CharacteristicPair, isQuiet: Bool, anomalies: Int, hasRadio: Bool, limits: PollLimits,
        at now: MonotonicInstant
    ) {
        self.pair = pair
        self.limits = limits
        nextFrame = min((hasRadio ? limits.nextFrame : limits.nextFrameWithoutRadio) * (1 << anomalies), limits.silence)
        requestedAt = now
        stage = isQuiet ? .writing(until: now) : .quiet(until: now.advanced(by: limits.quietPeriod))
    }

    var deadline: MonotonicInstant {
        switch stage {
        case .quiet(let until), .writing(let until), .awaitingResponse(let until), .receiving(let until),
            .betweenFrames(let until), .fetching(let until):
            until
        }
    }

    private var profile: BottleProfile { pair.profile }
    /// Whether the response characteristic can be read if no notification arrives in time.
    private var canFetch: Bool { pair.responseCanBeRead }

    var logRequest: HostCommand { profile == .draft ? .draftDump(1) : .drinkLog }
    var usesNotifications: Bool { lastValue == nil }

    /// The records of the log, oldest first, each once.
    var records: [DrinkRecord] {
        var seen: Set<DrinkRecord> = []
        return (isNewestFirst ? frames.reversed() : frames).joined().filter { seen.insert($0).inserted }
    }

    /// The number of readings that must agree before records are acknowledged.
    var readingsNeeded: Int {
        let leavesNoTrace = usesNotifications && (profile == .draft || frames.count > 1 && singleFrames > 0)
        return leavesNoTrace ? 4 : splitRecords.isEmpty ? 2 : 3
    }

    /// Whether the newest packet is first: most packets start before the previous one. Draft bottles send reads like
    /// this.
    private var isNewestFirst: Bool {
        guard !usesNotifications, frames.count > 1 else { return false }
        // The first six bytes are the date and time, most significant first.
        let starts = frames.compactMap { $0.first.map { $0.head >> 16 } }
        let decreases = zip(starts, starts.dropFirst()).count { $0 > $1 }
        return decreases * 2 > starts.count - 1
    }

    // MARK: - Events

    /// Starts the request at once if the link is quiet.
    mutating func begin(at now: MonotonicInstant) -> Action {
        if case .quiet = stage { return .none }
        return request(at: now)
    }

    mutating func requestWritten(at now: MonotonicInstant) {
        guard case .writing = stage else { return }
        stage = .awaitingResponse(until: now.advanced(by: canFetch ? limits.beforeRead : limits.response))
    }

    /// The bottle reported whether records follow.
    mutating func status(follows: Bool, at now: MonotonicInstant) -> Action {
        guard isListening(at: now) else { return .none }
        if firstFrame != .none || !frames.isEmpty { recordAnomaly("the bottle started its response again") }
        firstFrame = .status
        guard follows else { return end(.reported) }
        stage = .receiving(until: now.advanced(by: limits.silence))
        return .none
    }

    mutating func progress(at now: MonotonicInstant) {
        guard isListening(at: now) else { return }
        if firstFrame == .none { firstFrame = .frame }
        stage = .receiving(until: now.advanced(by: limits.silence))
    }

    /// Handles a whole frame.
    /// - Parameter isSingle: whether the frame arrived in one value.
    mutating func frame(_ transfer: LogTransfer, isSingle: Bool, at now: MonotonicInstant) -> Action {
        guard isListening(at: now) else { return .none }
        if firstFrame == .none { firstFrame = .frame }
        let records = transfer.records()
        guard !records.isEmpty else { return end(.reported) }
        frames.append(records)
        if transfer.isSplitInsideRecords { splitRecords.formUnion(records) }
        if isSingle { singleFrames += 1 }
        guard frames.reduce(0, { $0 + $1.count }) <= limits.records else {
            recordAnomaly("it has more than \(limits.records) records")
            return .done
        }
        // A draft bottle reports the end of its log, so a longer silence is possible before the next frame.
        stage = .betweenFrames(until: now.advanced(by: profile == .draft ? limits.silence : nextFrame))
        return .none
    }

    /// Records the first anomaly of the response.
    mutating func recordAnomaly(_ reason: String) { anomaly = anomaly ?? reason }

    /// Handles a completed read.
    /// - Parameter transfers: the whole frames in the value.
    mutating func fetched(_ value: [UInt8], _ transfers: [LogTransfer], at now: MonotonicInstant) -> Action {
        guard case .fetching = stage else { return .none }
        if value.isEmpty, pair.response.notifies, frames.isEmpty { return repeatRequest(at: now) }
        if value == lastValue { return end(.repeatedPacket) }
        lastValue = value
        if value.isEmpty { return end(.reported) }
        guard !transfers.isEmpty else {
            recordAnomaly("the value of the response characteristic is not a log packet")
            return .done
        }
        for transfer in transfers {
            if transfer.count == 0 { return end(.reported) }
            frames.append(transfer.records())
        }
        return fetch(at: now)
    }

    /// Returns the next action if the deadline has passed.
    /// - Parameter isWriting: whether the response to a write on this connection is missing, so the link is not quiet.
    mutating func tick(isWriting: Bool, at now: MonotonicInstant) -> Action {
        guard deadline <= now else { return .none }
        switch stage {
        case .quiet:
            guard !isWriting else {
                stage = .quiet(until: now.advanced(by: limits.quietPeriod))
                return .none
            }
            return request(at: now)
        case .writing, .fetching:
            return .silent
        case .awaitingResponse:
            return canFetch ? fetch(at: now) : repeatRequest(at: now)
        case .receiving:
            recordAnomaly("the log transfer stopped before its end")
            return .done
        case .betweenFrames:
            if profile == .draft { recordAnomaly("the end of the log is missing") }
            return .done
        }
    }

    // MARK: - Steps

    private mutating func request(at now: MonotonicInstant) -> Action {
        if requestCount == 0 { requestedAt = now }
        requestCount += 1
        stage = .writing(until: now.advanced(by: limits.request))
        return .request
    }

    private mutating func repeatRequest(at now: MonotonicInstant) -> Action {
        guard requestCount < limits.transmissions else {
            recordAnomaly("the bottle did not respond to the log request")
            return end(.unanswered)
        }
        recordAnomaly("the log request was repeated")
        return request(at: now)
    }

    private mutating func fetch(at now: MonotonicInstant) -> Action {
        if lastValue == nil { lastValue = [] }
        stage = .fetching(until: now.advanced(by: limits.request))
        return .fetch
    }

    private mutating func end(_ ending: Ending) -> Action {
        self.ending = ending
        return .done
    }

    /// Returns whether arriving data can belong to the response. Data during the wait for silence restarts the wait.
    private mutating func isListening(at now: MonotonicInstant) -> Bool {
        if case .quiet = stage {
            stage = .quiet(until: now.advanced(by: limits.quietPeriod))
            return false
        }
        return true
    }
}
