/// Why PostgreSQL did not do what was asked: what happened, where, and what can be done about it.
public struct FleetFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of trouble it is; a reader of problem details sees it behind `database`.
    public enum Kind: String, Hashable, Sendable {
        /// The words that name the database are none.
        case wrongUse
        /// Nobody answers there, or not yet, or not any more.
        case unreachable
        /// User or password.
        case notLetIn
        /// The server takes no more connections.
        case tooMany
        /// It may only be read: a standby, or set so.
        case readOnly
        /// No room is left.
        case full
        /// It took too long.
        case slow
        /// Somebody else wrote the same at the same time: trying again helps.
        case collision
        /// What was to be stored cannot be.
        case badData
        /// The tables are older or newer than this program.
        case schema
        /// The database keeps texts otherwise than as UTF-8.
        case encoding
        /// Everything else.
        case broken
    }

    /// What kind of failure it is: whether trying again helps.
    public var kind: Kind
    /// What happened, where, and what can be done.
    public var sentence: String

    public init(_ kind: Kind, _ sentence: String) { (self.kind, self.sentence) = (kind, sentence) }

    /// The sentence.
    public var description: String { sentence }

    /// Whether the same may go well in a while, without anything being sent otherwise.
    public var passes: Bool { ![.wrongUse, .badData, .encoding].contains(kind) }

    /// - Parameters:
    ///   - state: the SQLSTATE (PostgreSQL's documentation, appendix A).
    ///   - words: what the server said.
    init(state: String, _ words: String, at place: String) {
        let said = words.split(separator: "\n").first.map { String($0.prefix(300)) } ?? "no words"
        switch state {
        case "53100": self.init(.full, "The disk of PostgreSQL at \(place) is full (\(said)). Make room there.")
        case "53300":
            self.init(
                .tooMany,
                """
                PostgreSQL at \(place) takes no more connections (\(said)). Raise max_connections, or let each \
                server hold fewer.
                """
            )
        case "53200", "53000", "53400":
            self.init(.full, "PostgreSQL at \(place) lacks what it needs (\(said)). Look into its log.")
        case "25006":
            self.init(.readOnly, "PostgreSQL at \(place) may only be read (\(said)). Name the primary, not a standby.")
        case "57014", "55P03":
            self.init(.slow, "PostgreSQL at \(place) took too long (\(said)). See what else it does, or wait.")
        case "40001", "40P01":
            self.init(.collision, "Two wrote the same at PostgreSQL at \(place) (\(said)). Try again.")
        case "57P01", "57P02", "57P03":
            self.init(.unreachable, "PostgreSQL at \(place) stops or starts (\(said)). Wait until it is there.")
        case "42P01", "3F000", "42703":
            self.init(
                .schema,
                "The tables in PostgreSQL at \(place) are not those of this program (\(said)). Bring them up to date.")
        case "42501":
            self.init(
                .notLetIn,
                "PostgreSQL at \(place) does not allow that to this user (\(said)). Give the user the rights.")
        default:
            switch state.prefix(2) {
            case "28":
                self.init(
                    .notLetIn,
                    "PostgreSQL at \(place) does not let us in (\(said)). See to user, password and pg_hba.conf.")
            case "22", "23": self.init(.badData, "PostgreSQL at \(place) does not take what was sent (\(said)).")
            case "08":
                self.init(
                    .unreachable, "The connection to PostgreSQL at \(place) broke (\(said)). See whether it runs.")
            default:
                self.init(
                    .broken,
                    "PostgreSQL at \(place) refused (\(state.isEmpty ? "" : "\(state): ")\(said)). Look into its log.")
            }
        }
    }
}
