import BottleProtocol
import TrackerCore

/// From a record's 13 bytes to what the journal takes: read in the dialect, dated by the rules of `tracker.md` A2.
struct RecordDating {
    enum Outcome: Hashable {
        case entry(JournalEntry)
        /// The dialect does not take these bytes for a drink record; they go to quarantine as they are.
        case refused(DecodeFailure)
    }

    let bottle: String
    let options: PollOptions
    let received: Instant
    /// End of this bottle's last complete poll: what it did not return is newer (rule R3).
    let lastPoll: Instant?
    /// Instant of the record before, in the order in which the bottle sends them (rule R2).
    private var previous: Instant?

    init(bottle: String, options: PollOptions, received: Instant, lastPoll: Instant?) {
        self.bottle = bottle
        self.options = options
        self.received = received
        self.lastPoll = lastPoll
    }

    mutating func date(_ raw: [UInt8]) -> Outcome {
        let record: DrinkRecord
        do {
            record = try DrinkRecord(decoding: raw, dialect: options.dialect, amountWidth: options.amountWidth)
        } catch {
            return .refused(error)
        }
        let fields = RecordFields(
            year: record.year, month: record.month, day: record.day, hour: record.hour, minute: record.minute, second: record.second)
        let evidence = RecordResolver.Evidence(previous: previous, lastPollWithoutIt: lastPoll)
        let resolution = options.resolver.resolve(fields, received: received, evidence: evidence)
        previous = resolution.doubt == nil ? resolution.instant ?? previous : previous
        return .entry(
            JournalEntry(
                bottle: bottle, raw: raw, wall: resolution.wall, amountMl: record.amountMl, received: received,
                verdict: resolution.verdict(amountMl: record.amountMl, isDrink: record.isDrink, zone: options.zone)))
    }
}
