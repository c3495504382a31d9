import Pauses
import Store

/// What an outlet knows of what is to be taken back at the other end, and when it tries again.
struct TakingBack {
    /// So long somebody tries; then nobody has it before their eyes. No clock of the machine says it.
    static let longest = 24 * 3600

    /// Of what is over; until something is told there again.
    private var closed: Set<String> = []
    /// What let us in at addresses that the settings named since this began.
    private var tokens: [String: String] = [:]
    private var backoff = Backoff(first: .seconds(4), longest: .seconds(600))
    private var until: ContinuousClock.Instant?
    /// Since when each thing is tried.
    private var triedSince: [String: ContinuousClock.Instant] = [:]
    /// What is under way.
    private var underWay: Set<String> = []
    private(set) var words: String?

    mutating func close(_ place: String) { closed.insert(place) }
    mutating func open(_ place: String) { closed.remove(place) }
    func isClosed(_ place: String) -> Bool { closed.contains(place) }

    mutating func know(_ plan: PocketPlan?) { if let plan { tokens[plan.url] = plan.token } }
    func token(at address: String) -> String? { tokens[address] }

    /// How long nothing is tried; `nil`: now.
    var pause: Duration? { until.flatMap { $0 > .now ? $0 - .now : nil } }

    /// - Returns: `false` where somebody is at it.
    mutating func begin(_ what: String) -> Bool {
        if triedSince[what] == nil { triedSince[what] = .now }
        return underWay.insert(what).inserted
    }

    /// - Returns: since when it has been tried, and nobody has it before their eyes any more.
    func isGivenUp(_ what: String) -> Bool {
        triedSince[what].map { ContinuousClock.now - $0 >= .seconds(Self.longest) } ?? false
    }

    /// It is taken back, or given up.
    mutating func succeeded(_ what: String) {
        underWay.remove(what)
        triedSince[what] = nil
        (until, words) = (nil, nil)
        backoff.reset()
    }

    /// It is tried again.
    /// - Parameter least: what the server wants to be left alone for.
    /// - Returns: whether these words are new.
    mutating func failed(_ what: String, _ words: String, least: Duration?, chance: Double) -> Bool {
        underWay.remove(what)
        until = .now + max(least ?? .zero, backoff.next(chance: chance))
        defer { self.words = words }
        return words != self.words
    }
}
