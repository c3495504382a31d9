import Bluetooth
import TrackerCore

/// Who a bottle is that hides behind an address which changes, and gives no serial number. Its name says little:
/// neighbours buy the same bottle. Its log says it: nobody else drank that much at those seconds. So where the store
/// has bottles that it may be, the log is read once, before anything is stored, and compared with what the store has of
/// them.
struct Recognition: Hashable {
    /// What a bottle of that name is known by where nothing better is.
    let standIn: String
    /// Its name, and the address that it shows now.
    private let name: String
    private let address: String?
    /// The store's bottles that it may be.
    private let candidates: [OwnBottle]
    /// A person has named this very address.
    private let isNamed: Bool

    /// `nil` where there is nothing to find out: its identity is certain, or the store has no bottle yet.
    init?(_ work: PollWork, standIn: String) {
        guard work.isHidden, work.recognised == nil, !work.options.own.isEmpty, let name = work.report.name else {
            return nil
        }
        self.standIn = standIn
        self.name = name
        address = work.seen?.address?.description
        candidates = work.options.own.filter { $0.advertisedName == name || $0.identities.contains(standIn) }
        guard !candidates.isEmpty else { return nil }
        isNamed = work.options.bottle.flatMap(BluetoothAddress.init) != nil
    }

    /// Names of the bottles to compare with, one each.
    var bottles: [String] { candidates.map { $0.identities.sorted().first ?? $0.aliases.sorted().first ?? standIn } }

    enum Outcome: Hashable {
        /// Its records are kept under this identity.
        case own(String, Diagnostic)
        case stranger(PollFailure)
    }

    /// - Parameters:
    ///   - likenesses: of `bottles`, in their order.
    ///   - log: what was read, and when its records were made by their own account.
    func outcome(_ likenesses: [LogLikeness], log: [[UInt8]], made: [Instant]) -> Outcome {
        let who =
            "The bottle hides its address (\(address ?? "it is private") changes) and gives no usable serial number"
        if let (bottle, likeness) = zip(bottles, likenesses).max(by: { $0.1.known < $1.1.known }), likeness.known > 0 {
            return .own(
                bottle,
                Diagnostic(
                    .info,
                    """
                    \(who); \(likeness.known) of the \(counted(log.count, "record")) in its log \
                    \(likeness.known == 1 ? "is" : "are") known from '\(bottle)', so that is who it is.
                    """
                ))
        }
        let namesake = zip(candidates, likenesses).first { $0.0.identities.contains(standIn) }
        guard let (_, likeness) = namesake else {
            guard isNamed else {
                return .stranger(refusal("none of the \(counted(log.count, "record")) in its log is known here"))
            }
            return .own(
                standIn, Diagnostic(.warning, "\(who); its drinks are kept under '\(standIn)', because it was named."))
        }
        // A log that was read whole can only have newer records since.
        let old = likeness.lastCompletePoll.map { last in made.count { $0.seconds(to: last) > Self.clockSeconds } } ?? 0
        guard old == 0 || isNamed else {
            return .stranger(
                refusal(
                    """
                    \(counted(old, "record")) in its log \(old == 1 ? "is" : "are") older than the last poll of \
                    '\(standIn)', which did not bring them
                    """
                ))
        }
        return .own(
            standIn,
            Diagnostic(
                .warning,
                """
                \(who); its drinks are kept under '\(standIn)', and those of any other bottle of that name that \
                hides would be too.
                """
            ))
    }

    private func refusal(_ why: String) -> PollFailure {
        return PollFailure(
            .notOurs,
            """
            \(name) is here and hides its address (\(address ?? "private")), and \(why): it may be another bottle \
            of that name. Nothing was taken from it.
            """,
            code: "hidesItsAddress", values: ["standIn": standIn].merging(address.map { ["address": $0] } ?? [:]) { $1 }
        )
    }

    /// Bottle and host may be in any two zones.
    private static let clockSeconds: Double = 26 * 3600
}

extension BottleSession {
    /// Reads the log once for its own sake: nothing of it is stored, and nothing acknowledged.
    mutating func beginRecognition(_ table: BottleTable, _ work: inout PollWork) { beginLog(table, &work) }

    /// The log is there: the journal compares.
    mutating func compare(_ log: [[UInt8]], _ recognition: Recognition, _ work: inout PollWork) {
        keeper.recognise(log, recognition.bottles, &work)
        if keeper.isSettled { recognised(&work) }
    }

    /// The journal has compared.
    mutating func recognised(_ work: inout PollWork) {
        guard let recognition else { return }
        let dating = RecordDating(bottle: work.bottle, options: work.options, received: work.wall)
        let outcome = recognition.outcome(
            keeper.likenesses, log: keeper.compared, made: dating.times(keeper.compared).map(\.instant))
        (self.recognition, drain) = (nil, nil)
        switch outcome {
        case .own(let identity, let diagnostic):
            work.recognised = identity
            work.report.identity = identity
            work.say(diagnostic.severity, diagnostic.sentence)
            call(identity, &work)
            advance(&work)
        case .stranger(let failure):
            end = .stranger(failure)
        }
    }
}
