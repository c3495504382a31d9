import FleetStore
import Foundation

/// The keys of a fleet's backups, as the file that holds them: kept apart from the backups, and only ever the newest of it. Whose key is not in it any more is not in any
/// backup any more, either.
///
/// Several databases may write one file: the fleet, a copy of it, what was put back from before. What each of them knows of who is forgotten and let in no more is put together, and
/// neither the order nor the age of what they know changes what comes out.
public struct BackupKeys: Hashable, Sendable, Codable {
    /// Of the file: 3; of 1 nobody knows what was thrown away before, nor who is let in no more, and of 1 and 2 not who is known again.
    public var version = 3
    /// A key of each person, and two of the fleet's own. Where copies of a fleet made several for one, those of the database that was written last come first.
    public var seals: [FleetStore.Seal]
    /// How often everybody was forgotten and known again who ever was, by SHA-256 of the name: odd: is forgotten. Keys that were made at a smaller number open nothing any more.
    public var turns: [String: Int]
    /// What backups call the keys that were thrown away, for ever: they do not come back, and nothing else may be missing.
    public var thrown: [String] = []
    /// Whose credential was taken back, by what they have for ever: an older backup does not know of all of them.
    public var revoked: [String] = []

    /// Those that there are now.
    public init(_ store: FleetStore) throws {
        (seals, turns) = try store.sealsAndTurns()
        revoked = try store.revokedIDs()
    }

    /// All of it, of this version.
    init(seals: [FleetStore.Seal], turns: [String: Int] = [:], thrown: [String] = [], revoked: [String] = []) { (self.seals, self.turns, self.thrown, self.revoked) = (seals, turns, thrown, revoked) }

    /// Of a file.
    /// - Throws: `BackupTrouble`.
    public init(file: [UInt8]) throws(BackupTrouble) {
        guard let read = try? JSONDecoder().decode(Self.self, from: Data(file)), (1...3).contains(read.version), read.seals.allSatisfy({ BackupSeal($0) != nil }),
            read.turns.values.allSatisfy(Self.mostTurns.contains)
        else { throw BackupTrouble("This is no file of a fleet's keys.") }
        self = read
    }

    /// What a database can count on.
    private static let mostTurns = 0...1_000_000

    private enum CodingKeys: CodingKey {
        case version, seals, forgotten, turns, thrown, revoked
    }

    /// Of JSON: a file of an older version has fewer fields, and lists who is forgotten.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        version = try fields.decode(Int.self, forKey: .version)
        seals = try fields.decode([FleetStore.Seal].self, forKey: .seals)
        turns = version < 3 ? Dictionary(try fields.decode([String].self, forKey: .forgotten).map { ($0, 1) }) { $1 } : try fields.decode([String: Int].self, forKey: .turns)
        thrown = version == 1 ? [] : try fields.decode([String].self, forKey: .thrown)
        revoked = version == 1 ? [] : try fields.decode([String].self, forKey: .revoked)
    }

    /// As JSON.
    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(version, forKey: .version)
        try fields.encode(seals, forKey: .seals)
        try fields.encode(turns, forKey: .turns)
        try fields.encode(thrown, forKey: .thrown)
        try fields.encode(revoked, forKey: .revoked)
    }

    /// As a file.
    public var file: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return Array((try? encoder.encode(self)) ?? Data()) + [UInt8(ascii: "\n")]
    }

    /// SHA-256 of the names of those who are forgotten.
    public var forgotten: Set<String> { Set(turns.lazy.filter { !$0.value.isMultiple(of: 2) }.map(\.key)) }

    /// Whether both are of one fleet: the keys of another one are not written over. A file without any key is of none.
    public func isOfSameFleet(as other: Self) -> Bool { other.seals.isEmpty || fleet == other.fleet }

    private var fleet: String? { seals.first { $0.owner == FleetStore.fleetOwner }?.id }

    /// Those that this database has and that were thrown away: it is of before that.
    public func outlived(by newer: Self) -> [FleetStore.Seal] {
        let thrown = Set(newer.thrown), turns = newer.turns(beside: self)
        return seals.filter { thrown.contains($0.id) || $0.turns < turns[$0.owner] ?? 0 }
    }

    /// What goes into the file in the place of an old one. A key of that stays unless its owner was forgotten after it was made, since the database may be a copy of the fleet that
    /// does not know everybody; the one over what may name anybody goes where somebody is forgotten whom the file did not know as that.
    /// - Parameters:
    ///   - old: what the file holds; `nil`: there is none.
    ///   - used: what a backup calls the keys that it was sealed with: those that are gone by now were thrown away.
    public func over(_ old: Self?, used: some Sequence<String> = []) -> Self {
        let known = old?.turns(beside: self) ?? [:]
        var new = self
        new.version = 3
        new.turns.merge(known) { max($0, $1) }
        // Every second turn is one.
        let isAnybodyNew = turns.contains { owner, number in (number + 1) / 2 > ((known[owner] ?? 0) + 1) / 2 }
        let mine = Set(seals.map(\.id))
        var thrown = Set(old?.thrown ?? []).union(self.thrown)
        for seal in old?.seals ?? [] where !mine.contains(seal.id) {
            if seal.owner == FleetStore.memoryOwner && isAnybodyNew { thrown.insert(seal.id) } else { new.seals.append(seal) }
        }
        thrown.formUnion(new.seals.lazy.filter { $0.turns < new.turns[$0.owner] ?? 0 }.map(\.id))
        thrown.formUnion(Set(used).subtracting(new.seals.map(\.id)))
        new.seals.removeAll { thrown.contains($0.id) }
        new.thrown = thrown.sorted()
        new.revoked = Set(old?.revoked ?? []).union(revoked).sorted()
        return new
    }

    /// A file of an older version lists who was forgotten when it was written, and does not say who is known again since: that are those for whom the database has a key that nobody
    /// threw away.
    private func turns(beside database: Self) -> [String: Int] {
        guard version < 3 else { return turns }
        let thrown = Set(thrown), known = Set(database.seals.lazy.filter { !thrown.contains($0.id) }.map(\.owner))
        return turns.filter { !known.contains($0.key) }
    }
}
