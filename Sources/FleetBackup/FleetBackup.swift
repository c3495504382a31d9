import FleetStore
import Foundation
import Packing

/// A fleet as one file, in which each person's rows are sealed with a key of their own: once that is thrown away,
/// nobody reads them in any backup any more. What is nobody's own is sealed with the fleet's key, and the audit and
/// what was set aside, which may name anybody, with one that goes with every person's.
///
/// The file: `mark`, 16 random bytes, and pieces: its length (4 bytes, the greatest first), 16 bytes that name a key,
/// and what AES-GCM made of a packed piece (nonce, bytes, tag); bound to the random bytes, the piece's number and the
/// key's name. The first piece names the parts, the last says how many rows there are, and of each key whose it is and
/// how many pieces it sealed: so it shows, too, where a piece is missing that nobody here can open. Nothing comes
/// behind it.
public enum FleetBackup {
    static let mark = Array("Waterh fleet backup 2\n".utf8)
    /// Of the first form: its pieces are bound to the backup and their number only, and its last one does not say how
    /// many pieces each key sealed.
    static let firstMark = Array("Waterh fleet backup 1\n".utf8)
    /// A piece is cut where it has so many bytes of rows.
    static let pieceLimit = 1 << 20
    /// No sealed piece is longer: a row has 4 KiB at most.
    static let sealedLimit = 4 << 20

    /// What the first piece says.
    struct Contents: Codable {
        var schema: Int
        var parts: [Columns]

        struct Columns: Codable {
            var name: String
            var columns: String
        }
    }

    /// How many rows of each part there are.
    public struct Tally: Hashable, Sendable, Codable {
        /// By the part's name.
        public var rows: [String: Int] = [:]
        /// Rows of people who were forgotten meanwhile.
        public var passedOver = 0
        /// What was sealed with each key, by what the backup calls it; of the first form nobody knows.
        public var keys: [String: Use] = [:]

        /// With nothing in it.
        init() {}

        /// Of JSON.
        public init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            rows = try fields.decode([String: Int].self, forKey: .rows)
            passedOver = try fields.decode(Int.self, forKey: .passedOver)
            keys = try fields.decodeIfPresent([String: Use].self, forKey: .keys) ?? [:]
        }

        /// What was sealed with a key.
        public struct Use: Hashable, Sendable, Codable {
            /// Whose it is, as in `FleetStore.Seal`.
            public var owner: String
            /// How many pieces, the last not among them.
            public var pieces = 0
        }
    }

    // MARK: - Writing

    /// Writes everything as it is at one moment.
    /// - Parameters:
    ///   - store: reads; its statements may take hours.
    ///   - keeper: over another connection; makes keys.
    ///   - random: 16 bytes that no other backup has.
    ///   - snapshot: the moment that another transaction exported; `nil`: now.
    ///   - write: takes the next bytes of the file.
    /// - Throws: `FleetFailure`, `BackupTrouble`, and what `write` throws.
    public static func write(
        _ store: FleetStore, keeper: FleetStore, random: [UInt8], snapshot: String? = nil,
        _ write: ([UInt8]) throws -> Void
    ) throws -> Tally {
        try keeper.makeSeals()
        var seals = Dictionary(uniqueKeysWithValues: try keeper.seals().map { ($0.owner, BackupSeal($0)) })
        let known = try keeper.sealsAndForgettings().forgettings
        guard let fleet = seals[FleetStore.fleetOwner] ?? nil else {
            throw BackupTrouble("There is no key of the fleet's own.")
        }
        var tally = Tally(), place = Place(random)
        func put(_ plain: [UInt8], _ seal: BackupSeal) throws {
            let sealed = seal.id + (try seal.seal(Gzip.pack(plain), at: place.next(seal.id)))
            try write(withUnsafeBytes(of: UInt32(sealed.count).bigEndian, Array.init) + sealed)
        }
        try write(mark + random)
        let parts = FleetStore.parts
        try put(
            Array(
                JSONEncoder().encode(
                    Contents(schema: FleetStore.version, parts: parts.map { .init(name: $0.name, columns: $0.columns) })
                )), fleet)
        tally.keys[fleet.name] = .init(owner: FleetStore.fleetOwner, pieces: 1)
        var piece: [UInt8] = [], now: (part: FleetStore.Part, owner: String)?, rows = 0
        func finish() throws {
            guard let (part, owner) = now, !piece.isEmpty else { return }
            if seals[owner] == nil {
                // Somebody of whom the first drink came since; or who is forgotten since, and keeps no key, nor gets
                // one for rows of before that.
                try keeper.makeSeals(for: owner)
                let made = try keeper.seals(of: owner).first {
                    $0.after.allSatisfy { $0 == FleetStore.oldForgetting || known[owner]?[$0] != nil }
                }
                seals.updateValue(made.flatMap { BackupSeal($0) }, forKey: owner)
            }
            if let seal = seals[owner] ?? nil {
                try put([UInt8(parts.firstIndex(of: part) ?? 0)] + piece, seal)
                tally.rows[part.name, default: 0] += rows
                tally.keys[seal.name, default: .init(owner: owner)].pieces += 1
            } else {
                tally.passedOver += rows
            }
            (piece, rows) = ([], 0)
        }
        try store.copyOut(snapshot: snapshot) { part, owner, line in
            if now?.part != part || now?.owner != owner || piece.count > pieceLimit { try finish() }
            now = (part, owner)
            piece.append(contentsOf: line)
            rows += 1
        }
        try finish()
        try put([UInt8(parts.count)] + Array(JSONEncoder().encode(tally)), fleet)
        return tally
    }

    /// Which piece of which backup.
    struct Place {
        private let head: [UInt8]
        private let bindsKeys: Bool
        private var number: UInt64 = 0

        init(_ random: [UInt8], isFirstForm: Bool = false) {
            (head, bindsKeys) = ((isFirstForm ? firstMark : mark) + random, !isFirstForm)
        }

        mutating func next(_ key: [UInt8]) -> [UInt8] {
            defer { number += 1 }
            return head + withUnsafeBytes(of: number.bigEndian, Array.init) + (bindsKeys ? key : [])
        }
    }

    // MARK: - Reading

    /// What came back.
    public struct Restored: Hashable, Sendable {
        /// How many rows of each part went in.
        public var rows: [String: Int]
        /// How many the backup holds.
        public var held: [String: Int]

        /// It was of the first form, in which nobody can see whether a piece is missing.
        public var isOfFirstForm: Bool

        /// Rows that nobody reads any more, because their key was thrown away.
        public var unreadable: Int { held.reduce(0) { $0 + $1.value - (rows[$1.key] ?? 0) } }
    }

    /// Takes a backup into a database of which nobody made use yet: all of it, or nothing. What was sealed with keys
    /// that were thrown away is passed over; where any other key is missing, nothing is taken.
    /// - Parameters:
    ///   - takesFirstForm: also a backup in which nobody can see whether a piece is missing.
    ///   - note: for the audit; `nil`: what is restored is exactly what was backed up.
    ///   - read: the next bytes of the file, so many at most; none at its end.
    /// - Throws: `FleetFailure`, `BackupTrouble`, and what `read` throws.
    public static func restore(
        into store: FleetStore, keys: BackupKeys, takesFirstForm: Bool = false, note: String? = nil,
        _ read: @escaping (Int) throws -> [UInt8]
    ) throws -> Restored {
        guard try store.isUnused() else {
            throw BackupTrouble(
                "This database is in use: there are gateways or people in it. A backup goes into a new one.")
        }
        var reader = try Reader(keys, takesFirstForm, read)
        let rows = try store.copyIn(seals: keys.seals, forgettings: keys.forgettings, revoked: keys.revoked, note: note)
        { try reader.next() }
        guard let tally = reader.tally else { throw BackupTrouble("The backup is cut.") }
        return Restored(rows: rows, held: tally.rows, isOfFirstForm: reader.isFirstForm)
    }

    private struct Reader {
        private let keys: BackupKeys
        private let seals: [[UInt8]: BackupSeal]
        private let read: (Int) throws -> [UInt8]
        private var place: Place
        private var contents = Contents(schema: 0, parts: [])
        let isFirstForm: Bool
        private(set) var tally: Tally?
        /// How many pieces of each key there were.
        private var pieces: [String: Int] = [:]

        init(_ keys: BackupKeys, _ takesFirstForm: Bool, _ read: @escaping (Int) throws -> [UInt8]) throws {
            self.keys = keys
            seals = Dictionary(keys.seals.compactMap { BackupSeal($0).map { ($0.id, $0) } }) { $1 }
            self.read = read
            let head = try Self.bytes(mark.count + 16, read)
            isFirstForm = head.starts(with: firstMark)
            place = Place(Array(head.dropFirst(mark.count)), isFirstForm: isFirstForm)
            guard isFirstForm || head.starts(with: mark) else { throw BackupTrouble("This is no backup of a fleet.") }
            guard !isFirstForm || takesFirstForm else {
                throw BackupTrouble(
                    """
                    This backup was made by an older program, and in its form nobody can see whether anything is \
                    missing.
                    """,
                    isFirstForm: true)
            }
            guard let first = try piece() else {
                throw BackupTrouble(
                    """
                    The key of the fleet's own is not among these: they are of another fleet, or older than the \
                    backup.
                    """
                )
            }
            guard let read = try? JSONDecoder().decode(Contents.self, from: Data(first)) else {
                throw BackupTrouble("This is no backup that this program knows.")
            }
            guard read.schema <= FleetStore.version else {
                throw BackupTrouble(
                    """
                    The backup is of tables of version \(read.schema), and this program knows up to \
                    \(FleetStore.version). Use a newer program.
                    """
                )
            }
            let known = Set(FleetStore.parts.map(\.name))
            guard
                read.parts.allSatisfy({
                    known.contains($0.name)
                        && $0.columns.allSatisfy { $0.isASCII && ($0.isLetter || $0 == "_" || $0 == "," || $0 == " ") }
                })
            else {
                throw BackupTrouble("This is no backup that this program knows.")
            }
            contents = read
        }

        /// The next rows that can be read.
        mutating func next() throws -> (part: String, columns: String, lines: [UInt8])? {
            while tally == nil {
                guard let plain = try piece() else { continue }
                guard let number = plain.first.map(Int.init), number <= contents.parts.count else {
                    throw BackupTrouble("This is no backup that this program knows.")
                }
                guard number == contents.parts.count else {
                    return (contents.parts[number].name, contents.parts[number].columns, Array(plain.dropFirst()))
                }
                guard let last = try? JSONDecoder().decode(Tally.self, from: Data(plain.dropFirst())) else {
                    throw BackupTrouble("This is no backup that this program knows.")
                }
                try check(last)
                tally = last
            }
            return nil
        }

        /// Every piece is there, and what could not be opened is of those who are forgotten.
        private mutating func check(_ tally: Tally) throws {
            guard try read(1).isEmpty else {
                throw BackupTrouble(
                    "The backup is not whole, or somebody changed it: there is something behind its end.")
            }
            guard !isFirstForm else { return }
            // The last piece is not among those that it counts.
            for (name, use) in tally.keys where use.owner == FleetStore.fleetOwner { pieces[name, default: 0] -= 1 }
            guard pieces == tally.keys.mapValues(\.pieces) else {
                throw BackupTrouble(
                    "The backup is not whole, or somebody changed it: there are other pieces than it says.")
            }
            let thrown = Set(keys.thrown), forgotten = keys.forgotten
            let missing = tally.keys.filter { name, use in
                seals[BackupSeal.bytes(name) ?? []] == nil && !thrown.contains(name) && !forgotten.contains(use.owner)
            }
            guard missing.isEmpty else {
                throw BackupTrouble(
                    """
                    \(missing.count) of the keys that the backup was sealed with are missing, and nobody was \
                    forgotten who had them: the file of the keys is older than the backup, or changed. Name the \
                    newest one.
                    """
                )
            }
        }

        /// - Returns: `nil` where its key is not there any more.
        private mutating func piece() throws -> [UInt8]? {
            let length = try Self.bytes(4, read).reduce(0) { $0 << 8 | Int($1) }
            guard (BackupSeal.idLength + 28...sealedLimit).contains(length) else {
                throw BackupTrouble("The backup is not whole, or somebody changed it.")
            }
            let sealed = try Self.bytes(length, read), id = Array(sealed.prefix(BackupSeal.idLength)),
                here = place.next(id)
            pieces[BackupSeal.name(id), default: 0] += 1
            guard let seal = seals[id] else { return nil }
            return try Gzip.unpack(seal.open(sealed.dropFirst(BackupSeal.idLength), at: here), limit: sealedLimit)
        }

        private static func bytes(_ count: Int, _ read: (Int) throws -> [UInt8]) throws -> [UInt8] {
            var bytes: [UInt8] = []
            while bytes.count < count {
                let more = try read(count - bytes.count)
                guard !more.isEmpty else { throw BackupTrouble("The backup is cut.") }
                bytes += more
            }
            return bytes
        }
    }
}
